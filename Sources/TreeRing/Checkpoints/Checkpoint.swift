// One checkpoint: the state at one commit becomes the newest root of the page file.
//
//   1. begin: under the writer's lock, take the visible version and an image of the dead lists and free
//      numbers; pin the commit. Nothing is written, so writers wait for a moment only.
//   2. look for the pages born since the last root; sync the log through the commit; write them, in slices.
//      While memory is short each slice is synced, and its pages count as clean long before the checkpoint ends.
//   3. write the blobs: dead lists that are new, the roots, the free numbers. Sync.
//   4. write the meta into the slot of the one before the last; sync. From here on the root counts.
//   5. settle: what only the meta overwritten needed is free now, and the pages written count as clean.
//
// A crash before the end of 4 leaves the meta before in force, and none of its pages touched: what is
// written goes to numbers that are free for it, for every root it keeps, and for every pin.

internal import TreeRingLog

/// What a checkpoint has found out and written so far.
struct Checkpoint {
  let file: PageFile
  let pages: PageStore
  let pins: PinTable
  let log: CommitLog

  /// The state to be written.
  struct Begun: Sendable {
    var version: Version
    /// The pages of commits after it that are not visible yet.
    var unpublished: [PageNumber]
    var image: PinTable.Image
  }

  /// What follows from a checkpoint once its meta is durable.
  struct Outcome {
    var meta: Meta
    var ledger: RootLedger
    /// How many pages of each root's list in memory are in the file now.
    var saved: [CommitNumber: Int]
    /// Roots that are no more, with what hung on them.
    var dropped: [CommitNumber: [RetiredPage]]
    /// Pages of blobs that only the metas up to this one's predecessor refer to.
    var replacedBlobPages: [PageNumber]
    /// Pages of blobs that this meta alone refers to.
    var ownBlobPages: [PageNumber]
    /// The tree pages written, but for those settled between slices.
    var written: ArraySlice<RetiredPage>
  }

  /// Numbers taken for blobs; to be given back if the checkpoint fails.
  private(set) var reserved: [PageNumber] = []
  private var ownBlobPages: [PageNumber] = []

  init(file: PageFile, pages: PageStore, pins: PinTable, log: CommitLog) {
    self.file = file
    self.pages = pages
    self.pins = pins
    self.log = log
  }

  /// Steps 2 to 4, but for the looking.
  ///
  /// - Parameters:
  ///   - young: the version's `youngPages`.
  ///   - ledger: the roots of the meta in force.
  ///   - dropped: roots among them to be dropped, with what hung on them.
  ///   - replaced: pages of blobs that are free as soon as this meta is in force.
  ///   - betweenSlices: called with the tree pages written and not settled yet; it takes off those it settles.
  mutating func write(
    _ begun: Begun, _ young: [RetiredPage], after ledger: RootLedger, sequence: UInt64,
    dropping dropped: [CommitNumber: [RetiredPage]], replacing replaced: [PageNumber],
    betweenSlices: (inout ArraySlice<RetiredPage>) throws(TreeRingError) -> Void
  ) throws(TreeRingError) -> Outcome {
    let version = begun.version
    let commit = version.roots.commit
    if log.durable < commit { try log.sync() }
    let written = try writePages(young, betweenSlices: betweenSlices)
    var next = ledger
    let droppedLists = next.entries.filter { dropped[$0.commit] != nil }.flatMap(\.lists)
    next.entries.removeAll { dropped[$0.commit] != nil }
    var saved: [CommitNumber: Int] = [:]
    for index in next.entries.indices {
      let root = next.entries[index].commit
      if let unsaved = begun.image.unsaved[root] {
        next.entries[index].lists.append(try writeBlob(DeadList.encode(unsaved)))
        saved[root] = unsaved.count
      }
    }
    if next.newest?.commit != commit {
      next.entries.append(RootLedger.Entry(roots: version.roots))
    }
    // What hangs on pins that the file does not know is written for this meta alone: it stays in
    // memory too, and hangs elsewhere when the pin is gone.
    var stated = next.entries
    for index in stated.indices {
      if let passing = begun.image.passing[stated[index].commit] {
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

  /// The pages of the version's trees that were born after a commit and that the file does not hold, by
  /// number. Writes nothing.
  func youngPages(
    of version: Version, bornAfter commit: CommitNumber
  ) throws(TreeRingError) -> [RetiredPage] {
    // A checkpoint that found no room may have left clean pages among them, which may leave the heap.
    try typed {
      try pages.reading {
        var young: [RetiredPage] = []
        for root in version.roots.trees {
          Tree(root, pages: pages).forEachPage(bornAfter: commit) { page in
            if pages.isDirty(page.number) {
              young.append(RetiredPage(number: page.number, birth: page.birth))
            }
          }
        }
        return young.sorted { $0.number < $1.number }
      }
    }
  }

  /// Writes pages to their places, in slices.
  /// - Returns: those that have not been settled between slices.
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

  /// Pages written at a time: a megabyte.
  private static let slicePageCount = 256

  // MARK: Blobs

  /// What the pages of one blob carry as their birth, and those of no other blob: several checkpoints may
  /// be of the same commit, and a write of one that was lost would leave the page of another.
  private static var stamp: UInt64 { .random(in: 1...(.max)) }

  private mutating func writeBlob(
    _ bytes: [UInt8], isOwn: Bool = false
  ) throws(TreeRingError) -> BlobReference {
    let pages = pages
    var taken: [PageNumber] = []
    defer { reserved += taken }
    let reference = try file.writeBlob(bytes, birth: Self.stamp) {
      let numbers = pages.reserveNumbers(1)
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

  /// Writes which numbers are free once the meta is in force: those free at the beginning, those that
  /// only later commits use, and those whose last user is the meta's predecessor; but not what this
  /// checkpoint has taken.
  private mutating func writeFreeNumbers(
    _ begun: Begun, replaced: [PageNumber]
  ) throws(TreeRingError) -> (BlobReference, bound: PageNumber, usedCount: Int) {
    var free = begun.image.free
    for number in begun.unpublished { free.insert(Int(number)) }
    for number in replaced { free.insert(Int(number)) }
    // The blob's own pages have to be taken before it can be written, so a few too many are; what is
    // left over is free, in the blob too.
    let size = FreeMap.byteCount(below: pages.pageNumberBound) + UInt64(PageLayout.pageByteCount)
    let estimate = BlobReference(page: 1, birth: 0, byteCount: size).pageCount
    let own = pages.reserveNumbers(Int(estimate))
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
    pages.free(own[usedCount...])
    return (reference, bound, Int(bound) - 1 - free.count)
  }
}
