// One checkpoint: the state at one commit becomes the newest root of the page file.
//
//   1. begin: under the writer's lock, take the visible version and an image of the dead lists and
//      free numbers; pin the commit. Nothing is written, so writers wait only for a moment.
//   2. find the pages born since the last root; sync the log through the commit; write the pages,
//      in slices. While memory is short they are synced meanwhile, so that they become clean long
//      before the checkpoint ends.
//   3. write the blobs: new dead lists, the roots, the free numbers. Sync.
//   4. write the meta over the older of the two; sync. From here on the root counts.
//   5. settle: pages that only the overwritten meta needed become free, and the written pages
//      clean.
//
// A crash before the end of step 4 leaves the previous meta in force and all of its pages intact: a
// checkpoint writes only to numbers that are free for that meta, for every root it keeps, and for
// every pin.

internal import TreeRingLog

/// The progress of a checkpoint.
struct CheckpointWriter {
  let file: PageFile
  let pages: PageStore
  let pins: PinTable
  let log: CommitLog

  /// The state to write.
  struct Begun: Sendable {
    var version: Version
    /// The pages of later commits that are not visible yet.
    var unpublished: [PageNumber]
    var image: PinTable.Image
  }

  /// The consequences of a checkpoint once its meta is durable.
  struct Outcome {
    var meta: Meta
    var ledger: RootLedger
    /// The number of pages of each root's list in memory that the file now holds.
    var saved: [StateID: Int]
    /// The dropped roots, with the pages saved on their lists.
    var dropped: [StateID: [RetiredPage]]
    /// Pages of blobs that only the previous meta and older ones refer to.
    var replacedBlobPages: [PageNumber]
    /// Pages of blobs that only this meta refers to.
    var ownBlobPages: [PageNumber]
    /// The tree pages written, without those settled between slices.
    var written: ArraySlice<RetiredPage>
  }

  /// The numbers reserved for blobs, to be freed if the checkpoint fails.
  private(set) var reserved: [PageNumber] = []
  private var ownBlobPages: [PageNumber] = []

  init(file: PageFile, pages: PageStore, pins: PinTable, log: CommitLog) {
    self.file = file
    self.pages = pages
    self.pins = pins
    self.log = log
  }

  /// Steps 2 to 4, without finding the pages.
  ///
  /// - Parameters:
  ///   - young: the version's `youngPages`.
  ///   - ledger: the roots of the meta in force.
  ///   - dropped: the roots among them to drop, with the pages saved on their lists.
  ///   - replaced: pages of blobs that are free as soon as this meta is in force.
  ///   - betweenSlices: called with the tree pages written and not settled yet; removes those that
  ///     it settles.
  mutating func write(
    _ begun: Begun, _ young: [RetiredPage], after ledger: RootLedger, sequence: UInt64,
    dropping dropped: [StateID: [RetiredPage]], replacing replaced: [PageNumber],
    betweenSlices: (inout ArraySlice<RetiredPage>) throws(TreeRingError) -> Void
  ) throws(TreeRingError) -> Outcome {
    let version = begun.version
    let commit = version.roots.commit
    if !log.isDurable(through: commit) { try log.sync() }
    let written = try writePages(young, betweenSlices: betweenSlices)
    var next = ledger
    let droppedLists = next.entries.filter { dropped[$0.state] != nil }.flatMap(\.lists)
    next.entries.removeAll { dropped[$0.state] != nil }
    var saved: [StateID: Int] = [:]
    for index in next.entries.indices {
      let root = next.entries[index].state
      if let unsaved = begun.image.unsaved[root] {
        next.entries[index].lists.append(try writeBlob(DeadList.encode(unsaved)))
        saved[root] = unsaved.count
      }
    }
    if next.newest?.state != version.roots.state {
      next.entries.append(RootLedger.Entry(roots: version.roots))
    }
    // The dead lists of pins that the file does not know are written for this meta alone. They stay
    // in memory too, and move to another pin when theirs ends.
    var stated = next.entries
    for index in stated.indices {
      if let passing = begun.image.passing[stated[index].state] {
        stated[index].lists.append(
          try writeBlob(DeadList.encode(passing), isOwn: true))
      }
    }
    let roots = try writeBlob(
      RetainedRoot.encode(
        stated.map { RetainedRoot(roots: $0.roots, deadLists: $0.lists) }), isOwn: true)
    let replacedByDrop = try pagesOfBlobs(droppedLists)
    let (free, bound, usedCount) = try writeFreeNumbers(
      begun, replaced: replaced + replacedByDrop)
    try file.sync()
    let meta = Meta(
      storeID: log.storeID, sequence: sequence, position: try log.position(of: commit),
      pageBound: bound, free: free, roots: roots,
      livePageCount: UInt64(usedCount))
    return Outcome(
      meta: meta, ledger: next, saved: saved, dropped: dropped,
      replacedBlobPages: replacedByDrop, ownBlobPages: ownBlobPages, written: written)
  }

