// Earlier states rebuilt from the log, and their costs.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Rebuilt states", .leavesSoundStores) struct RebuiltStatesTests {
  private static func options() -> StoreOptions {
    var options = StoreOptions(durability: .unsynced, memoryBudget: 1 << 20, logger: quietLogger)
    options.pageCellCapacity = 4
    return options
  }

  @Test("Reading the past keeps within its share of memory, however often it is done")
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
    /// The pages of the last rebuilt state, which is kept whatever their number.
    var kept = 0
    for look in 0..<200 {
      // First random commits, then consecutive ones.
      let commit = look < 100 ? Int.random(in: 1...1500, using: &random) : 500 + look
      let snapshot = try store.snapshot(at: .commit(CommitNumber(commit)))
      for row in 0..<10 {
        let value = try snapshot.get(Key("row \(row * 30)"), in: blobs)?.first
        #expect(value == states[commit][row * 30], "commit \(commit)")
      }
      store.reclaimer.settle()
      let own = try snapshot.version.lease.ownPageCount
      if own > 0 { (rebuilt, kept) = (rebuilt + 1, own) }
      #expect(store.pages.privatePageCount <= limit + kept, "look \(look)")
    }
    #expect(rebuilt > 100)
    try store.close()
  }

  /// The expected contents of a group of an index over notes, computed from the rows.
  private static func expected(_ group: String, in snapshot: Snapshot) throws -> [Key] {
    try snapshot.rows(in: notes).filter { $0.row.group == group }
      .sorted { ($0.row.number, $0.key) < ($1.row.number, $1.key) }.map(\.key)
  }

  @Test("A past state evaluates an index once somebody asks for it, for the rows that differ alone")
  func askedFor() throws {
    let evaluated = Counter()
    let counting = GroupIndex("counting", on: notes, version: 1) { (note: Note) in
      _ = evaluated.next()
      return Place(in: note.group ?? "", by: .ascending(note.number))
    }
    let store = try Store(
      path: "store", fileSystem: MemoryFileSystem(),
      options: StoreOptions(durability: .unsynced, indexes: [counting], logger: quietLogger))
    try store.write { tx in
      for row in 0..<600 {
        try tx.put(Note(group: "g1", number: row), for: Key("\(row)"), in: notes)
      }
    }
    try store.checkpoint()
    let root = store.newestCommit
    for row in 0..<300 {
      try store.write { tx in
        try tx.put(Note(group: "g1", number: 1_000 + row), for: Key("\(row)"), in: notes)
      }
    }
    func evaluations(_ body: () throws -> Void) rethrows -> Int {
      let before = evaluated.count
      try body()
      return evaluated.count - before
    }
    // Rows alone cost no evaluation. The state that the replay began with donates the index.
    let past = try store.snapshot(at: .commit(root + 40))
    #expect(try past.version.depth > 0)
    #expect(try evaluations { _ = try past.get("39", in: notes) } == 0)
    #expect(try evaluations { _ = try past.index("counting") } == 40)
    #expect(
      try past.index("counting").keys("g1") == Self.expected("g1", in: past).map(\.description))
    // A later state on top of this one maintains it from then on.
    var next: Snapshot?
    #expect(try evaluations { next = try store.snapshot(at: .commit(root + 42)) } == 2)
    #expect(try evaluations { _ = try next?.index("counting") } == 0)
    let later = try #require(next)
    #expect(
      try later.index("counting").keys("g1")
        == Self.expected("g1", in: later).map(\.description))
    next = nil
    try store.close()
  }

  @Test(
    "An index registered later is built once for a commit, and derived for its neighbours"
  )
  func laterIndex() throws {
    let store = try Store(
      path: "store", fileSystem: MemoryFileSystem(),
      options: StoreOptions(durability: .unsynced, logger: quietLogger))
    var random = SeededGenerator(seed: 41)
    let rowCount = 4_000
    func note() -> Note {
      Note(
        group: ["a", "b", nil].randomElement(using: &random) ?? nil,
        number: Int.random(in: 0..<50, using: &random))
    }
    try store.write { tx in
      for row in 0..<rowCount { try tx.put(note(), for: Key("row \(row)"), in: notes) }
    }
    for _ in 0..<300 {
      try store.write { tx in
        for _ in 0..<20 {
          let key = Key("row \(Int.random(in: 0..<rowCount, using: &random))")
          if Int.random(in: 0..<5, using: &random) == 0 {
            try tx.delete(key, in: notes)
          } else {
            try tx.put(note(), for: key, in: notes)
          }
        }
      }
      if store.newestCommit == 150 { try store.checkpoint() }
    }
    let evaluated = Counter()
    try store.register(
      GroupIndex("later", on: notes, version: 1) { note in
        _ = evaluated.next()
        if note.number == 7 { throw CancellationError() }
        return note.group.map { [Place(in: $0, by: .ascending(note.number))] } ?? []
      })
    var before = evaluated.count
    /// The number of rows evaluated to show the index as of a commit.
    func look(_ commit: CommitNumber) throws -> Int {
      before = evaluated.count
      let snapshot = try store.snapshot(at: .commit(commit))
      let index = try snapshot.index("later")
      for group in ["a", "b"] {
        let found = try index.rows(in: GroupName(group)).map(\.key)
        let wanted = try Self.expected(group, in: snapshot)
        let numbers = try wanted.filter { try snapshot.get($0, in: notes)?.number != 7 }
        #expect(found == numbers, "commit \(commit)")
      }
      return evaluated.count - before
    }
    // Near the newest commit the index is built from the differences. The same commit again costs
    // nothing.
    #expect(try look(295) < 1_000)
    #expect(try look(295) == 0)
    // The index is built once from all rows, since most differ, and for its neighbours from the
    // differences.
    #expect(try look(30) >= rowCount / 2)
    #expect(try look(30) == 0)
    #expect(try look(32) < 1_000)
    #expect(try look(27) < 1_000)
    #expect(try look(32) == 0)
    // A root of the page file.
    #expect(try look(150) > 0)
    #expect(try look(150) == 0)
    #expect(try store.leakedPageCount(beside: []) == 0)
    try store.close()
  }

  @Test("A snapshot that expires while its state is rebuilt keeps no page of it")
  func expiresMeanwhile() throws {
    let hook = CallHook()
    var options = Self.options()
    options.pinLimit = PinLimit(commits: 5)
    let files = HookedFileSystem(MemoryFileSystem()) { hook.call($0) }
    let store = try Store(path: "store", fileSystem: files, options: options)
    for number in 0..<10 as Range<UInt8> { try store.put([number], for: Key("row \(number)")) }
    try store.log.seal()
    for number in 0..<100 as Range<UInt8> { try store.put([number], for: "other") }
    // The replay opens the segment.
    hook.set { path in
      guard path.hasPrefix("store/log/") else { return false }
      _ = try? store.put([1], for: "newest")
      store.maintenance.settle()
      return true
    }
    let snapshot = try store.snapshot(at: .commit(9))
    #expect(store.pins.isEmpty)
    #expect(code { try snapshot.count(in: "blobs") } == .snapshotExpired)
    store.timeTravel.evictAll()
    store.reclaimer.settle()
    #expect(store.pages.privatePageCount == 0)
    withExtendedLifetime(snapshot) {}
    try store.close()
  }

  /// Groups of four neighbouring commits. Between two groups every row changes, so that no index is
  /// derived across groups.
  private static func storeOfGroups() throws -> Store {
    var options = Self.options()
    options.memoryBudget = 1 << 30
    let store = try Store.inMemory(options: options)
    for group in 0..<12 {
      for commit in 0..<4 {
        try store.write { tx in
          for row in 0..<600 where commit == 0 || row % 200 == commit {
            let note = Note(group: "g\(row % 3)", number: group * 4 + commit)
            try tx.put(note, for: Key("row \(row)"), in: notes)
          }
        }
      }
    }
    // The states of all groups are out of memory from here on.
    for row in 0..<80 {
      try store.write { try $0.put(Note(group: nil, number: row), for: "other", in: notes) }
    }
    for name in ["first", "second"] { try store.register(byGroup(name)) }
    return store
  }

  /// Checks that nothing is kept once no snapshot is left.
  private static func expectNothingKept(_ store: Store, _ note: String) throws {
    let leaked = try store.leakedPageCount(beside: [])
    #expect(leaked == 0, "\(note)")
    #expect(store.pages.privatePageCount == 0, "\(note)")
    let kept = Set(store.queue.readable.map(\.roots.commit))
    let pinned = store.engine.pins.pinnedCommits.map(\.commit).filter { !kept.contains($0) }
    #expect(pinned == [], "\(note)")
  }

  @Test("A state built on another whose index is derived from its own is freed")
  func derivedBothWays() throws {
    let store = try Self.storeOfGroups()
    do {
      let earlier = try store.snapshot(at: .commit(9))
      let later = try store.snapshot(at: .commit(10))
      #expect(try later.version.depth > earlier.version.depth)
      _ = try later.index("first")
      _ = try earlier.index("first")
      _ = try earlier.index("second")
      _ = try later.index("second")
    }
    try Self.expectNothingKept(store, "two states")
    try store.close()
  }

  @Test(
    "States that share pages of indexes are freed, in any order of reading",
    arguments: seeds(1...6))
  func shared(seed: UInt64) throws {
    let store = try Self.storeOfGroups()
    var random = SeededGenerator(seed: seed)
    var held: [Snapshot] = []
    for look in 0..<100 {
      let group = Int.random(in: 0..<3, using: &random) * 4
      let commit = CommitNumber(group + 1 + Int.random(in: 0..<4, using: &random))
      let snapshot = try store.snapshot(at: .commit(commit))
      if Int.random(in: 0..<4, using: &random) == 0 {
        let index = try snapshot.index(Bool.random(using: &random) ? "first" : "second")
        for name in ["g0", "g1", "g2"] {
          let wanted = try Self.expected(name, in: snapshot)
          #expect(try index.rows(in: GroupName(name)).map(\.key) == wanted, "seed \(seed), \(look)")
        }
      }
      if Bool.random(using: &random) { held.append(snapshot) }
      if held.count > 5 { held.remove(at: Int.random(in: 0..<held.count, using: &random)) }
      if Int.random(in: 0..<10, using: &random) == 0 { store.timeTravel.evictAll() }
    }
    for snapshot in held {
      let wanted = try Self.expected("g1", in: snapshot)
      #expect(try snapshot.index("first").rows(in: "g1").map(\.key) == wanted, "seed \(seed)")
    }
    #expect(try store.leakedPageCount(beside: held) == 0, "seed \(seed), with snapshots")
    held = []
    try Self.expectNothingKept(store, "seed \(seed)")
    try store.close()
  }

  @Test("The page fill is nearly 1 for sorted rows, and near 0 for few rows")
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
