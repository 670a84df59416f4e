// Loss of the page file's lists or of any part of it: the device changes it or can no longer read
// it. The log has all contents, so the store continues after the next opening at the latest.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Lost parts of the page file") struct LostListTests {
  private static let path = "store/pages"

  /// A store of few rows. Each commit rewrites all of them, and a checkpoint follows.
  private final class Run {
    let disk = SimulatedFileSystem(seed: 1)
    private(set) var store: Store
    private(set) var value: UInt8 = 0

    init() throws {
      store = try Self.open(disk, .create)
      for _ in 0..<4 { try rewrite() }
    }

    static func open(_ disk: SimulatedFileSystem, _ mode: StoreMode) throws -> Store {
      var options = StoreOptions(mode: mode, durability: .unsynced, logger: quietLogger)
      options.pageCellCapacity = 4
      return try Store(path: "store", fileSystem: disk, options: options)
    }

    func rewrite() throws {
      try store.write { tx in
        for number in 0..<200 { try tx.put([value &+ 1], for: Key("row \(number)"), in: blobs) }
      }
      value &+= 1
      try store.checkpoint()
    }

    func reopen() throws {
      try? store.close()
      store = try Self.open(disk, .readWrite)
    }

    /// Checks that every row has its last value, and that the page file is sound.
    func check(_ label: String) throws {
      let snapshot = try store.snapshot()
      for number in 0..<200 {
        #expect(try snapshot.get(Key("row \(number)"), in: blobs) == [value], "\(label)")
      }
      #expect(try store.checkInvariants() == [], "\(label)")
      #expect(try verifyPageFile(path, fileSystem: disk).map(\.problem) == [], "\(label)")
    }
  }

  /// The pages that the newest meta names: its lists and the trees' roots.
  private struct Parts {
    var lists: [PageNumber] = []
    var deadLists: [PageNumber] = []
    var trees: [PageNumber] = []

    init(_ disk: SimulatedFileSystem) throws {
      let file = try PageFile.open(path, fileSystem: disk, mode: .readOnly)
      defer { file.close() }
      let meta = try #require(try file.metas().valid.first)
      let roots = try RetainedRoot.decode(try file.readBlob(meta.roots))
      lists = try file.pages(of: meta.roots) + file.pages(of: meta.free)
      deadLists = try #require(try roots.first?.deadLists.flatMap { try file.pages(of: $0) })
      trees = try #require(roots.last?.roots.trees.map(\.page).filter { $0 != 0 })
    }
  }

  private static func range(of page: PageNumber) -> Range<Int> {
    let start = Int(PageFileLayout.offset(of: page))
    return start..<start + PageLayout.pageByteCount
  }

  @Test(
    "A lost list of dead pages: checkpoints throw a typed error, and reopening repairs it",
    arguments: [true, false])
  func deadList(isUnreadable: Bool) throws {
    let run = try Run()
    let page = try #require(try Parts(run.disk).deadLists.first)
    if isUnreadable {
      run.disk.failReads(of: Self.path, in: Self.range(of: page))
    } else {
      run.disk.flipBit(Self.path, in: Self.range(of: page), seed: 1)
    }
    var failure: TreeRingError?
    for _ in 0..<200 where failure == nil {
      do { try run.rewrite() } catch { failure = error as? TreeRingError }
    }
    #expect(failure?.code == (isUnreadable ? .io : .corruption), "\(String(describing: failure))")
    // The store does not try the checkpoint again.
    #expect(code { try run.store.put([1], for: "other") } == .poisoned)
    try run.reopen()
    try run.check("reopened")
    for _ in 0..<60 { try run.rewrite() }
    try run.check("went on")
  }

  @Test("A store opens although the device cannot read parts of its page file")
  func unreadable() throws {
    let base = try Run()
    try base.store.close()
    let parts = try Parts(base.disk)
    var places = (parts.lists + parts.trees).map(Self.range(of:))
    places += [0..<4096, 4096..<8192, 0..<8192]
    for place in places {
      for mode in [StoreMode.readOnly, .readWrite] {
        let disk = base.disk.afterKill()
        disk.failReads(of: Self.path, in: place)
        var store = try Run.open(disk, mode)
        let rows = { (store: Store) throws in
          let snapshot = try store.snapshot()
          for number in 0..<200 {
            #expect(try snapshot.get(Key("row \(number)"), in: blobs) == [base.value])
          }
        }
        do {
          try rows(store)
        } catch let error as TreeRingError where error.code == .io {
          // A read found the damage. The writer's next checkpoint abandons the file.
          guard mode == .readWrite else { continue }
          _ = try? store.put([1], for: "other")
          #expect(code { try store.checkpoint() } == .io, "\(place)")
          try store.close()
          store = try Run.open(disk, mode)
          try rows(store)
        }
        try store.close()
      }
    }
  }

  @Test("A read that fails once does not remove the page file")
  func once() throws {
    let run = try Run()
    run.store.evictCleanPages()
    run.disk.failRead(after: 1)
    #expect(code { _ = try run.store.snapshot().get("row 1", in: blobs) } == .io)
    try run.rewrite()
    try run.check("afterwards")
    try run.store.close()
  }
}
