// Compaction of whole stores: the readable history equals the model, also after reopening, with and
// without a page file. The rest is refused with a typed error.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Compaction of stores", .leavesSoundStores) struct CompactionStoreTests {
  @Test(
    "With any horizon, tags and pins, every retained commit equals the model",
    arguments: seeds(1...3))
  func retainedCommits(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed &* 104_729)
    let files = MemoryFiles()
    var store = try files.open(capacity: 6)
    var history = RandomHistory(seed: seed)
    try store.define("byGroup", RandomHistory.fieldIndex)
    for _ in 1...store.newestCommit { history.noteEmptyCommit() }
    var pins: [Snapshot] = []
    for round in 1...4 {
      for _ in 0..<60 { try history.commit(to: store) }
      for _ in 0..<2 {
        let tagged = CommitNumber.random(
          in: max(1, store.horizon)...store.newestCommit, using: &random)
        try store.write {
          try $0.tag("tag \(Int.random(in: 0..<5, using: &random))", commit: tagged)
        }
        history.noteEmptyCommit()
      }
      if Bool.random(using: &random) {
        let pinned = CommitNumber.random(
          in: max(1, store.horizon)...store.newestCommit, using: &random)
        pins.append(try store.snapshot(at: .commit(pinned)))
      }
      let wanted = CommitNumber.random(in: 1...store.newestCommit, using: &random)
      let held = pins.map(\.commit).min() ?? .max
      let old = store.horizon
      let report = try store.compact(to: .before(wanted))
      let label = "seed \(seed), round \(round), horizon \(report.horizon)"
      #expect(report.horizon >= old, "\(label)")
      #expect(report.horizon <= max(old, wanted), "\(label)")
      #expect(store.horizon == report.horizon)
      if held >= old { #expect(report.horizon <= max(old, held), "\(label)") }
      for pin in pins { try history.check(pin, label: "\(label), pinned") }
      try check(store, history, label)
      if round % 2 == 0 {
        pins = []
        try store.close()
        store = try files.open(capacity: 6)
        try check(store, history, "\(label), reopened")
      }
    }
    try store.close()
  }

  private func check(_ store: Store, _ history: RandomHistory, _ label: String) throws {
    let horizon = store.horizon
    let tags = Set(try store.snapshot().tags().map(\.commit))
    for commit in 1...store.newestCommit {
      if commit >= horizon || tags.contains(commit) {
        let snapshot = try store.snapshot(at: .commit(commit))
        try history.check(snapshot, label: "\(label), at \(commit)")
      } else {
        let refusal = error { try store.snapshot(at: .commit(commit)) }
        #expect(refusal?.code == .beyondHorizon, "\(label), at \(commit)")
        #expect(refusal?.current == horizon)
      }
    }
    #expect(try store.checkInvariants().isEmpty, "\(label)")
  }

  /// A store of rows that are written repeatedly.
  private func churned(_ options: StoreOptions = StoreOptions(logger: quietLogger)) throws -> Store
  {
    var options = options
    options.segmentSize = 8 << 10
    options.logger = quietLogger
    let store = try Store.inMemory(options: options)
    for number in 0..<600 {
      let bytes = (0..<60).map { UInt8(truncatingIfNeeded: number &* 31 &+ $0 &* 7) }
      try store.put(bytes, for: Key("k\(number % 20)"))
    }
    return store
  }

  @Test("The log shrinks, and the report lists the reasons why the rest is kept") func shrinks()
    throws
  {
    let store = try churned()
    let pin = try store.snapshot(at: .commit(300))
    try store.write { try $0.tag("v1", commit: 100) }
    let held = try store.compact(to: .dropHistory)
    #expect(held.horizon == 300)
    #expect(held.held.map(\.kind) == [.tag, .pin])
    #expect(held.held.map(\.commit) == [100, 300])
    #expect(held.held.last?.description.contains("CompactionStoreTests.swift") ?? false)
    #expect(held.bytesAfter < held.bytesBefore * 3 / 4)
    #expect(pin.commit == 300)
    withExtendedLifetime(pin) {}
    #expect(try store.snapshot(at: .tag("v1")).commit == 100)
  }

  @Test("Dropping all history leaves one commit and no tag below it") func dropHistory() throws {
    let store = try churned()
    try store.write { try $0.tag("v1", commit: 100) }
    let report = try store.compact(to: .dropHistory, keepsTags: false)
    #expect(report.horizon == store.newestCommit)
    #expect(report.bytesAfter < report.bytesBefore / 8)
    #expect(try store.snapshot().tags().isEmpty)
    #expect(code { try store.snapshot(at: .commit(100)) } == .beyondHorizon)
    #expect(code { try store.write { try $0.tag("v2", commit: 100) } } == .beyondHorizon)
    #expect(try store.snapshot().count(in: "blobs") == 20)
  }

  @Test("Dropping all history leaves no tag below the commit that removes tags")
  func dropTags() throws {
    let store = try churned()
    try store.write { try $0.tag("old", commit: 100) }
    try store.write { tx in
      tx.tags = ["newest"]
      try tx.put([1], for: "row", in: blobs)
    }
    let report = try store.compact(to: .dropHistory, keepsTags: false)
    #expect(report.horizon == store.newestCommit)
    #expect(report.held == [])
    #expect(try store.snapshot().tags().isEmpty)
    #expect(code { try store.snapshot(at: .commit(store.newestCommit - 1)) } == .beyondHorizon)
  }

  @Test("A dry run changes nothing, and its estimate is near the result") func dryRun() throws {
    let store = try churned()
    let before = store.log.segments
    let estimate = try store.compact(to: .keeping(.last(commits: 10)), isDryRun: true)
    #expect(store.log.segments == before)
    #expect(store.horizon == 0)
    #expect(estimate.isDryRun)
    let report = try store.compact(to: .keeping(.last(commits: 10)))
    #expect(report.horizon == estimate.horizon)
    #expect(report.horizon == store.newestCommit - 9)
    #expect(estimate.bytesAfter < estimate.bytesBefore / 2)
    #expect(report.bytesAfter < report.bytesBefore / 2)
  }

  @Test("A compaction stopped by its caller keeps its work, and the next one continues")
  func cancelled() throws {
    let store = try churned()
    var calls = 0
    let refusal = error {
      try store.compact(to: .dropHistory) { _ in
        calls += 1
        return calls < 2
      }
    }
    if calls >= 2 { #expect(refusal?.code == .cancelled) }
    #expect(try store.snapshot().count(in: "blobs") == 20)
    try store.compact(to: .dropHistory)
    #expect(try store.snapshot().count(in: "blobs") == 20)
  }

  @Test("The policy is applied automatically, and bounds the log") func automatic() throws {
    let store = try churned(StoreOptions(retention: .last(commits: 50), logger: quietLogger))
    store.maintenance.settle()
    #expect(store.horizon > 300)
    #expect(store.horizon <= store.newestCommit - 49)
    #expect(store.log.statistics.byteCount < 48 << 10)
    #expect(try store.snapshot(at: .commit(store.horizon)).count(in: "blobs") == 20)
    #expect(try store.snapshot().count(in: "blobs") == 20)
  }

  @Test("Below the horizon, feeds and commits throw beyondHorizon, and histories end")
  func positions() async throws {
    let store = try churned()
    try await store.compact(to: .before(400))
    #expect(code { try store.commit(399) } == .beyondHorizon)
    #expect(try store.commit(400).number == 400)
    #expect(code { try store.operations(of: 400) } == .beyondHorizon)
    #expect(try store.operations(of: 401).operations.count == 1)
    var feed = store.commits(from: 399).makeAsyncIterator()
    let refusal = await error { try await feed.next() }
    #expect(refusal?.code == .beyondHorizon)
    #expect(refusal?.current == 400)
    var whole = store.commits().makeAsyncIterator()
    #expect(try await whole.next()?.number == 400)
    let versions = try await store.history(of: "k7", in: "blobs")
    #expect(versions.count > 5)
    // The last version is the row's state at the horizon.
    #expect(versions.dropLast().allSatisfy { $0.commit > 400 })
    #expect(versions.last.map { $0.commit <= 400 } ?? false)
    #expect(versions.last?.kind == .put)
    #expect(code { try store.revert(to: .commit(12)) } == .beyondHorizon)
    #expect(try await store.snapshot(at: .commit(0)).count(in: "blobs") == 0)
  }

  @Test("A pin over its limit holds no history, and its next read throws") func pinLimit() throws {
    let store = try churned(
      StoreOptions(pinLimit: PinLimit(commits: 50), logger: quietLogger))
    let pin = try store.snapshot()
    let index = try pin.count(in: "blobs")
    #expect(index == 20)
    for _ in 0..<50 { try store.put([1], for: "x") }
    #expect(try pin.count(in: "blobs") == 20)
    #expect(store.pins.count == 1)
    try store.put([1], for: "x")
    let refusal = error { try pin.count(in: "blobs") }
    #expect(refusal?.code == .snapshotExpired)
    #expect(store.pins.isEmpty)
    #expect(pin.commit == 600)
    #expect(try store.compact(to: .dropHistory).horizon == store.newestCommit)
    store.maintenance.settle()
    #expect(try store.leakedPageCount(beside: []) == 0)
  }

  @Test("After a tag is moved, the next run drops its old commit, and no earlier one does")
  func movedTag() throws {
    let store = try churned()
    try store.write { try $0.tag("v1", commit: 100) }
    try store.compact(to: .before(500))
    #expect(try store.snapshot(at: .commit(100)).count(in: "blobs") == 20)
    let pin = try store.snapshot(at: .tag("v1"))
    try store.write { try $0.tag("v1", commit: 550) }
    #expect(code { try store.snapshot(at: .commit(100)) } == .beyondHorizon)
    try store.compact(to: .before(510))
    #expect(store.horizon == 510)
    #expect(try pin.count(in: "blobs") == 20)
    #expect(try pin.row("k3", in: "blobs")?.written == 84)
  }
}
