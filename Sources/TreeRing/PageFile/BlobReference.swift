// How the page file names a run of bytes that has no place in a tree: the free map, the roots, the lists
// of dead pages. It lies in a chain of list pages.

package import TreeRingLog

/// A blob in the page file.
package struct BlobReference: Hashable, Sendable {
  /// Its first page; 0 if the blob is empty.
  package var page: PageNumber
  /// The birth of all its pages: a number that no other blob has, whatever commit it is of.
  package var birth: CommitNumber
  /// Its length, in bytes.
  package var byteCount: UInt64

  package init(page: PageNumber, birth: CommitNumber, byteCount: UInt64) {
    self.page = page
    self.birth = birth
    self.byteCount = byteCount
  }

  /// The blob without bytes, which needs no page.
  package static let empty = BlobReference(page: 0, birth: 0, byteCount: 0)

  /// How many pages it takes.
  package var pageCount: UInt64 {
    let size = UInt64(PageFileLayout.List.maxPayloadByteCount)
    return byteCount / size + (byteCount % size == 0 ? 0 : 1)
  }

  /// What cannot be, in words; nil if a blob may be like this.
  /// - Parameter bound: one above the highest page number in use.
  func flaw(below bound: PageNumber) -> String? {
    if byteCount == 0 {
      return page == 0 && birth == 0 ? nil : "an empty blob has page \(page)"
    }
    if page == 0 || page >= bound { return "a blob begins in page \(page)" }
    if pageCount >= UInt64(bound) { return "a blob has \(byteCount) bytes" }
    return nil
  }
}
