// Earlier states that are rebuilt from the log, and what they cost.

import TestSupport
import Testing
import TreeRingLog

@testable import TreeRing

@Suite("Rebuilt states", .leavesSoundStores) struct RebuiltStatesTests {
  private static func options() -> StoreOptions {
    var options = StoreOptions(durability: .none, memoryBudget: 1 << 20, logger: quietLogger)
    options.pageCellCapacity = 4
    return options
  }

  @Test("Looking back keeps within its share of memory, however often it is done")
  func bounded() throws {
    let files = MemoryFileSystem()
    var store = try Store(path: "store", fileSystem: files, options: Self.options())
    var random = SeededGenerator(seed: 7)
    var states: [[Int: UInt8]] = [[:]]
    for number in 1...1500 {
      var rows = states[number - 1]
      try store.write { tx in
        for _ in 0..<5 {
          let row = Int.random(in: 0..<300, using: &random)
          let value = UInt8.random(in: 0...255, using: &random)
          rows[row] = value
          try tx.put([value], for: Key("row \(row)"), in: blobs)
        }
        tx.keepsEmptyCommit = true
      }
      states.append(rows)
    }
    try store.close()
    store = try Store(path: "store", fileSystem: files, options: Self.options())
    let limit = MemoryBudget(byteCount: 1 << 20).rebuiltPages
    var rebuilt = 0
    /// The pages of the state rebuilt last, which is kept however many it has.
    var kept = 0
    for look in 0..<200 {
      // Here and there, and step by step.
      let commit = look < 100 ? Int.random(in: 1...1500, using: &random) : 500 + look
      let snapshot = try store.snapshot(at: .commit(CommitNumber(commit)))
      for row in 0..<10 {
        let value = try snapshot.get(Key("row \(row * 30)"), in: blobs)?.first
        #expect(value == states[commit][row * 30], "commit \(commit)")
      }
      store.reclaimer.settle()
      let own = try snapshot.version.ownPageCount
      if own > 0 { (rebuilt, kept) = (rebuilt + 1, own) }
      #expect(store.pages.privatePageCount <= limit + kept, "look \(look)")
    }
    #expect(rebuilt > 100)
    try store.close()
  }

  @Test("A snapshot that expires while its state is rebuilt keeps nothing of it")
  func expiresMeanwhile() throws {
    let hook = CallHook()
    var options = Self.options()
    options.pinLimit = PinLimit(commits: 5)
    let files = HookedFileSystem(MemoryFileSystem()) { hook.call($0) }
    let store = try Store(path: "store", fileSystem: files, options: options)
    for number in 0..<10 as Range<UInt8> { try store.put([number], for: Key("row \(number)")) }
    try store.log.seal()
    for number in 0..<100 as Range<UInt8> { try store.put([number], for: "other") }
    // The segment is opened to be replayed.
    hook.set { path in
      guard path.hasPrefix("store/log/") else { return false }
      _ = try? store.put([1], for: "newest")
      store.maintenance.settle()
      return true
    }
    let snapshot = try store.snapshot(at: .commit(9))
    #expect(store.pins.isEmpty)
    #expect(code { try snapshot.count(in: "blobs") } == .snapshotExpired)
    store.timeTravel.clear()
    store.reclaimer.settle()
    #expect(store.pages.privatePageCount == 0)
    withExtendedLifetime(snapshot) {}
    try store.close()
  }

  @Test("How full pages are: of sorted rows nearly whole, of few rows hardly at all")
  func pageFill() throws {
    let store = try Store.inMemory(options: StoreOptions(logger: quietLogger))
    #expect(try store.statistics().pageFill < 0.2)
    try store.write { tx in
      for row in 0..<20_000 {
        try tx.put([UInt8](repeating: 1, count: 50), for: Key("row \(100_000 + row)"), in: blobs)
      }
    }
    let fill = try store.statistics().pageFill
    #expect(fill > 0.8 && fill <= 1, "\(fill)")
    try store.close()
  }
}
