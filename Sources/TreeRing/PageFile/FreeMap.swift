// The free page numbers as bytes: words of 64 bits, little-endian, in which bit n is set if number
// n is free. Trailing zero words are left out.

package import TreeRingLog

/// Encodes and decodes the free map.
package enum FreeMap {
  /// The maximum length of a map of the numbers below a bound, in bytes.
  static func byteCount(below bound: PageNumber) -> UInt64 { (UInt64(bound) + 63) / 64 * 8 }

  /// The encoded map. O(words).
  /// - Parameter words: Bit n of all words together stands for number n.
  package static func encode(_ words: [UInt64]) -> [UInt8] {
    let count = words.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
    var bytes = [UInt8](repeating: 0, count: count * 8)
    bytes.withUnsafeMutableBytes { bytes in
      for index in 0..<count { bytes.put(words[index], at: index * 8) }
    }
    return bytes
  }

  /// Decodes the words of a map. O(bytes).
  /// - Parameter bound: One above the highest page number in use or free.
  /// - Throws: `corruption` if the map is longer than the bound allows, or marks an impossible
  ///   number as free.
  package static func decode(
    _ bytes: [UInt8], below bound: PageNumber
  ) throws(TreeRingError) -> [UInt64] {
    guard bytes.count % 8 == 0, UInt64(bytes.count) <= byteCount(below: bound) else {
      throw damaged("it has \(bytes.count) bytes for \(bound) numbers")
    }
    let words = bytes.withUnsafeBytes { bytes in
      (0..<bytes.count / 8).map { bytes.number(UInt64.self, at: $0 * 8) }
    }
    if let first = words.first, first & 1 != 0 { throw damaged("number 0 is free") }
    if let last = words.last {
      let highest = words.count * 64 - 1 - last.leadingZeroBitCount
      guard highest < Int(bound) else { throw damaged("number \(highest) is free") }
    }
    return words
  }

  private static func damaged(_ flaw: String) -> TreeRingError {
    TreeRingError(
      .corruption, "The page file's map of free pages is damaged: \(flaw). \(PageFile.remedy)")
  }
}
