// The reference of the page file to a run of bytes outside the trees: the free map, the roots, the
// lists of dead pages. The bytes lie in a chain of list pages.

package import TreeRingLog

/// A blob in the page file.
package struct BlobReference: Hashable, Sendable {
  /// The number of its first page; 0 if the blob is empty.
  package var page: PageNumber
  /// The birth of all its pages: a number that no other blob has, even of the same commit.
  package var birth: CommitNumber
  /// The length, in bytes.
  package var byteCount: UInt64

  init(page: PageNumber, birth: CommitNumber, byteCount: UInt64) {
    self.page = page
    self.birth = birth
    self.byteCount = byteCount
  }

  /// The blob without bytes, which needs no page.
  package static let empty = BlobReference(page: 0, birth: 0, byteCount: 0)

  /// The number of its pages.
  package var pageCount: UInt64 {
    let size = UInt64(PageFileLayout.List.maxPayloadByteCount)
    return byteCount / size + (byteCount % size == 0 ? 0 : 1)
  }

  /// The flaw of the reference, in words; nil if there can be such a blob.
  /// - Parameter bound: One above the highest page number in use.
  func flaw(below bound: PageNumber) -> String? {
    if byteCount == 0 {
      return page == 0 && birth == 0 ? nil : "an empty blob has page \(page)"
    }
    if page == 0 || page >= bound { return "a blob begins in page \(page)" }
    if pageCount >= UInt64(bound) { return "a blob has \(byteCount) bytes" }
    return nil
  }
}
