// Memory full of dirty pages. A checkpoint frees them as it proceeds, and a transaction writes its
// own early. Evicted pages are on the device, so a failure half-way spoils neither memory nor file.

import Dispatch
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Memory full of dirty pages", .leavesSoundStores) struct CheckpointMemoryTests {
  /// A store whose heap is nearly full of pages that the file does not hold. Other pages have been
  /// evicted.
  private final class Run {
    let disk = SimulatedFileSystem(seed: 1)
    let store: Store
    private(set) var rows: [Key: [UInt8]] = [:]
    private var random: SeededGenerator

    /// - Parameters:
    ///   - budget: In bytes; a larger one than by default fills with new rows only.
    ///   - prepare: Called when the heap is full, before any checkpoint.
    init(seed: UInt64, budget: Int = small, prepare: (Run) -> Void = { _ in }) throws {
      random = SeededGenerator(seed: seed)
      disk.watchWrites(refuseTwins)
      store = try Self.open(disk, budget: budget)
      let checkpointer = try #require(store.engine.checkpointer)
      // The lock prevents checkpoints in the background. After it, either thread may make the first
      // one.
      try checkpointer.withoutCheckpoint {
        if budget == Self.small {
          // Enough rows that pages are written early. Later commits change only the last of these
          // pages.
          try write((0..<1250).map { 10_000 + $0 })
          let early = Int(store.pages.pageNumberBound) - store.pages.heapPageCounts.all
          try #require(early > 50, "nothing has left the heap")
        }
        while store.pages.heapPageCounts.dirty < checkpointer.share.pages / 10 * 9 {
          if budget == Self.small {
            try writeSome()
          } else {
            // Few pages die, for whose room writers would wait.
            try write((0..<200).map { 100_000 + rows.count + $0 })
          }
        }
        try store.sync()
        prepare(self)
      }
    }

    static let small = 3 << 20

    static func open(_ disk: SimulatedFileSystem, budget: Int = small) throws -> Store {
      var options = StoreOptions(durability: .unsynced, memoryBudget: budget, logger: quietLogger)
      options.pageCellCapacity = 4
      return try Store(path: "store", fileSystem: disk, options: options)
    }

    /// Makes a commit that writes some random rows.
    func writeSome() throws {
      try write((0..<20).map { _ in Int.random(in: 0..<1000, using: &random) })
    }

    private func write(_ numbers: [Int]) throws {
      var after = rows
      try store.write { tx in
        for number in numbers {
          let object = [UInt8](repeating: .random(in: 0...255, using: &random), count: 20)
          try tx.put(object, for: Key("row \(number)"), in: blobs)
          after[Key("row \(number)")] = object
        }
      }
      rows = after
    }

    func isRight(_ store: Store) throws -> Bool {
      var found: [Key: [UInt8]] = [:]
      try store.snapshot().forEach(in: blobs) { key, object in
        found[key] = object
        return true
      }
      return found == rows
    }
  }

  @Test(
    "Writers get memory when a checkpoint has written a part, long before its end")
  func roomBeforeTheEnd() throws {
    // At each sync of the page file, up to the first meta.
    let seen = Mutex<(counts: [(all: Int, dirty: Int)], isOver: Bool)>(([], false))
    let run = try Run(seed: 1) { run in
      let pages = run.store.pages
      run.disk.observe { _, what, _ in
        seen.withLock { seen in
          if what == "sync store/pages", !seen.isOver { seen.counts.append(pages.heapPageCounts) }
          if what.hasSuffix("at 0 to store/pages") || what.hasSuffix("at 4096 to store/pages") {
            seen.isOver = true
          }
        }
      }
    }
    try run.store.checkpoint()
    run.disk.observe(nil)
    let share = try #require(run.store.engine.checkpointer).share
    let counts = seen.withLock { $0.counts }
    #expect(counts.count == 2, "a part of it, and all of it, is made durable")
    let (first, last) = (try #require(counts.first), try #require(counts.last))
    #expect(first.dirty > share.slowPages)
    #expect(last.dirty < share.slowPages)
    #expect(last.all < first.all, "what is durable has not left the heap")
    #expect(try run.isRight(run.store))
    #expect(try run.store.leakedPageCount(beside: []) == 0)
    try run.store.close()
  }

  /// The number of changing calls in a checkpoint, and the indexes of those that sync the page
  /// file.
  private func calls(_ seed: UInt64) throws -> (count: Int, syncs: [Int]) {
    var begin = 0
    let syncs = Mutex<[Int]>([])
    let run = try Run(seed: seed) { run in
      begin = run.disk.callCount
      run.disk.observe { call, what, _ in
        if what == "sync store/pages" { syncs.withLock { $0.append(call) } }
      }
    }
    try run.store.checkpoint()
    let count = run.disk.callCount - begin
    run.disk.observe(nil)
    try run.store.close()
    return (count, syncs.withLock { $0.map { $0 - begin } })
  }

  @Test("The device is full, or fails, at any point of a checkpoint", arguments: seeds(1...2))
  func faults(seed: UInt64) throws {
    let (calls, syncs) = try calls(seed)
    // The lists and the meta are written at the end.
    let points =
      Array(stride(from: 1, to: calls - 6, by: max(1, calls / 3))) + (calls - 6...calls)
      + syncs
    for point in points {
      for fault in DiskFault.allCases {
        let label = "seed \(seed), \(fault) at call \(point) of \(calls)"
        let run = try Run(seed: seed) { $0.disk.fail(after: point, with: fault) }
        try check(run, label)
      }
    }
  }

  @Test("Pages are made durable beside a checkpoint, which may fail at any point")
  func syncsBeside() throws {
    func run(_ prepare: (Run) -> Void = { _ in }) throws -> Run {
      try Run(seed: 1, budget: 14 << 20, prepare: prepare)
    }
    let syncs = Counter()
    var begin = 0
    let whole = try run { run in
      begin = run.disk.callCount
      run.disk.observe { _, what, _ in if what == "sync store/pages" { _ = syncs.next() } }
    }
    try whole.store.checkpoint()
    whole.disk.observe(nil)
    let calls = whole.disk.callCount - begin
    #expect(try #require(whole.store.engine.checkpointer).share.pages >= 2048)
    #expect(syncs.count > 3)
    #expect(try whole.isRight(whole.store))
    try whole.store.close()
    for fault in DiskFault.allCases {
      // The calls come in another order each time.
      for point in stride(from: 1, to: calls - 4, by: max(1, calls / 6)) {
        try check(
          try run { $0.disk.fail(after: point, with: fault) },
          "\(fault) at call \(point) of \(calls)")
      }
      for sync in 1...2 {
        try check(
          try run { $0.disk.fail("sync store/pages", after: sync, with: fault) },
          "\(fault) at sync \(sync)")
      }
    }
  }

  /// Makes a checkpoint in which a call fails, and checks the store during and after it.
  private func check(_ run: Run, _ label: String) throws {
    let failed = code { try run.store.checkpoint() }
    guard run.disk.faultCount == 1 else {
      Issue.record("\(label): nothing has failed")
      return
    }
    let goesOn = (try? run.writeSome()) != nil
    #expect(goesOn || failed == .io, "\(label): \(failed)")
    // Pages that the device does not hold are not in the system's memory either.
    run.store.evictCleanPages()
    run.disk.dropCaches()
    #expect(try run.isRight(run.store), "\(label)")
    if goesOn {
      try run.store.checkpoint()
      #expect(try run.store.leakedPageCount(beside: []) == 0, "\(label)")
      #expect(try run.isRight(run.store), "\(label)")
    }
    let found = run.disk.afterKill()
    #expect(
      try verifyPageFile("store/pages", fileSystem: found).map(\.problem) == [], "\(label)")
    let reopened = try Run.open(found)
    #expect(try run.isRight(reopened), "\(label), reopened")
    try reopened.close()
    try? run.store.close()
  }

  /// A run whose first checkpoint found the device full after a part of its pages was durable. Now
  /// there is room again, and no other checkpoint runs.
  private func halfWritten(_ seed: UInt64, _ syncs: [Int]) throws -> Run {
    let first = try #require(syncs.first)
    let run = try Run(seed: seed) { $0.disk.failAll(after: first + 1, with: .noSpace) }
    #expect(code { try run.store.checkpoint() } == .noSpace)
    try #require(run.store.engine.checkpointer).schedule.settle()
    #expect(run.store.pages.heapPageCounts.dirty < run.store.pages.heapPageCounts.all)
    run.disk.failAll(after: nil, with: .noSpace)
    return run
  }

  /// Makes a last checkpoint and checks everything after it.
  private func end(_ run: Run, _ label: String) throws {
    try run.store.checkpoint()
    #expect(try run.isRight(run.store), "\(label)")
    #expect(try run.store.leakedPageCount(beside: []) == 0, "\(label)")
    let found = run.disk.afterKill()
    #expect(
      try verifyPageFile("store/pages", fileSystem: found).map(\.problem) == [], "\(label)")
    try run.store.close()
  }

  @Test("A page cannot be read while a checkpoint collects what the previous one did not write")
  func unreadable() throws {
    let (_, syncs) = try calls(1)
    var refused = 0
    for read in 1..<12 {
      let run = try halfWritten(1, syncs)
      run.store.evictCleanPages()
      run.disk.failRead(after: read)
      let failed = code { try run.store.checkpoint() }
      #expect(failed == nil || failed == .io, "read \(read)")
      if failed == .io { refused += 1 }
      run.disk.failRead(after: nil)
      try run.writeSome()
      try end(run, "read \(read)")
    }
    #expect(refused > 0)
  }

  @Test("No frame is reused while a checkpoint collects what the previous one did not write")
  func framesStay() throws {
    let (_, syncs) = try calls(1)
    let run = try halfWritten(1, syncs)
    run.store.evictCleanPages()
    let sections = run.store.pages.sections
    let released = Mutex<[Bool]>([])
    run.disk.observeReads { what in
      guard what.hasPrefix("read"), what.hasSuffix("store/pages") else { return }
      released.withLock { $0.append(sections.wait(for: sections.ticket(), atMost: 0)) }
    }
    try run.store.checkpoint()
    run.disk.observeReads(nil)
    let answers = released.withLock { $0 }
    #expect(!answers.isEmpty && !answers.contains(true), "\(answers)")
    try end(run, "after it")
  }

  @Test("Pages are evicted while a checkpoint collects what the previous one did not write")
  func movedOutMeanwhile() throws {
    let (_, syncs) = try calls(1)
    for round in 0..<10 {
      let run = try halfWritten(1, syncs)
      let store = run.store
      let isDone = Atomic<Bool>(false)
      onThreads(3) { thread in
        do {
          switch thread {
          case 0:
            defer { isDone.store(true, ordering: .relaxed) }
            try store.checkpoint()
          case 1: while !isDone.load(ordering: .relaxed) { store.evictCleanPages() }
          default:
            // The next pages reuse the frames.
            for number in 0..<50 where !isDone.load(ordering: .relaxed) {
              try store.write { try $0.put([1], for: Key("\(number)"), in: .bytes("others")) }
            }
          }
        } catch { Issue.record("\(error)") }
      }
      try end(run, "round \(round)")
    }
  }
}
