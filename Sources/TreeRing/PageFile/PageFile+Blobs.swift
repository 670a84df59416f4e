// Blobs: runs of bytes in chains of list pages.

package import TreeRingLog

extension PageFile {
  /// Writes bytes to new pages.
  /// - Parameters:
  ///   - birth: The birth of the pages, which the reference states too.
  ///   - numbers: Returns the number of a free page, a new one at each call.
  package func writeBlob(
    _ bytes: [UInt8], birth: CommitNumber, numbers: () throws(TreeRingError) -> PageNumber
  ) throws(TreeRingError) -> BlobReference {
    if bytes.isEmpty { return .empty }
    var blob = BlobReference(page: 0, birth: birth, byteCount: UInt64(bytes.count))
    let size = PageFileLayout.List.maxPayloadByteCount
    var chain: [PageNumber] = []
    for _ in 0..<blob.pageCount { chain.append(try numbers()) }
    blob.page = chain[0]
    var run = PageRun()
    for position in chain.indices.sorted(by: { chain[$0] < chain[$1] }) {
      let location = ListPage.Location(
        of: blob, position: UInt64(position), number: chain[position])
      let image = try run.room(for: location.number, in: self)
      bytes.withUnsafeBytes { bytes in
        let start = position * size
        ListPage.write(
          location, next: location.isLast ? 0 : chain[position + 1],
          payload: UnsafeRawBufferPointer(
            rebasing: bytes[start..<start + location.payloadByteCount]),
          to: image)
      }
    }
    try run.flush(to: self)
    return blob
  }

  /// Reads the bytes of a blob. O(bytes).
  /// - Throws: `corruption` if a page of it is not as it was written.
  package func readBlob(_ blob: BlobReference) throws(TreeRingError) -> [UInt8] {
    var numbers: [PageNumber] = []
    return try readBlob(blob, addingPagesTo: &numbers)
  }

  /// Reads the bytes of a blob, and adds its pages to a list in the order of the chain.
  func readBlob(
    _ blob: BlobReference, addingPagesTo numbers: inout [PageNumber]
  ) throws(TreeRingError) -> [UInt8] {
    var bytes: [UInt8] = []
    try walk(blob) { number, payload in
      bytes.append(contentsOf: payload)
      numbers.append(number)
    }
    return bytes
  }

  /// The pages of a blob in the order of the chain, for freeing them. Checked like `readBlob`.
  /// O(bytes).
  package func pages(of blob: BlobReference) throws(TreeRingError) -> [PageNumber] {
    var numbers: [PageNumber] = []
    try walk(blob) { number, _ in numbers.append(number) }
    return numbers
  }

  private func walk(
    _ blob: BlobReference, _ body: (PageNumber, UnsafeRawBufferPointer) -> Void
  ) throws(TreeRingError) {
    if let flaw = blob.flaw(below: PageFileLayout.maxPageNumber + 1) {
      throw damaged(flaw, page: blob.page)
    }
    let size = try file.size()
    guard blob.byteCount <= size else {
      throw damaged("a blob of \(blob.byteCount) bytes in a file of \(size)", page: blob.page)
    }
    let buffer = PageBuffer(isCleared: false)
    let image = UnsafeRawBufferPointer(buffer.bytes)
    var number = blob.page
    // Exactly as many steps as the length requires, wherever the chain leads.
    for position in 0..<blob.pageCount {
      try read(number, into: buffer.bytes)
      let location = ListPage.Location(of: blob, position: position, number: number)
      if let flaw = ListPage.flaw(in: image, at: location) {
        throw damaged("list page \(number) is not what was written: \(flaw)", page: number)
      }
      body(number, ListPage.payload(in: image, at: location))
      number = ListPage.next(in: image)
    }
  }
}
