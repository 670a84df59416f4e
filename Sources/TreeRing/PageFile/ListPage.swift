// One page of a blob. Every page of a blob but the last is full, so the blob's length gives the
// number of pages and the payload of each. A page whose number, birth, position in the chain or
// length is not the expected one counts as damaged. So a chain that loops or leads to another blob
// ends at its first wrong page.

package import TreeRingLog

/// Encodes and checks list pages.
package enum ListPage {
  private typealias Layout = PageFileLayout.List

  /// The header that one page of a blob must have.
  package struct Location: Hashable, Sendable {
    package var number: PageNumber
    package var birth: CommitNumber
    /// The index of the page in the blob, counted from 0.
    package var position: UInt32
    package var payloadByteCount: Int
    package var isLast: Bool

    /// Creates the header of the page at a position of a blob.
    /// - Parameter number: The number of the page.
    init(of blob: BlobReference, position: UInt64, number: PageNumber) {
      self.number = number
      birth = blob.birth
      self.position = UInt32(truncatingIfNeeded: position)
      let size = UInt64(Layout.maxPayloadByteCount)
      isLast = position + 1 >= blob.pageCount
      payloadByteCount = Int(min(size, blob.byteCount - position * size))
    }
  }

  /// Writes the image of a page into a zeroed buffer of one page.
  /// - Parameter next: The number of the next page; 0 for the last.
  package static func write(
    _ location: Location, next: PageNumber, payload: UnsafeRawBufferPointer,
    to image: UnsafeMutableRawBufferPointer
  ) {
    precondition(payload.count == location.payloadByteCount && location.isLast == (next == 0))
    image.put(Layout.formatVersion, at: Layout.formatVersionOffset)
    image.put(location.number, at: Layout.numberOffset)
    image.put(next, at: Layout.nextOffset)
    image.put(location.birth, at: Layout.birthOffset)
    image.put(UInt16(payload.count), at: Layout.payloadByteCountOffset)
    image.put(Layout.kind, at: Layout.kindOffset)
    image.put(location.position, at: Layout.positionOffset)
    image.put(next == 0 ? 0 : location.birth, at: Layout.nextBirthOffset)
    UnsafeMutableRawBufferPointer(rebasing: image[Layout.payloadOffset...])
      .copyMemory(from: payload)
    image.put(checksum(of: UnsafeRawBufferPointer(image)), at: Layout.checksumOffset)
  }

  /// The flaw of a page's image, in words; nil if it is the required page. O(page).
  package static func flaw(in image: UnsafeRawBufferPointer, at location: Location) -> String? {
    guard image.count == PageLayout.pageByteCount else {
      return "a page is \(PageLayout.pageByteCount) bytes long, not \(image.count)"
    }
    if image.number(UInt32.self, at: Layout.checksumOffset) != checksum(of: image) {
      return "the checksum does not match"
    }
    let version = image.number(UInt8.self, at: Layout.formatVersionOffset)
    if version != Layout.formatVersion { return "format version \(version) is not known" }
    let kind = image.number(UInt16.self, at: Layout.kindOffset)
    if kind != Layout.kind { return "it is of kind \(kind), not \(Layout.kind)" }
    let number = image.number(UInt32.self, at: Layout.numberOffset)
    if number != location.number { return "it is page \(number), not \(location.number)" }
    let birth = image.number(UInt64.self, at: Layout.birthOffset)
    if birth != location.birth { return "it was born at commit \(birth), not \(location.birth)" }
    let position = image.number(UInt32.self, at: Layout.positionOffset)
    if position != location.position {
      return "it is piece \(position) of a blob, not \(location.position)"
    }
    let count = Int(image.number(UInt16.self, at: Layout.payloadByteCountOffset))
    if count != location.payloadByteCount {
      return "it holds \(count) bytes, not \(location.payloadByteCount)"
    }
    let next = next(in: image)
    if location.isLast != (next == 0) || next > PageFileLayout.maxPageNumber {
      return "page \(next) follows it"
    }
    let nextBirth = image.number(UInt64.self, at: Layout.nextBirthOffset)
    if nextBirth != (location.isLast ? 0 : location.birth) {
      return "what follows it was born at commit \(nextBirth)"
    }
    if !isZero(image, Layout.zeroOffset, 3)
      || !image.isZero(from: Layout.payloadOffset + location.payloadByteCount)
    {
      return "bytes not in use are not zero"
    }
    return nil
  }

  /// The number of the next page; 0 if there is none.
  package static func next(in image: UnsafeRawBufferPointer) -> PageNumber {
    image.number(UInt32.self, at: Layout.nextOffset)
  }

  /// The part of the blob in a sound page.
  package static func payload(
    in image: UnsafeRawBufferPointer, at location: Location
  ) -> UnsafeRawBufferPointer {
    let end = Layout.payloadOffset + location.payloadByteCount
    return UnsafeRawBufferPointer(rebasing: image[Layout.payloadOffset..<end])
  }

  private static func isZero(_ image: UnsafeRawBufferPointer, _ start: Int, _ count: Int) -> Bool {
    image[start..<start + count].allSatisfy { $0 == 0 }
  }

  private static func checksum(of image: UnsafeRawBufferPointer) -> UInt32 {
    crc32c(UnsafeRawBufferPointer(rebasing: image[Layout.formatVersionOffset...]))
  }
}
