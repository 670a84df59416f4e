// Indexes that compare rows: the closure decides the order, whatever the origin of the index.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Indexes that compare rows", .leavesSoundStores) struct ComparedIndexTests {
  /// An order with many ties, and no sort key.
  @Sendable private static func precedes(_ a: Note, _ b: Note) -> Bool {
    a.number % 7 == b.number % 7 ? a.text.count < b.text.count : a.number % 7 < b.number % 7
  }

  private static func index(_ version: UInt32 = 1) -> GroupIndex {
    GroupIndex(
      "ranking", on: notes, version: version, groupedBy: { (note: Note) in groups(of: note) },
      sortedBy: { (a: Note, b: Note) in version == 1 ? precedes(a, b) : precedes(b, a) })
  }

  /// The groups of a note; notes with a long text are in a second group too.
  private static func groups(of note: Note) -> [String] {
    guard let group = note.group else { return [] }
    return note.text.count > 3 ? [group, "long"] : [group]
  }

  private static let short = GroupIndex("short", filtering: "ranking", on: notes, version: 1) {
    $0.row.text.count < 5
  }

  private static func note(_ random: inout SeededGenerator) -> Note {
    Note(
      group: Int.random(in: 0..<5, using: &random) == 0
        ? nil : "g\(Int.random(in: 0..<2, using: &random))",
      number: Int.random(in: 0..<30, using: &random),
      text: String(repeating: "x", count: Int.random(in: 0..<7, using: &random)))
  }

  /// Checks the expected contents of a snapshot.
  private static func check(_ snapshot: Snapshot, isReversed: Bool = false, _ label: String) throws
  {
    let label = Comment(rawValue: "\(label), commit \(snapshot.commit)")
    var lists: [GroupName: [(key: Key, note: Note)]] = [:]
    for (key, note) in try snapshot.rows(in: notes) {
      for group in groups(of: note) { lists[GroupName(group), default: []].append((key, note)) }
    }
    func sorted(_ rows: [(key: Key, note: Note)]) -> [Key] {
      rows.sorted { a, b in
        let (one, other) = isReversed ? (b.note, a.note) : (a.note, b.note)
        if precedes(one, other) { return true }
        return precedes(other, one) ? false : a.key < b.key
      }.map(\.key)
    }
    let index = try snapshot.index("ranking")
    #expect(try index.groups() == lists.keys.sorted(), label)
    for (group, rows) in lists {
      #expect(try index.rows(in: group).map(\.key) == sorted(rows), label)
    }
    guard snapshot.indexes.contains(where: { $0.name == "short" }) else { return }
    let short = try snapshot.index("short")
    for (group, rows) in lists {
      #expect(
        try short.rows(in: group).map(\.key) == sorted(rows.filter { $0.note.text.count < 5 }),
        label)
    }
  }

  private static func commit(_ store: Store, _ random: inout SeededGenerator) throws {
    var generator = random
    try store.write { tx in
      for _ in 0..<Int.random(in: 1...5, using: &generator) {
        let key = Key("k\(Int.random(in: 0..<25, using: &generator))")
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: try tx.delete(key, in: notes.name)
        case 1 where try tx.contains(key, in: notes.name): try tx.touch(key, in: notes.name)
        default: try tx.put(note(&generator), for: key, in: notes)
        }
      }
    }
    random = generator
  }

  private static func open(
    _ files: any FileSystem, _ mode: StoreMode = .create, indexes: [GroupIndex] = [index(), short]
  ) throws -> Store {
    var options = StoreOptions(
      mode: mode, segmentSize: 4 << 10, indexes: indexes, logger: quietLogger)
    options.pageCellCapacity = 5
    return try Store(path: "store", fileSystem: files, options: options)
  }

  @Test(
    "Rows are in the closure's order at every commit, through reopening and compaction",
    arguments: seeds(1...6))
  func order(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let files = MemoryFileSystem()
    var store = try Self.open(files)
    for round in 1...4 {
      for _ in 0..<25 {
        try Self.commit(store, &random)
        try Self.check(try store.snapshot(), "seed \(seed)")
      }
      #expect(try store.checkInvariants() == [], "seed \(seed)")
      if round == 3 { try store.compact(to: .before(store.newestCommit - 30)) }
      for commit in max(1, store.horizon)...store.newestCommit {
        try Self.check(try store.snapshot(at: .commit(commit)), "seed \(seed), round \(round)")
      }
      if round == 2 { try store.checkpoint() }
      try store.close()
      if round == 3 { try files.unlink("store/pages") }
      // Sometimes a writer without the closure commits.
      if round % 2 == 0 {
        let other = try Self.open(files, indexes: [])
        try other.put(Self.note(&random), for: "other")
        #expect(code { try other.snapshot().index("ranking") } == .indexDefinedInCode)
        try other.close()
      }
      store = try Self.open(files)
      try Self.check(try store.snapshot(), "seed \(seed), reopened")
      #expect(try store.checkInvariants() == [], "seed \(seed)")
    }
  }

  @Test("A follower shows the same order", arguments: seeds(1...3))
  func followers(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let files = MemoryFileSystem()
    let store = try Self.open(files)
    for _ in 0..<10 { try Self.commit(store, &random) }
    let reader = try Self.open(files, .readOnly)
    for turn in 0..<30 {
      try Self.commit(store, &random)
      if turn % 8 == 0 { try await store.checkpoint() }
      try await reader.reached(store.newestCommit)
      try Self.check(try reader.snapshot(), "seed \(seed), turn \(turn)")
    }
  }

  @Test("Another version has its own order, at every commit")
  func replaced() throws {
    var random = SeededGenerator(seed: 9)
    let store = try Self.open(MemoryFileSystem())
    for _ in 0..<20 { try Self.commit(store, &random) }
    try store.register(Self.index(2))
    for _ in 0..<5 { try Self.commit(store, &random) }
    for commit in 1...store.newestCommit {
      try Self.check(try store.snapshot(at: .commit(commit)), isReversed: true, "version 2")
    }
    #expect(try store.checkInvariants() == [])
  }

  @Test(
    "Another version that reorders few rows changes few places, whatever the number of rows"
  )
  func replacedInPart() throws {
    func index(_ version: UInt32) -> GroupIndex {
      GroupIndex(
        "ranking", on: notes, version: version, groupedBy: { (_: Note) in "g" },
        sortedBy: { (a: Note, b: Note) in
          func rank(_ note: Note) -> Int {
            version == 2 && note.number % 3_000 == 7 ? -note.number : note.number
          }
          return rank(a) < rank(b)
        })
    }
    let store = try Store.inMemory(options: StoreOptions(indexes: [index(1)]))
    try store.write { tx in
      for number in 0..<11_000 {
        try tx.put(Note(number: number), for: Key("k\(number)"), in: notes)
      }
    }
    let (from, old) = (
      store.newestCommit, try store.snapshot().definition(ofIndex: "ranking")
    )
    try store.register(index(2))
    let touched = try #require(
      try store.affectedRows(
        from: from, shownBy: old, to: try store.snapshot(), limit: 500))
    let moved = Set(touched.rows.keys.map { Key(bytes: $0.key) })
    #expect(moved == ["k7", "k3007", "k6007", "k9007"])
    #expect(
      try store.snapshot().index("ranking").keys("g", 0..<4) == ["k9007", "k6007", "k3007", "k7"])
    #expect(try store.checkInvariants() == [])
  }

  @Test("Rows that always go into the same gap stay in order, with short labels")
  func crowded() throws {
    let index = GroupIndex(
      "ranking", on: notes, version: 1, groupedBy: { (_: Note) in "g" },
      sortedBy: { (a: Note, b: Note) in abs(a.number) > abs(b.number) })
    let store = try Store.tiny(indexes: [index])
    try store.put(Note(number: 0), for: "end")
    // Each goes before the last one and after all others.
    for number in 0..<1_200 { try store.put(Note(number: 5_000 - number), for: Key("k\(number)")) }
    let reader = try store.snapshot().index("ranking")
    #expect(
      try reader.rows(in: "g").map(\.key) == (0..<1_200).map { Key("k\($0)") } + ["end"])
    for position in [0, 600, 1_199, 1_200] {
      let entry = try reader.entry(at: position, in: "g")
      #expect(entry.order.count - entry.row.key.count - 5 <= 64)
    }
    #expect(try store.checkInvariants() == [])
  }

  @Test(
    "A row written within its order keeps its place; a row that cannot be decoded leaves the index"
  )
  func placed() throws {
    let store = try Store.tiny(indexes: [Self.index()])
    for number in 0..<6 { try store.put(Note(group: "g", number: number), for: Key("k\(number)")) }
    func orders() throws -> [[UInt8]] {
      let index = try store.snapshot().index("ranking")
      return try (0..<index.count(in: "g")).map { try index.entry(at: $0, in: "g").order }
    }
    let before = try orders()
    try store.put(Note(group: "g", number: 3, text: "x"), for: "k3")
    #expect(try orders() == before)
    try store.write { try $0.touch("k2", in: notes.name) }
    #expect(try orders() == before)
    try store.write { tx in
      try tx.put(Array("nonsense".utf8), for: "k2", in: Bucket<[UInt8]>.bytes(notes.name))
    }
    let index = try store.snapshot().index("ranking")
    #expect(index.undecodableCount == 1)
    #expect(try index.keys("g") == ["k0", "k1", "k3", "k4", "k5"])
    try store.put(Note(group: "g", number: 8), for: "k2")
    #expect(
      try store.snapshot().index("ranking").keys("g") == ["k0", "k1", "k2", "k3", "k4", "k5"])
    #expect(try store.checkInvariants() == [])
  }
}
