// Digests of contents: XXH64 with seed 0.
//
// Four lanes of eight bytes run side by side over the bulk and are then combined; the rest of under
// 32 bytes is mixed in at the end. Equal bytes have equal digests. Different bytes have the same
// digest with a probability of 2⁻⁶⁴, so change records may miss a change with that probability.

/// 64-bit digests of bytes.
package enum Digest {
  private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
  private static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
  private static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
  private static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
  private static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5

  /// The XXH64 digest of bytes, with seed 0. O(bytes), about 10 GB/s.
  package static func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var at = 0
    let count = bytes.count
    var hash: UInt64
    if count >= 32 {
      hash = lanes(bytes, at: &at)
    } else {
      hash = prime5
    }
    hash &+= UInt64(count)
    while at &+ 8 <= count {
      hash ^= round(0, word(bytes, at))
      hash = rotate(hash, 27) &* prime1 &+ prime4
      at &+= 8
    }
    if at &+ 4 <= count {
      let half = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self))
      hash ^= UInt64(half) &* prime1
      hash = rotate(hash, 23) &* prime2 &+ prime3
      at &+= 4
    }
    while at < count {
      hash ^= UInt64(bytes[at]) &* prime5
      hash = rotate(hash, 11) &* prime1
      at &+= 1
    }
    hash = (hash ^ (hash &>> 33)) &* prime2
    hash = (hash ^ (hash &>> 29)) &* prime3
    return hash ^ (hash &>> 32)
  }

  /// The XXH64 digest of bytes, with seed 0.
  package static func of(_ bytes: [UInt8]) -> UInt64 {
    bytes.withUnsafeBytes { of($0) }
  }

  private static func lanes(_ bytes: UnsafeRawBufferPointer, at: inout Int) -> UInt64 {
    var a = prime1 &+ prime2
    var b = prime2
    var c: UInt64 = 0
    var d = 0 &- prime1
    while at &+ 32 <= bytes.count {
      a = round(a, word(bytes, at))
      b = round(b, word(bytes, at &+ 8))
      c = round(c, word(bytes, at &+ 16))
      d = round(d, word(bytes, at &+ 24))
      at &+= 32
    }
    var hash = rotate(a, 1) &+ rotate(b, 7) &+ rotate(c, 12) &+ rotate(d, 18)
    hash = (hash ^ round(0, a)) &* prime1 &+ prime4
    hash = (hash ^ round(0, b)) &* prime1 &+ prime4
    hash = (hash ^ round(0, c)) &* prime1 &+ prime4
    return (hash ^ round(0, d)) &* prime1 &+ prime4
  }

  @inline(__always)
  private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  @inline(__always)
  private static func round(_ lane: UInt64, _ word: UInt64) -> UInt64 {
    rotate(lane &+ word &* prime2, 31) &* prime1
  }

  @inline(__always)
  private static func rotate(_ value: UInt64, _ bits: UInt64) -> UInt64 {
    value &<< bits | value &>> (64 &- bits)
  }
}
