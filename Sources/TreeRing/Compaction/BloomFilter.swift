// A Bloom filter of rows. It has no false negatives, and few false positives: about one in a
// hundred, with ten bits for each row. Compaction uses it where a false positive only keeps an
// operation that could be dropped.

/// A set of 64-bit digests in bounded memory, with false positives.
struct BloomFilter: Sendable {
  private var words: [UInt64]
  private let mask: UInt64
  private static let probes: UInt64 = 6

  /// - Parameters:
  ///   - count: The expected number of digests.
  ///   - limit: The maximum number of bytes of the filter.
  init(expecting count: Int, limit: Int) {
    var bits = 1024
    while bits < count &* 10, bits < limit * 4 { bits *= 2 }
    words = Array(repeating: 0, count: bits / 64)
    mask = UInt64(bits - 1)
  }

  mutating func insert(_ digest: UInt64) {
    for probe in 0..<Self.probes {
      let bit = position(digest, probe)
      words[Int(bit >> 6)] |= 1 << (bit & 63)
    }
  }

  func mayContain(_ digest: UInt64) -> Bool {
    for probe in 0..<Self.probes {
      let bit = position(digest, probe)
      if words[Int(bit >> 6)] & 1 << (bit & 63) == 0 { return false }
    }
    return true
  }

  /// Double hashing works because the two halves of the digest are independent.
  private func position(_ digest: UInt64, _ probe: UInt64) -> UInt64 {
    (digest &+ probe &* (digest >> 32 | 1)) & mask
  }
}
