// Dead pages of a retained root, as bytes: twelve for each page, its number (u32) and its birth (u64),
// little-endian.

package import TreeRingLog

/// A list of dead pages on its way to and from the page file.
package enum DeadList {
  static let entryByteCount = 12

  /// The bytes of a list. O(pages).
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

  /// The pages of a list; `corruption` if it names a page that cannot be in the file. O(bytes).
  package static func decode(_ bytes: [UInt8]) throws(TreeRingError) -> [RetiredPage] {
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
    for page in pages where page.number == 0 || page.number > PageFileLayout.maxPageNumber {
      throw damaged("it names page \(page.number)")
    }
    return pages
  }

  private static func damaged(_ flaw: String) -> TreeRingError {
    TreeRingError(
      .corruption, "The page file's list of dead pages is damaged: \(flaw). \(PageFile.remedy)")
  }
}
