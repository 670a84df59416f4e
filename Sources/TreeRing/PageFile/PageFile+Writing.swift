// Writing pages. A buffer collects the images of neighbouring pages for one write, because system
// calls dominate the cost of a checkpoint that writes page by page.

package import TreeRingLog
internal import TreeRingPlatform

extension PageFile {
  /// Writes the images of pages to their slots. Pages with ascending numbers are written in runs.
  /// After an error any of them may have been written, in whole or in part.
  package func write(
    _ pages: some Sequence<(number: PageNumber, page: Page)>
  ) throws(TreeRingError) {
    var run = PageRun()
    for (number, page) in pages {
      precondition(page.number == number, "page \(page.number) is written as \(number)")
      PageImage.write(page, to: try run.room(for: number, in: self))
    }
    try run.flush(to: self)
  }

  /// Writes a meta to its slot. The pages it leads to must have been synced.
  package func writeMeta(_ meta: Meta) throws(TreeRingError) {
    let image = meta.encode()
    // A meta that a reader would refuse must never be written.
    precondition(meta.flaw == nil, "a meta contradicts itself: \(meta.flaw ?? "")")
    try reserve(through: 2 * UInt64(PageLayout.pageByteCount))
    let offset = UInt64(meta.slot * PageLayout.pageByteCount)
    let result: Result<Void, TreeRingError> = image.withUnsafeBytes { bytes in
      Result { () throws(TreeRingError) in try file.write(bytes, at: offset) }
    }
    try result.get()
  }

  /// Limits the room reserved ahead to so many pages.
  func limitReserve(to pageCount: Int) {
    let end = UInt64(clamping: pageCount) * UInt64(PageLayout.pageByteCount)
    reserveLimit.store(end, ordering: .relaxed)
  }

  /// Makes the file at least so long, and longer if the system can reserve room ahead. Called
  /// before every write.
  func reserve(through end: UInt64) throws(TreeRingError) {
    try room.withLock { (room) throws(TreeRingError) in
      room.needed = max(room.needed, end)
      guard end > room.reserved else { return }
      let ahead = min(
        max(room.reserved / 8, PageFileLayout.minGrowth), PageFileLayout.maxGrowth)
      let goal = max(end, min(room.reserved + ahead, reserveLimit.load(ordering: .relaxed)))
      do throws(TreeRingError) {
        if try file.allocate(goal - room.reserved, at: room.reserved) { room.reserved = goal }
        // If the system cannot reserve, writing extends the file. The next write tries again, which
        // costs a call.
      } catch {
        // There may be room for the required length, though not for more.
        guard error.code == .noSpace else { throw error }
        if try file.allocate(end - room.reserved, at: room.reserved) { room.reserved = end }
      }
    }
  }

  /// States that no page from a number on has been written, so that the room behind it is not
  /// needed. Called before the first write that goes on from there.
  func limitNeed(to bound: PageNumber) {
    room.withLock { $0.needed = min($0.needed, PageFileLayout.offset(of: bound)) }
  }

  /// Gives back the room that is reserved and not needed, if it is at least so much. Writes that
  /// need it later reserve it again; until they have, they wait for this.
  /// - Returns: false if the file system cannot do that.
  func releaseTail(ofAtLeast byteCount: UInt64) throws(TreeRingError) -> Bool {
    try room.withLock { (room) throws(TreeRingError) in
      guard room.reserved >= room.needed + byteCount else { return true }
      guard try file.release(room.reserved - room.needed, at: room.needed) else { return false }
      room.reserved = room.needed
      return true
    }
  }
}

/// Images of neighbouring pages, collected for one write.
struct PageRun: ~Copyable {
  private static let pageCapacity = PageFileLayout.maxRunByteCount / PageLayout.pageByteCount

  private let buffer = PageBuffer(pageCount: pageCapacity)
  private var first: PageNumber = 0
  private var count = 0

  /// A zeroed page for an image. Flushes the collected pages first if the buffer is full or this
  /// page does not follow them.
  mutating func room(
    for number: PageNumber, in file: PageFile
  ) throws(TreeRingError) -> UnsafeMutableRawBufferPointer {
    precondition(
      number > 0 && number <= PageFileLayout.maxPageNumber, "page \(number) has no slot")
    if count == Self.pageCapacity || (count > 0 && number != first + PageNumber(count)) {
      try flush(to: file)
    }
    if count == 0 { first = number }
    defer { count += 1 }
    let start = count * PageLayout.pageByteCount
    let room = UnsafeMutableRawBufferPointer(
      rebasing: buffer.bytes[start..<start + PageLayout.pageByteCount])
    room.initializeMemory(as: UInt8.self, repeating: 0)
    return room
  }

  /// Writes the collected pages.
  mutating func flush(to file: PageFile) throws(TreeRingError) {
    guard count > 0 else { return }
    let offset = PageFileLayout.offset(of: first)
    let bytes = UnsafeRawBufferPointer(
      rebasing: buffer.bytes[..<(count * PageLayout.pageByteCount)])
    try file.reserve(through: offset + UInt64(bytes.count))
    // Also if the write fails: it may have given room to some of the pages.
    file.holes.withLock { holes in
      for number in first..<first + PageNumber(count) { holes.remove(Int(number)) }
    }
    try file.file.write(bytes, at: offset)
    count = 0
  }
}
