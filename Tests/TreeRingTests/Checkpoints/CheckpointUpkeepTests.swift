// Memory and file after a series of checkpoints.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Many checkpoints", .leavesSoundStores) struct CheckpointUpkeepTests {
  private static let path = "store/pages"

  /// A store of few rows. Each commit rewrites all of them, and a checkpoint follows. Commit n
  /// gives each row the value n.
  private final class Run {
    let disk = SimulatedFileSystem(seed: 1)
    let store: Store
    var commit: CommitNumber { store.newestCommit }

    init(memoryBudget: Int = 64 << 20) throws { store = try Self.open(disk, memoryBudget) }

    static func open(_ disk: SimulatedFileSystem, _ memoryBudget: Int) throws -> Store {
      var options = StoreOptions(
        durability: .unsynced, memoryBudget: memoryBudget, logger: quietLogger)
      options.pageCellCapacity = 4
      return try Store(path: "store", fileSystem: disk, options: options)
    }

    func rewrite() throws {
      let value = Self.value(of: commit + 1)
      try store.write { tx in
        for number in 0..<200 { try tx.put(value, for: Key("row \(number)"), in: blobs) }
      }
      try store.checkpoint()
    }

    static func value(of commit: CommitNumber) -> [UInt8] { Array("\(commit)".utf8) }
  }

  @Test("The list of clean pages does not grow while no page has to be evicted")
  func cleanPages() throws {
    let run = try Run()
    let checkpointer = try #require(run.store.engine.checkpointer)
    var written = 0
    while written < 20_000 {
      try run.rewrite()
      let counts = run.store.pages.heapPageCounts
      let listed = checkpointer.evictor.listedNumbers
      #expect(listed.count <= 2 * (counts.all - counts.dirty) + 4096)
      let clean = run.store.pages.cleanPages
      #expect(Set(listed).count { clean.contains(Int($0)) } == clean.count, "one was forgotten")
      written = checkpointer.evictor.writtenPageCount
    }
    // All of them can still be evicted.
    run.store.evictCleanPages()
    #expect(run.store.pages.heapPageCounts == (all: 0, dirty: 0))
    #expect(try run.store.snapshot().get("row 7", in: blobs) == Run.value(of: run.commit))
  }

  @Test("If the newest meta is lost, the one before reaches all of its roots")
  func lostMeta() throws {
    // A small budget, so that memory keeps few earlier states beside those of the file.
    let run = try Run(memoryBudget: 8 << 20)
    let metas = 0..<2 * PageLayout.pageByteCount
    var droppedCount = 0
    for round in 0..<14 {
      try run.rewrite()
      let before = try #require(run.disk.contents(of: Self.path)?[metas])
      try run.rewrite()
      let dropped = run.store.engine.checkpointer?.state.withLock { $0.leaving.count } ?? 0
      try run.rewrite()
      guard dropped > 0 else { continue }
      droppedCount += dropped
      // The device lost the meta of the second checkpoint, and did not yet have that of the third
      // when the power failed.
      let found = run.disk.afterKill()
      for offset in metas { found.damage(Self.path, at: offset) { _ in before[offset] } }
      #expect(
        try verifyPageFile(Self.path, fileSystem: found).map(\.problem) == [], "round \(round)")
      guard round % 4 == 0 else { continue }
      let store = try Run.open(found, 8 << 20)
      #expect(store.newestCommit == run.commit)
      for commit in stride(from: run.commit, to: 0, by: -5) {
        let rows = try store.snapshot(at: .commit(commit)).rows(in: blobs).map(\.1)
        #expect(rows == Array(repeating: Run.value(of: commit), count: 200), "round \(round)")
      }
      try store.close()
    }
    #expect(droppedCount > 5)
    #expect(try run.store.leakedPageCount(beside: []) == 0)
  }

  @Test("A reader counts the pages in use, not those that the file has room for")
  func pagesInUse() throws {
    let run = try Run()
    for _ in 0..<10 { try run.rewrite() }
    try run.store.compact(to: .dropHistory)
    try run.rewrite()
    try run.store.close()
    let reader = try Store(
      path: "store", fileSystem: run.disk,
      options: StoreOptions(mode: .readOnly, logger: quietLogger))
    let writer = try Run.open(run.disk, 64 << 20)
    let (seen, inUse) = (try reader.statistics().pageCount, try writer.statistics().pageCount)
    // The writer also counts the lists of the previous meta.
    #expect(abs(seen - inUse) < 10, "\(seen) instead of \(inUse)")
    #expect(2 * seen < Int(writer.pages.pageNumberBound))
    try writer.close()
    try reader.close()
  }

  @Test("Commits that fill the heap are throttled, and the statistics count them and the time")
  func slowedCommits() throws {
    let run = try Run(memoryBudget: 1 << 20)
    let begun = try run.store.statistics()
    #expect(begun.slowedCommitCount == 0)
    #expect(begun.slowedTime == .zero)
    // The checkpointer cannot free pages, because this thread holds its lock.
    let checkpointer = try #require(run.store.engine.checkpointer)
    try checkpointer.withoutCheckpoint {
      for round in 0..<40 where try run.store.statistics().slowedCommitCount == 0 {
        try run.store.write { tx in
          for number in 0..<20 {
            try tx.put([1], for: Key("row \(round) \(number)"), in: blobs)
          }
        }
      }
    }
    let slowed = try run.store.statistics()
    #expect(slowed.slowedCommitCount == 1)
    #expect(slowed.slowedTime > .zero)
    try run.store.close()
  }
}
