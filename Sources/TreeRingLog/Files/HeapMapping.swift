// Mappings of files that are not on a disk: heap memory into which every write and truncation of
// the file is copied. The system allocates a page of the memory at its first access. So a mapping
// far beyond the file's end costs nothing.

internal import TreeRingPlatform

/// Heap memory that represents a part of a file.
package final class HeapMapping: FileMapping {
  /// The offset of the mapping in the file.
  fileprivate let offset: Int
  /// Does not move until `deinit`. Sendable: the file fills it before others know it, and whoever
  /// changes it later holds the file's lock.
  package nonisolated(unsafe) let bytes: UnsafeMutableRawBufferPointer

  fileprivate init(offset: Int, count: Int) {
    guard let memory = calloc(count, 1) else {
      preconditionFailure("out of memory for a mapping of \(count) bytes")
    }
    self.offset = offset
    bytes = UnsafeMutableRawBufferPointer(start: memory, count: count)
  }

  deinit { free(bytes.baseAddress) }

  /// The bytes of the file that the mapping holds.
  private var range: Range<Int> { offset..<(offset + bytes.count) }

  /// The part of the mapping that holds the bytes `range` of the file.
  fileprivate func part(_ range: Range<Int>) -> UnsafeMutableRawBufferPointer {
    let part = range.clamped(to: self.range)
    return UnsafeMutableRawBufferPointer(
      rebasing: bytes[(part.lowerBound - offset)..<(part.upperBound - offset)])
  }

  /// Copies the bytes of a range of the file that lie within the mapping.
  fileprivate func copy(_ range: Range<Int>, of file: [UInt8]) {
    let inside = range.clamped(to: self.range)
    if inside.isEmpty { return }
    file.withUnsafeBytes {
      part(inside).copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[inside]))
    }
  }
}

/// All mappings of one file. The lock that guards the file also guards this value. The file calls
/// `update` or `zero` after each change.
package struct HeapMappings: Sendable {
  private struct Entry: Sendable {
    weak var mapping: HeapMapping?
  }
  private var entries: [Entry] = []

  package init() {}

  /// The mapping of `count` bytes from `offset` on; returns the existing one if there is one.
  package mutating func map(_ file: [UInt8], at offset: Int, count: Int) -> HeapMapping {
    for entry in entries {
      if let mapping = entry.mapping, mapping.offset == offset, mapping.bytes.count == count {
        return mapping
      }
    }
    let mapping = HeapMapping(offset: offset, count: count)
    mapping.copy(0..<file.count, of: file)
    entries.removeAll { $0.mapping == nil }
    entries.append(Entry(mapping: mapping))
    return mapping
  }

  /// Updates the mappings after a change of bytes of the file.
  package func update(_ range: Range<Int>, of file: [UInt8]) {
    for entry in entries { entry.mapping?.copy(range, of: file) }
  }

  /// Zeroes the bytes that a truncation from `old` to `new` bytes removed, in case the file grows
  /// again.
  package func zero(from old: Int, to new: Int) {
    guard new < old else { return }
    for entry in entries {
      entry.mapping?.part(new..<old).initializeMemory(as: UInt8.self, repeating: 0)
    }
  }
}
