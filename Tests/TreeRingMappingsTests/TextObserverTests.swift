// Live hits: every change leads from the list before to the list after, and none is shorter.

import TestSupport
import Testing
import TreeRingLog

@testable import TreeRing
@testable import TreeRingMappings

@Suite("Live hits of a search", .leavesSoundStores) struct TextObserverTests {
  private static let rows = Bucket<[UInt8]>.bytes("rows")

  private static func store() throws -> Store {
    let store = try Store.inMemory()
    try store.define(try TextIndex("words", on: rows, fields: [.init("title", weight: 3), "body"]))
    try store.define("groups", try FieldIndex(bucket: "rows", group: "g", order: [.init("n")]))
    return store
  }

  /// The length of the longest increasing subsequence.
  private func chain(_ numbers: [Int]) -> Int {
    var lengths: [Int] = []
    for (index, number) in numbers.enumerated() {
      lengths.append(1 + (0..<index).reduce(0) { numbers[$1] < number ? max($0, lengths[$1]) : $0 })
    }
    return lengths.max() ?? 0
  }

  @Test("Changes are minimal, by score and by another index, with updates", arguments: seeds(1...4))
  func changes(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = try Self.store()
    let orders: [TextOrder] = [
      .score, .index("groups", group: "a"), .index("groups", group: "a", reversed: true),
    ]
    var observers = orders.map {
      store.observer(of: .phrase("dune"), in: "words", by: $0, limit: seed % 2 == 0 ? 8 : 100)
    }
    for index in observers.indices { #expect(try observers[index].advance().isReset) }
    var kinds: Set<String> = []
    for turn in 0..<60 {
      try store.write { tx in
        for _ in 0..<Int.random(in: 0...3, using: &random) {
          let key = Key("k\(Int.random(in: 0..<20, using: &random))")
          if Int.random(in: 0..<5, using: &random) == 0 {
            try tx.delete(key, in: Self.rows)
          } else {
            let words = (0..<Int.random(in: 1...6, using: &random)).map { _ in
              ["dune", "worm", "sand"].randomElement(using: &random) ?? ""
            }
            let text =
              #"{"g":"\#(Bool.random(using: &random) ? "a" : "b")","#
              + #""n":\#(Int.random(in: 0..<9, using: &random)),"#
              + #""body":"\#(words.joined(separator: " "))"}"#
            try tx.put(Array(text.utf8), for: key, in: Self.rows)
          }
        }
        tx.note = "turn"
      }
      if turn % 9 == 4 { continue }
      let snapshot = try store.snapshot()
      for index in observers.indices {
        let old = observers[index].hits.map(\.id)
        let before = try old.map { id in
          try store.snapshot(at: .commit(observers[index].commit ?? 0)).row(id.key, in: id.bucket)?
            .object
        }
        if turn == 40 { observers[index].query = .or([.phrase("worm"), .phrase("sand")]) }
        let change = try observers[index].advance()
        let new = observers[index].hits.map(\.id)
        let context = "seed \(seed), turn \(turn), order \(index)"
        let text = try snapshot.text("words")
        let wanted =
          switch orders[index] {
          case .score: try text.find(observers[index].query, limit: observers[index].limit)
          case .index(let name, let group, let reversed):
            try text.find(
              observers[index].query, in: try snapshot.index(name), group: group,
              limit: observers[index].limit, reversed: reversed)
          }
        #expect(observers[index].hits == wanted, "\(context)")
        #expect(!change.isReset && change.sections.isEmpty, "\(context)")
        #expect(Set(change.rows.deletes.map(\.row)) == Set(old).subtracting(new), "\(context)")
        #expect(Set(change.rows.inserts.map(\.row)) == Set(new).subtracting(old), "\(context)")
        let staying = new.compactMap { old.firstIndex(of: $0) }
        #expect(change.rows.moves.count == staying.count - chain(staying), "\(context)")
        let updated = try new.filter { id in
          guard let position = old.firstIndex(of: id) else { return false }
          return try snapshot.row(id.key, in: id.bucket)?.object != before[position]
        }
        #expect(Set(change.rows.updates.map(\.row)) == Set(updated), "\(context)")
        #expect(apply(change, to: old) == new, "\(context)")
        if !change.rows.moves.isEmpty { kinds.insert("move") }
        if !updated.isEmpty { kinds.insert("update") }
      }
    }
    #expect(kinds == ["move", "update"])
  }

  /// The list after the operations of a batch.
  private func apply(_ change: Change, to old: [RowID]) -> [RowID] {
    let gone = Set(change.rows.deletes.map(\.row) + change.rows.moves.map(\.row))
    var list = old.filter { !gone.contains($0) }
    let coming =
      change.rows.inserts.map { ($0.path.row, $0.row) }
      + change.rows.moves.map { ($0.to.row, $0.row) }
    for (position, row) in coming.sorted(by: { $0.0 < $1.0 }) { list.insert(row, at: position) }
    return list
  }

  @Test("A stream begins with a reset, and passes commits that change no hit") func stream()
    async throws
  {
    let store = try Self.store()
    func put(_ key: Key, _ text: String) throws {
      try store.write { try $0.put(Array(#"{"body":"\#(text)"}"#.utf8), for: key, in: Self.rows) }
    }
    try put("a", "dune")
    var changes = store.hits(of: .phrase("dune"), in: "words").makeAsyncIterator()
    #expect(try await changes.next()?.isReset == true)
    try put("b", "worm")
    try put("c", "dune dune")
    let change = try await changes.next()
    #expect(change?.rows.inserts.map(\.row.key) == ["c"])
    #expect(changes.hits.map(\.id.key) == ["c", "a"])
    try await store.close()
    await #expect(throws: TreeRingError.self) { try await changes.next() }
  }
}
