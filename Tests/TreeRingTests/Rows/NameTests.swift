// Names that look alike but differ in their bytes are two names everywhere: of buckets, keys,
// indexes, groups and tags, in memory and on disk. Swift's strings are equal if they look alike.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Names", .leavesSoundStores) struct NameTests {
  /// One word, with its last letter composed and decomposed.
  private static let twins = ["caf\u{E9}", "cafe\u{301}"]

  /// A text in ASCII, so that the twins differ.
  private func spelled(_ text: some CustomStringConvertible) -> String {
    text.description.unicodeScalars.map { $0.escaped(asASCII: true) }.joined()
  }

  private static func closures() -> [GroupIndex] {
    twins.map { name in
      GroupIndex("code " + name, on: Bucket<Note>(name), version: 1) { note in
        note.group.map { Place(in: $0, by: .ascending(note.number)) }
      }
    }
  }

  private func open(_ files: MemoryFileSystem, _ mode: StoreMode = .create) throws -> Store {
    try Store(
      path: "store", fileSystem: files,
      options: StoreOptions(mode: mode, indexes: Self.closures(), logger: quietLogger))
  }

  /// Makes two of everything: in each twin bucket two rows named by the twins, in groups named by
  /// them.
  private func fill(_ store: Store) throws {
    for name in Self.twins {
      try store.define(
        "fields " + name,
        FieldIndex(bucket: name, group: "group", order: [.init("number"), .init("text " + name)]))
      try store.define(
        "chosen " + name,
        FieldFilter(of: "fields " + name, where: [.init("group", in: [name])]))
      try store.define("shelf " + name, ManualIndex(on: name))
    }
    // One transaction that alternates between the buckets.
    try store.write { tx in
      for (number, key) in Self.twins.enumerated() {
        for name in Self.twins {
          let row = Note(group: key, number: number, text: name)
          try tx.put(row, for: Key(key), in: Bucket(name))
        }
      }
    }
    for name in Self.twins {
      try store.write { tx in
        tx.tags = [name]
        for key in Self.twins {
          let group = try tx.group(GroupName(key), of: "shelf " + name)
          try group.append(RowID(bucket: name, key: Key(key)))
        }
      }
    }
  }

  /// The whole contents of a snapshot, in ASCII.
  private func contents(_ snapshot: Snapshot, of store: Store) throws -> [String] {
    var lines: [String] = []
    for (name, rows) in try snapshot.buckets() {
      lines.append("bucket \(spelled(name)): \(rows)")
      try snapshot.forEachRow(in: name) { row in
        let note = try Bucket<Note>(name).decode(row)
        lines.append("  \(spelled(row.key)): \(spelled(note.text)) \(spelled(note.group ?? ""))")
        return true
      }
    }
    for tag in try snapshot.tags() { lines.append("tag \(spelled(tag.name)): \(tag.commit)") }
    for info in store.indexes {
      lines.append("index \(spelled(info.name)) over \(info.buckets.map { spelled($0) })")
      let index = try snapshot.index(info.name)
      for (group, _) in try index.groupCounts() {
        try index.forEachRow(in: group) { _, row in
          lines.append("  \(spelled(group)): \(spelled(row.bucket))/\(spelled(row.key))")
          return true
        }
      }
    }
    return lines
  }

  @Test("Twin names stay distinct through reopening, compaction, replay and a follower")
  func stability() async throws {
    let files = MemoryFileSystem()
    var store = try open(files)
    try fill(store)
    let wanted = try contents(store.snapshot(), of: store)
    let heads = wanted.filter { !$0.hasPrefix("  ") }
    #expect(heads.count == 2 + 2 + 8)
    #expect(Set(wanted.filter { $0.hasPrefix("index") }).count == 8)
    // Two buckets of two rows. Two rows each in the index by fields, the one in code and the manual
    // one; one row in the filter.
    #expect(wanted.count == heads.count + 4 + 2 * (2 + 2 + 2 + 1))
    #expect(try store.checkInvariants() == [])
    let reader = try open(files, .readOnly)
    #expect(try contents(reader.snapshot(), of: reader) == wanted)
    try await store.close()
    store = try open(files, .readWrite)
    let count = store.newestCommit
    #expect(try contents(store.snapshot(), of: store) == wanted)
    try await store.close()
    try files.unlink("store/pages")
    store = try open(files, .readWrite)
    #expect(store.newestCommit == count)
    #expect(try contents(store.snapshot(), of: store) == wanted)
    try await reader.close()
    try await store.compact(to: .dropHistory)
    #expect(try contents(store.snapshot(), of: store) == wanted)
    try await store.close()
    try files.unlink("store/pages")
    store = try open(files, .readWrite)
    #expect(try contents(store.snapshot(), of: store) == wanted)
    for name in Self.twins { #expect(try await store.snapshot(at: .tag(name)).commit > 0) }
    #expect(try store.commit(at: .tag(Self.twins[0])) + 1 == store.commit(at: .tag(Self.twins[1])))
    #expect(try store.checkInvariants() == [])
    try await store.close()
  }

  @Test("A change under one name does not affect its twin", arguments: [0, 1])
  func separate(which: Int) throws {
    let (name, other) = (Self.twins[which], Self.twins[1 - which])
    let files = MemoryFileSystem()
    var store = try open(files)
    try fill(store)
    let before = try store.snapshot()
    let wanted = try contents(before, of: store)
    func rest(_ lines: [String]) -> [String] {
      var isOther = false
      return lines.filter { line in
        if line.hasPrefix("  ") { return isOther }
        let name = spelled(other)
        isOther =
          line.hasPrefix("bucket \(name)") || line.hasPrefix("tag \(name)")
          || line.hasPrefix("index") && line.contains(" \(name) over")
        return isOther
      }
    }
    #expect(
      code {
        try store.write { tx in
          let row = RowID(bucket: name, key: Key(name))
          try tx.group("x", of: "shelf " + other).append(row)
        }
      } == .invalidInput)
    #expect(try store.write { try $0.delete(Key(other), in: name) }.value)
    #expect(try store.snapshot().contains(Key(name), in: name))
    #expect(try store.snapshot().contains(Key(other), in: other))
    #expect(try store.history(of: Key(other), in: name).map(\.kind) == [.delete, .put])
    #expect(try store.history(of: Key(other), in: other).map(\.kind) == [.put])
    let differences = try store.snapshot().diff(from: before)
    #expect(differences.map(\.id) == [RowID(bucket: name, key: Key(other))])
    let affected = try store.affectedRows(
      ofIndex: "fields " + name, from: before, to: store.snapshot())
    #expect(affected.rows.count == 1)
    #expect(
      try store.affectedRows(ofIndex: "fields " + other, from: before, to: store.snapshot())
        .rows.isEmpty)
    try store.write { try $0.removeTag(name) }
    #expect(code { try store.commit(at: .tag(name)) } == .notFound)
    try store.write { try $0.deleteAll(in: name) }
    try store.removeIndex("fields " + name)
    try store.define("shelf " + name, ManualIndex(on: name, other))
    #expect(try rest(contents(store.snapshot(), of: store)) == rest(wanted))
    try store.close()
    store = try open(files, .readWrite)
    #expect(try rest(contents(store.snapshot(), of: store)) == rest(wanted))
    #expect(!store.indexes.contains { spelled($0.name) == spelled("fields " + name) })
    // Only the new definition of the index allows a row of the other bucket.
    try store.write { tx in
      let row = RowID(bucket: other, key: Key(name))
      try tx.group("x", of: "shelf " + name).append(row)
    }
    try store.revert(to: .commit(before.commit))
    let rows = try contents(store.snapshot(), of: store).prefix { !$0.hasPrefix("tag") }
    #expect(rows == wanted.prefix { !$0.hasPrefix("tag") })
    #expect(try store.checkInvariants() == [])
    try store.close()
  }

  @Test("A definition with a twin name is another definition, even after reopening")
  func redefinition() throws {
    let files = MemoryFileSystem()
    var store = try open(files)
    let (one, two) = (Self.twins[0], Self.twins[1])
    try store.put(Note(group: "g", number: 1), for: "a")
    let first = try store.define("i", FieldIndex(bucket: "notes", group: one, order: []))
    let second = try store.define("i", FieldIndex(bucket: "notes", group: two, order: []))
    #expect(second == first + 1)
    #expect(try store.define("i", FieldIndex(bucket: "notes", group: two, order: [])) == second)
    #expect(try store.define("m", ManualIndex(on: one)) == second + 1)
    #expect(try store.define("m", ManualIndex(on: two)) == second + 2)
    try store.close()
    store = try open(files, .readWrite)
    let fields = try #require(store.indexes.first { $0.name == "i" }?.fields)
    #expect(spelled(fields.group) == spelled(two))
    let manual = try #require(store.indexes.first { $0.name == "m" })
    #expect(manual.buckets.map { spelled($0) } == [spelled(two)])
    // Twin conditions exclude each other; twin values are two values.
    let both = try FieldIndex(
      bucket: "b", group: "g", order: [],
      where: [.init(one, in: [one, two]), .init(two, in: [two]), .init(one, in: [two])])
    #expect(both.conditions.map { spelled($0.field) } == [spelled(one), spelled(two)])
    let values = both.conditions.map { $0.values.map { spelled($0) } }
    #expect(values == [[spelled(two)], [spelled(two)]])
    try store.close()
  }

  @Test("Public values that hold names compare by bytes, and their hashes with them")
  func values() throws {
    let (one, two) = (Self.twins[0], Self.twins[1])
    #expect(one == two, "Swift's texts are equal; else this suite shows nothing")
    #expect(Set(Self.twins.map { StoreName($0) }).count == 2)
    let sorted = [StoreName(one), StoreName(two)].sorted()
    #expect(sorted.map { spelled($0) } == [two, one].map { spelled($0) })
    #expect(StoreName("caf\u{E9}") == StoreName(one))
    #expect(Set(Self.twins.map { RowID(bucket: $0, key: "k") }).count == 2)
    #expect(RowID(bucket: two, key: "z") < RowID(bucket: one, key: "a"))
    #expect(Set(Self.twins.map { ManualIndex(on: $0) }).count == 2)
    #expect(Set(Self.twins.map { FieldIndex.Condition("f", in: [$0]) }).count == 2)
    #expect(Set(Self.twins.map { FieldIndex.Order($0) }).count == 2)
    #expect(Set(try Self.twins.map { try FieldFilter(of: $0, where: [String]()) }).count == 2)
    #expect(
      Set(try Self.twins.map { try FieldIndex(bucket: $0, group: "g", order: []) }).count == 2)
    let store = try Store.inMemory(indexes: Self.closures())
    try fill(store)
    let snapshot = try store.snapshot()
    #expect(Set(try snapshot.tags()).count == 2)
    let rows = try Self.twins.compactMap { try snapshot.row(Key(one), in: $0) }
    #expect(Set(rows.map { StoreName($0.bucket) }).count == 2 && Set(rows).count == 2)
    for name in Self.twins {
      try store.write { try $0.put([0], for: "bad", in: Bucket<[UInt8]>.bytes(name)) }
    }
    let undecodable = try store.statistics().undecodable
    for name in Self.twins { #expect(undecodable[StoreName("code " + name)] == 1) }
    try store.close()
  }
}