  // MARK: Trees

  /// The pages of the version's trees that were born after a state and that the file does not
  /// hold, in order of their numbers. Writes nothing.
  func youngPages(
    of version: Version, bornAfter state: StateID
  ) throws(TreeRingError) -> [RetiredPage] {
    // A checkpoint that found no room may have left clean pages among them, which may be evicted.
    try pages.read {
      var young: [RetiredPage] = []
      for root in version.roots.trees {
        Tree(root, pages: pages).forEachPage(bornAfter: state) { page in
          if pages.isDirty(page.number) {
            young.append(RetiredPage(number: page.number, birth: page.birth))
          }
        }
      }
      return young.sorted { $0.number < $1.number }
    }
  }

  /// Writes pages to their slots in the file, a slice at a time.
  /// - Returns: the pages not settled between slices.
  private func writePages(
    _ young: [RetiredPage],
    betweenSlices: (inout ArraySlice<RetiredPage>) throws(TreeRingError) -> Void
  ) throws(TreeRingError) -> ArraySlice<RetiredPage> {
    var start = 0
    var written = young[..<0]
    while start < young.count {
      let end = min(start + Self.slicePageCount, young.count)
      try file.write(young[start..<end].map { (number: $0.number, page: pages.page($0.number)) })
      written = young[written.startIndex..<end]
      start = end
      if start < young.count { try betweenSlices(&written) }
    }
    return written
  }

  /// The number of pages in a slice: a megabyte.
  static let slicePageCount = 256

  // MARK: Blobs

  /// A birth for the pages of one blob, which no other blob's pages have. Several checkpoints may
  /// be of the same commit. With equal births a lost write would go unnoticed: it leaves the page
  /// of another checkpoint.
  private static var stamp: UInt64 { .random(in: 1...(.max)) }

  private mutating func writeBlob(
    _ bytes: [UInt8], isOwn: Bool = false
  ) throws(TreeRingError) -> BlobReference {
    let pages = pages
    var taken: [PageNumber] = []
    defer { reserved += taken }
    let reference = try file.writeBlob(bytes, birth: Self.stamp) { () throws(TreeRingError) in
      let numbers = try pages.reserveNumbers(1)
      taken += numbers
      return numbers[0]
    }
    if isOwn { ownBlobPages += taken }
    return reference
  }

  private func pagesOfBlobs(
    _ blobs: [BlobReference]
  ) throws(TreeRingError) -> [PageNumber] {
    var numbers: [PageNumber] = []
    for blob in blobs { numbers += try file.pages(of: blob) }
    return numbers
  }

  private static func pageCount(of bytes: [UInt8]) -> Int {
    Int(BlobReference(page: 1, birth: 0, byteCount: UInt64(bytes.count)).pageCount)
  }

  /// Writes the numbers that are free once the meta is in force: those free at the beginning, those
  /// that only later commits use, and those last used by the previous meta. The numbers that this
  /// checkpoint has taken are not free.
  private mutating func writeFreeNumbers(
    _ begun: Begun, replaced: [PageNumber]
  ) throws(TreeRingError) -> (BlobReference, bound: PageNumber, usedCount: Int) {
    var free = begun.image.free
    for number in begun.unpublished { free.insert(Int(number)) }
    for number in replaced { free.insert(Int(number)) }
    // The blob's own pages must be taken before it can be written, so it takes slightly too many.
    // The surplus is free, in the blob too.
    let size = FreeMap.byteCount(below: pages.pageNumberBound) + UInt64(PageLayout.pageByteCount)
    let estimate = BlobReference(page: 1, birth: 0, byteCount: size).pageCount
    let own = try pages.reserveNumbers(Int(estimate))
    reserved += own
    let bound = max(begun.image.bound, (reserved.max() ?? 0) + 1)
    for number in begun.image.bound..<bound { free.insert(Int(number)) }
    for number in reserved { free.remove(Int(number)) }
    for number in own { free.insert(Int(number)) }
    var usedCount = 0
    var bytes = FreeMap.encode(free.words)
    while usedCount < Self.pageCount(of: bytes), usedCount < own.count {
      free.remove(Int(own[usedCount]))
      usedCount += 1
      bytes = FreeMap.encode(free.words)
    }
    var rest = own[..<usedCount]
    let reference = try file.writeBlob(bytes, birth: Self.stamp) { () throws(TreeRingError) in
      guard let number = rest.popFirst() else {
        throw TreeRingError(.tooLarge, "The map of free pages has outgrown its pages.")
      }
      return number
    }
    ownBlobPages += own[..<usedCount]
    reserved.removeAll { own[usedCount...].contains($0) }
    pages.free(Array(own[usedCount...]))
    return (reference, bound, Int(bound) - 1 - free.count)
  }
}
