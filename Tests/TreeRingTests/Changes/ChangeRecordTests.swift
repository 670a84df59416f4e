// Change records: per commit and merged, forward and backward, from memory or from a comparison of
// trees. Rules 7 and 8 of the contract, one by one.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Change records", .leavesSoundStores)
struct ChangeRecordTests {
  private let store: Store

  init() throws {
    store = try Store.tiny(indexes: [byGroup()])
    // Other rows, so that trees have more than one page.
    try store.write { tx in
      for number in 0..<30 {
        try tx.put(Note(group: "z", number: number), for: Key("z\(number)"), in: notes)
      }
    }
  }

  /// Every differing row as "key old places → new places parts". Records and a comparison must give
  /// the same.
  private func changes(from: CommitNumber, to: CommitNumber) throws -> [String] {
    let old = try store.snapshot(at: .commit(from))
    let new = try store.snapshot(at: .commit(to))
    let recorded = try store.affectedRows(ofIndex: "byGroup", from: old, to: new)
    let compared = try store.affectedRows(
      ofIndex: "byGroup", from: old, to: new, usesRecords: false)
    #expect(recorded.from == from)
    #expect(recorded.to == to)
    #expect(recorded.significant == compared.significant)
    return recorded.significant.map { row, change in
      let parts = recorded.parts(of: change).map { "\($0.names)" } ?? ""
      func places(_ places: [RowPlace]) -> String { places.map(\.group.description).joined() }
      let key = String(decoding: row.key, as: UTF8.self)
      return "\(key) \(places(change.oldPlaces))→\(places(change.newPlaces)) \(parts)"
    }.sorted()
  }

  /// The changes of a write to the index, and those of undoing it.
  private func changes(_ body: (Transaction) throws -> Void) throws -> [[String]] {
    let from = store.newestCommit
    let to = try store.write(body).commit
    return [try changes(from: from, to: to), try changes(from: to, to: from)]
  }

  private func put(
    _ tx: Transaction, _ key: Key, _ group: String?, _ number: Int = 1, _ text: String = "",
    metadata: [UInt8]? = nil
  ) throws {
    try tx.put(
      Note(group: group, number: number, text: text), metadata: metadata, for: key, in: notes)
  }

  @Test("Merged records of very many commits equal the difference of the two end states")
  func manyCommits() throws {
    let from = store.newestCommit
    for number in 0..<300 {
      try store.write { tx in
        try put(tx, Key("z\(number % 30)"), "g\(number % 3)", number)
        if number % 7 == 0 { try tx.delete(Key("z\(number % 11)"), in: "notes") }
      }
    }
    for to in [from + 63, from + 64, from + 65, from + 300] {
      #expect(try changes(from: from, to: to).isEmpty == false)
      #expect(try changes(from: to, to: from).isEmpty == false)
    }
  }

  @Test("A row that is inserted into the index, deleted from it, or never in it")
  func cameAndWent() throws {
    #expect(try changes { try put($0, "a", "g") } == [["a →g "], ["a g→ "]])
    #expect(try changes { try $0.delete("a", in: "notes") } == [["a g→ "], ["a →g "]])
    #expect(try changes { try put($0, "b", nil) } == [[], []])
    #expect(try changes { try put($0, "b", "g") } == [["b →g "], ["b g→ "]])
    #expect(try changes { try put($0, "b", nil, 2) } == [["b g→ "], ["b →g "]])
    #expect(try changes { try $0.put([1], for: "x", in: blobs) } == [[], []])
  }

