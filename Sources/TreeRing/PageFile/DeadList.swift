// The dead pages of a retained root as bytes: twelve for each page, its number (u32) and its birth
// (u64), little-endian.

package import TreeRingLog

/// Encodes and decodes lists of dead pages.
package enum DeadList {
  static let entryByteCount = 12

  /// The encoded list. O(pages).
  package static func encode(_ pages: [RetiredPage]) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: pages.count * entryByteCount)
    bytes.withUnsafeMutableBytes { bytes in
      for (index, page) in pages.enumerated() {
        bytes.put(page.number, at: index * entryByteCount)
        bytes.put(page.birth.rawValue, at: index * entryByteCount + 4)
      }
    }
    return bytes
  }

  /// Decodes a list. O(bytes).
  /// - Parameter bound: One above the highest possible page number.
  /// - Throws: `corruption` if the list names a page that cannot be in the file.
  package static func decode(
    _ bytes: [UInt8], below bound: PageNumber = PageFileLayout.maxPageNumber + 1
  ) throws(TreeRingError) -> [RetiredPage] {
    guard bytes.count % entryByteCount == 0 else {
      throw damaged("\(bytes.count) bytes are no whole number of entries")
    }
    let pages = bytes.withUnsafeBytes { bytes in
      (0..<bytes.count / entryByteCount).map { index in
        RetiredPage(
          number: bytes.number(UInt32.self, at: index * entryByteCount),
          birth: PageBirth(
            rawValue: bytes.number(UInt64.self, at: index * entryByteCount + 4)))
      }
    }
    for page in pages where page.number == 0 || page.number >= bound {
      throw damaged("it names page \(page.number)")
    }
    return pages
  }

  private static func damaged(_ flaw: String) -> TreeRingError {
    TreeRingError(
      .corruption, "The page file's list of dead pages is damaged: \(flaw). \(PageFile.remedy)")
  }
}
