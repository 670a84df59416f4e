// The bound of the page file: four times the live pages, or a quarter of the memory budget if that
// is more, the allowance for earlier roots, and the pages that live pins keep.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("The page file's bound", .leavesSoundStores) struct PageFileBoundTests {
  /// A store with random writes, and the bound of its page file.
  private struct Churn {
    let seed: UInt64
    /// In memory: on a disk, a sync that takes seconds would let writers pass.
    let system = MemoryFileSystem()
    private(set) var store: Store
    let rowCount: Int
    var random: SeededGenerator
    /// The largest bound so far, read after every commit: a follower that moves on pins fewer pages
    /// again. Free pages are reused, but the file does not shrink.
    var bound = 0
    /// The largest number of live pages so far.
    var live = 0

    init(seed: UInt64, rowCount: Int) throws {
      self.seed = seed
      self.rowCount = rowCount
      random = SeededGenerator(seed: seed)
      store = try Self.open(system)
    }

    static func open(
      _ system: MemoryFileSystem, _ mode: StoreMode = .create
    ) throws -> Store {
      var options = StoreOptions(mode: mode, durability: .unsynced, logger: quietLogger)
      // Few rows to a page make many pages.
      options.pageCellCapacity = 4
      return try Store(path: "store", fileSystem: system, options: options)
    }

    /// Reopens the store, and first removes the page file if `rebuilding` is true.
    mutating func reopen(rebuilding: Bool) throws {
      try store.close()
      if rebuilding {
        try system.unlink("store/pages")
        bound = 0
      }
      store = try Self.open(system)
    }

    /// Writes random rows; one write in ten is a delete.
    mutating func commit(_ count: Int) throws {
      try store.write { tx in
        for _ in 0..<count {
          let key = Key("k\(Int.random(in: 0..<rowCount, using: &random))")
          if Int.random(in: 0..<10, using: &random) == 0 {
            try tx.delete(key, in: blobs)
          } else {
            try tx.put([UInt8.random(in: 0...255, using: &random)], for: key, in: blobs)
          }
        }
      }
      bound = max(bound, try #require(store.engine.checkpointer).pageUse.bound)
    }

    /// Counts the live pages one by one, and compares the file with the largest bound so far.
    /// - Parameter leavesNoRoom: whether pins leave no room below the bound. In that case writers
    ///   may exceed it before a checkpoint has ended, by an eighth of the live pages, at least a
    ///   megabyte.
    mutating func check(_ moment: String, leavesNoRoom: Bool = false) throws {
      let statistics = try store.statistics()
      let pages = store.pages
      var reached = 0
      for root in store.queue.visible.roots.trees {
        reached += TreeChecker.reachablePages(root, pages: pages).count
      }
      #expect(store.engine.checkpointer?.pageUse.live == reached, "seed \(seed), \(moment)")
      live = max(live, reached)
      let allowance = max(
        reached / 2, Int(statistics.logByteCount) / 2 / 4096, statistics.memoryBudget / 16 / 4096,
        1024)
      let counted = max(reached, statistics.memoryBudget / 16 / 4096)
      bound = max(bound, 4 * counted + allowance + statistics.pinnedPageCount)
      let size = Int(statistics.pageFileByteCount) / 4096
      let surplus = leavesNoRoom ? max(reached / 8, 256) : 0
      #expect(
        size <= bound + surplus,
        "seed \(seed), \(moment): \(size) pages, \(bound) + \(surplus) allowed")
    }

    func finish() throws {
      try store.close()
      let findings = try verifyPageFile("store/pages", fileSystem: system)
      #expect(findings.map(\.problem) == [])
    }
  }

  @Test("The bound holds during random writes to a large store, and with long-lived snapshots")
  func largeStore() throws {
    for seed in seeds(1...1) {
      var churn = try Churn(seed: seed, rowCount: 22_000)
      var held: [Snapshot] = []
      for round in 1...100 {
        try churn.commit(1000)
        // Also before the end of a snapshot, when the bound is largest.
        if round % 2 == 0 { try churn.check("round \(round)") }
        if round > 30, round % 16 == 0 { held.append(try churn.store.snapshot()) }
        if round > 60, round % 16 == 8 { held.removeFirst() }
      }
      #expect(churn.live > 10_000)
      #expect(try held.allSatisfy { try $0.count(in: "blobs") > 10_000 })
      #expect(try churn.store.statistics().slowedCommitCount > 0)
      held = []
      try churn.reopen(rebuilding: false)
      try churn.check("reopened")
      try churn.reopen(rebuilding: true)
      try churn.check("rebuilt")
      try churn.finish()
    }
  }

  @Test("The bound of a small store has room for a quarter of the memory budget")
  func smallBound() {
    func use(live: Int, leastLive: Int) -> PageUse {
      PageUse(
        live: live, retained: 0, pinned: 30, leaving: 0, unsaved: 0, all: live + 30,
        allowance: 1024, leastLive: leastLive)
    }
    let budget = MemoryBudget(byteCount: 512 << 20)
    let small = use(live: 100, leastLive: budget.leastLivePages)
    #expect(small.bound == (512 << 20) / 4 / 4096 + 1024 + 30)
    #expect(small.room == (512 << 20) / 8 / 4096 + 512)
    for live in [20_000, 40_000] {
      let (some, none) = (use(live: live, leastLive: 8192), use(live: live, leastLive: 0))
      #expect(some.bound == none.bound && some.room == none.room)
    }
  }

  @Test("Pages that a follower reads count as pinned")
  func followed() throws {
    var churn = try Churn(seed: 1, rowCount: 8000)
    for _ in 0..<20 { try churn.commit(1000) }
    try churn.store.checkpoint()
    let follower = try Churn.open(churn.system, .readOnly)
    let read = try follower.snapshot()
    let count = try read.count(in: "blobs")
    for round in 0..<120 {
      try churn.commit(200)
      if round % 4 == 0 { try churn.check("round \(round)", leavesNoRoom: true) }
    }
    // Checkpoints look for followers, and those in the background may not have begun yet.
    try churn.store.checkpoint()
    try churn.check("checkpoint", leavesNoRoom: true)
    // The snapshot reads a state that shares no page with the newest one.
    let statistics = try churn.store.statistics()
    #expect(statistics.pinnedPageCount > churn.live / 2, "\(statistics)")
    #expect(try read.count(in: "blobs") == count)
    try follower.close()
    try churn.finish()
  }

  @Test(
    "The bound holds with checkpoints and snapshots at any time, and earlier roots are kept",
    arguments: seeds(1...2))
  func smallStore(seed: UInt64) throws {
    var churn = try Churn(seed: seed, rowCount: 1500)
    var held: [Snapshot] = []
    var rootCounts: [Int] = []
    for round in 0..<400 {
      try churn.commit(10)
      if round % 4 == 0 {
        try churn.store.checkpoint()
        try churn.check("round \(round)")
      }
      if round % 50 == 0 { held.append(try churn.store.snapshot()) }
      if round % 97 == 96 { held.removeFirst() }
      if round % 4 == 0, round > 300 {
        rootCounts.append(try churn.store.statistics().retainedRootCount)
      }
    }
    #expect(rootCounts.reduce(0, +) > 4 * rootCounts.count, "\(rootCounts)")
    held = []
    try churn.finish()
  }
}