  @Test("Object and metadata are set if and only if their bytes differ")
  func parts() throws {
    try store.write { try put($0, "a", "g", metadata: [1]) }
    #expect(
      try changes { try put($0, "a", "g", metadata: [2]) }
        == [["a g→g [metadata]"], ["a g→g [metadata]"]])
    #expect(
      try changes { try put($0, "a", "g", 1, "t", metadata: [2]) }
        == [["a g→g [object]"], ["a g→g [object]"]])
    #expect(
      try changes { try put($0, "a", "g", 1, "u") }
        == [["a g→g [object, metadata]"], ["a g→g [object, metadata]"]])
    #expect(try changes { try put($0, "a", "g", 1, "u") } == [[], []])
    #expect(
      try changes { try $0.put(metadata: [], for: "a", in: "notes") }
        == [["a g→g [metadata]"], ["a g→g [metadata]"]])
    let large = String(repeating: "l", count: 4000)
    try store.write { try put($0, "a", "g", 1, large) }
    #expect(try changes { try put($0, "a", "g", 1, large) } == [[], []])
    #expect(
      try changes { try put($0, "a", "g", 1, large + "m") } == [
        ["a g→g [object]"], ["a g→g [object]"],
      ])
  }

  @Test("A move has exact parts too, in its group and between groups")
  func moves() throws {
    let byMetadata = GroupIndex("byGroup", on: notes, version: 2) {
      (row: IndexedRow<Note>) in
      Place(in: row.row.group ?? "", by: .ascending(Int(row.metadata?.first ?? 0)))
    }
    try store.write { try put($0, "a", "g", metadata: [5]) }
    #expect(
      try changes { try put($0, "a", "h", metadata: [5]) }
        == [["a g→h [object]"], ["a h→g [object]"]])
    try store.register(byMetadata)
    #expect(
      try changes { try $0.put(metadata: [9], for: "a", in: "notes") }
        == [["a h→h [metadata]"], ["a h→h [metadata]"]])
    let old = try store.snapshot()
    try store.write { try $0.put(metadata: [7], for: "a", in: "notes") }
    let rows = try store.affectedRows(ofIndex: "byGroup", from: old, to: store.snapshot()).rows
    let change = try #require(rows.values.first)
    #expect(change.oldPlaces != change.newPlaces)
  }

  @Test("Touched is set if the row was touched between the two commits, in both directions")
  func touched() throws {
    try store.write { try put($0, "a", "g") }
    let start = store.newestCommit
    #expect(
      try changes { try $0.touch("a", in: "notes") }
        == [["a g→g [touched]"], ["a g→g [touched]"]])
    #expect(
      try changes { try put($0, "a", "g", 1, "new") } == [["a g→g [object]"], ["a g→g [object]"]])
    let end = store.newestCommit
    #expect(try changes(from: start, to: end) == ["a g→g [object, touched]"])
    #expect(try changes(from: end, to: start) == ["a g→g [object, touched]"])
    #expect(
      try changes {
        try $0.touch("a", in: "notes")
        try put($0, "a", "h", 1, "new")
      } == [["a g→h [object, touched]"], ["a h→g [object, touched]"]])
  }

  @Test("A delete clears the touch")
  func deleteClearsTouch() throws {
    try store.write { try put($0, "a", "g") }
    #expect(
      try changes {
        try $0.touch("a", in: "notes")
        try $0.delete("a", in: "notes")
        try put($0, "a", "g")
      } == [[], []])
    let start = store.newestCommit
    try store.write { try $0.touch("a", in: "notes") }
    try store.write { try $0.delete("a", in: "notes") }
    try store.write { try put($0, "a", "g", 1, "t") }
    #expect(try changes(from: start, to: store.newestCommit) == ["a g→g [object]"])
    #expect(try changes(from: store.newestCommit, to: start) == ["a g→g [object]"])
  }

  @Test("Merged: insert and delete cancel out; so do delete and equal insert")
  func mergedToNothing() throws {
    let start = store.newestCommit
    try store.write { try put($0, "a", "g") }
    try store.write { try put($0, "a", "h") }
    try store.write { try $0.delete("a", in: "notes") }
    #expect(try changes(from: start, to: store.newestCommit) == [])
    #expect(try changes(from: store.newestCommit, to: start) == [])
    try store.write { try put($0, "b", "g", metadata: [1]) }
    let middle = store.newestCommit
    try store.write { try $0.delete("b", in: "notes") }
    try store.write { try put($0, "b", "g", metadata: [1]) }
    #expect(try changes(from: middle, to: store.newestCommit) == [])
    try store.write { try $0.delete("b", in: "notes") }
    try store.write { try put($0, "b", "g", metadata: [2]) }
    #expect(try changes(from: middle, to: store.newestCommit) == ["b g→g [metadata]"])
    #expect(try changes(from: start, to: middle) == ["b →g "])
  }

  @Test("Merged: first old place, last new place, parts from the two ends")
  func mergedEnds() throws {
    try store.write { try put($0, "a", "g", 1, "x") }
    let start = store.newestCommit
    try store.write { try put($0, "a", "h", 2, "y") }
    try store.write { try put($0, "a", nil, 3, "z") }
    try store.write { try put($0, "a", nil, 4, "zz") }
    let outside = store.newestCommit
    try store.write { try put($0, "a", "k", 4, "zz") }
    #expect(try changes(from: start, to: store.newestCommit) == ["a g→k [object]"])
    #expect(try changes(from: outside, to: store.newestCommit) == ["a →k "])
    #expect(try changes(from: start, to: outside) == ["a g→ "])
    try store.write { try put($0, "a", "g", 1, "x") }
    #expect(try changes(from: start, to: store.newestCommit) == [])
    #expect(try changes(from: start, to: start) == [])
  }

  @Test("For an index defined or replaced in between, the two states are compared")
  func definedOnTheWay() throws {
    let start = store.newestCommit
    let other = GroupIndex("byGroup", on: notes, version: 2) { (note: Note) in
      Place(in: "all", by: .ascending(note.number))
    }
    try store.register(other)
    try store.write { try put($0, "a", "g", 1) }
    #expect(try changes(from: start, to: store.newestCommit) == ["a →all "])
    #expect(try changes(from: start + 1, to: store.newestCommit) == ["a →all "])
  }

  @Test(
    "Random histories: records equal the differences of the trees, before and after reopening",
    arguments: seeds(1...4))
  func random(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let files = MemoryFiles()
    let indexes = RandomHistory.codeIndexes
    let store = try files.open(capacity: 4, indexes: indexes)
    try store.define("byGroup", RandomHistory.fieldIndex)
    var history = RandomHistory(seed: seed)
    while history.model.states.count <= Int(store.newestCommit) { history.noteEmptyCommit() }
    let first = store.newestCommit
    for _ in 0..<50 { try history.commit(to: store) }
    var told: [(String, UInt64, UInt64, [RowReference: AffectedRow])] = []
    for _ in 0..<40 {
      let from = UInt64.random(in: first...store.newestCommit, using: &random)
      let to = UInt64.random(in: first...store.newestCommit, using: &random)
      for name in ["byGroup", "digits", "byCreation"] {
        let old = try store.snapshot(at: .commit(from))
        let new = try store.snapshot(at: .commit(to))
        let one = try store.affectedRows(ofIndex: name, from: old, to: new).significant
        let other = try store.affectedRows(
          ofIndex: name, from: old, to: new, usesRecords: false
        ).significant
        #expect(one == other, "seed \(seed), \(name) \(from)→\(to)")
        told.append((name, from, to, one))
      }
    }
    try store.close()
    let reopened = try files.open(capacity: 4, indexes: indexes)
    for (name, from, to, rows) in told {
      let old = try reopened.snapshot(at: .commit(from))
      let new = try reopened.snapshot(at: .commit(to))
      let again = try reopened.affectedRows(ofIndex: name, from: old, to: new).significant
      #expect(again == rows, "seed \(seed), \(name) \(from)→\(to), reopened")
    }
  }
}

extension AffectedRows {
  /// The changes without rows whose places and contents are as before.
  var significant: [RowReference: AffectedRow] {
    rows.filter { _, row in
      row.oldPlaces != row.newPlaces
        || !row.oldPlaces.isEmpty && !(parts(of: row) ?? []).isEmpty
    }
  }
}

extension Parts {
  fileprivate var names: String {
    let all: [(Parts, String)] = [
      (.object, "object"), (.metadata, "metadata"), (.touched, "touched"),
    ]
    return "[" + all.filter { contains($0.0) }.map(\.1).joined(separator: ", ") + "]"
  }
}
