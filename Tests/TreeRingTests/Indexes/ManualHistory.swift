// Random commits that place rows manually, in a store and in lists.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

/// A seeded run of commits over one manual index, and the lists they should give.
struct ManualHistory {
  /// The rows of the newest state, and the lists by group.
  struct State: Equatable {
    var rows: [Key: Note] = [:]
    var lists: [GroupName: [Key]] = [:]
  }

  static let index = "shelves"
  static let groups: [GroupName] = ["red", "green", "blue"]
  /// A filter of the index: the rows with an even number.
  static let even = GroupIndex("even", filtering: index, on: notes, version: 1) {
    $0.row.number % 2 == 0
  }

  /// The states by commit.
  private(set) var states: [State] = [State()]
  private var random: SeededGenerator
  /// The number of different keys.
  private let keyCount: Int

  init(seed: UInt64, keyCount: Int = 14) {
    random = SeededGenerator(seed: seed)
    self.keyCount = keyCount
  }

  var newest: State { states[states.count - 1] }

  static func id(_ key: Key) -> RowID { RowID(bucket: notes.name, key: key) }

  /// Records a commit that changes neither rows nor places.
  mutating func noteOther() { states.append(newest) }

  /// Records a commit that restores an earlier state.
  mutating func noteReverted(to commit: CommitNumber) { states.append(states[Int(commit)]) }

  /// Records a commit that deletes a row.
  mutating func noteDeleted(_ key: Key) {
    var state = newest
    Self.delete(key, &state)
    states.append(state)
  }

  /// Removes a row from all states.
  mutating func forget(_ key: Key) {
    for index in states.indices { Self.delete(key, &states[index]) }
  }

  private static func delete(_ key: Key, _ state: inout State) {
    state.rows[key] = nil
    for group in state.lists.keys { state.lists[group]?.removeAll { $0 == key } }
  }

  // MARK: - Making commits

  /// Makes one commit of a few operations.
  mutating func commit(to store: Store) throws {
    var state = newest
    let written = try store.write { tx in
      // The note makes a commit even if the operations change nothing.
      tx.note = "turn"
      for _ in 0..<Int.random(in: 1...5, using: &random) { try operation(tx, &state) }
    }
    #expect(written.commit == CommitNumber(states.count))
    states.append(state)
  }

  private mutating func operation(_ tx: Transaction, _ state: inout State) throws {
    let key = Key("k\(Int.random(in: 0..<keyCount, using: &random))")
    let name = Self.groups[Int.random(in: 0..<Self.groups.count, using: &random)]
    guard state.rows[key] != nil else {
      // A new row, or one that was deleted before, is in no group.
      let note = Note(group: "x", number: Int.random(in: 0..<10, using: &random))
      try tx.put(note, for: key, in: notes)
      state.rows[key] = note
      return
    }
    let group = try tx.group(name, of: Self.index)
    var list = state.lists[name] ?? []
    let old = list.firstIndex(of: key)
    if let old { list.remove(at: old) }
    let id = Self.id(key)
    switch Int.random(in: 0..<12, using: &random) {
    case 0, 1:
      try group.append(id)
      list.append(key)
    case 2:
      try group.prepend(id)
      list.insert(key, at: 0)
    case 3, 4, 5:
      let position = Int.random(in: 0...list.count, using: &random)
      if old != nil, Bool.random(using: &random) {
        try group.move(id, to: position)
      } else {
        try group.insert(id, at: position)
      }
      list.insert(key, at: position)
    case 6, 7:
      if let other = list.randomElement(using: &random), let next = list.firstIndex(of: other) {
        let isBefore = Bool.random(using: &random)
        if isBefore {
          try group.insert(id, before: Self.id(other))
        } else {
          try group.insert(id, after: Self.id(other))
        }
        list.insert(key, at: isBefore ? next : next + 1)
      } else {
        try group.append(id)
        list.append(key)
      }
    case 8:
      #expect(try group.remove(id) == (old != nil))
    case 9:
      try tx.delete(key, in: notes.name)
      Self.delete(key, &state)
      return
    default:
      // Writing a row does not move it.
      let note = Note(group: "x", number: Int.random(in: 0..<10, using: &random))
      try tx.put(note, for: key, in: notes)
      state.rows[key] = note
      return
    }
    state.lists[name] = list
    #expect(try tx.index(Self.index).rows(in: name).map(\.key) == list)
  }

  // MARK: - Comparing

  /// Compares a snapshot with the lists of its commit, in the manual index and in its filter.
  func check(_ snapshot: Snapshot, _ label: String) throws {
    let state = states[Int(snapshot.commit)]
    let label = Comment(rawValue: "\(label), commit \(snapshot.commit)")
    let index = try snapshot.index(Self.index)
    let lists = state.lists.filter { !$0.value.isEmpty }
    #expect(try index.groups() == lists.keys.sorted(), label)
    for (group, keys) in lists {
      #expect(try index.rows(in: group).map(\.key) == keys, label)
      for (position, key) in keys.enumerated() {
        #expect(try index.index(of: Self.id(key), in: group) == position, label)
      }
    }
    guard snapshot.indexes.contains(where: { $0.name == "even" }) else { return }
    for (group, keys) in lists {
      let fitting = keys.filter { (state.rows[$0]?.number ?? 1) % 2 == 0 }
      #expect(try snapshot.index("even").rows(in: group).map(\.key) == fitting, label)
    }
  }
}
