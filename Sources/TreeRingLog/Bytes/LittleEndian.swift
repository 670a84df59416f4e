// Fixed-width little-endian numbers in raw memory. Callers have checked the bounds.

extension UnsafeRawBufferPointer {
  package func number<T: FixedWidthInteger>(_ type: T.Type, at index: Int) -> T {
    T(littleEndian: loadUnaligned(fromByteOffset: index, as: T.self))
  }

  /// The `count` bytes from `index` on.
  package func part(_ index: Int, _ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[index..<index + count])
  }

  /// Whether every byte is zero.
  package var isZero: Bool {
    var index = 0
    while index + 8 <= count {
      if loadUnaligned(fromByteOffset: index, as: UInt64.self) != 0 { return false }
      index += 8
    }
    while index < count {
      if self[index] != 0 { return false }
      index += 1
    }
    return true
  }
}

extension UnsafeMutableRawBufferPointer {
  package func put<T: FixedWidthInteger>(_ value: T, at index: Int) {
    storeBytes(of: value.littleEndian, toByteOffset: index, as: T.self)
  }
}
