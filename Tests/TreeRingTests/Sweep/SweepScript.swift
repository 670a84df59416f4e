// The commits of the sweeps. Every commit is a function of the seed and its number, so the state at
// each number is known beforehand, whatever failed before. An interrupted run continues with the
// next number. A store found after a crash is compared with the state of its newest commit's
// number.

import TestSupport

@testable import TreeRing
@testable import TreeRingLog

/// One operation of a scripted commit.
enum ScriptedOperation: Sendable {
  case put(Key, Note, metadata: [UInt8]?)
  case putObject(Key, Note)
  case putBlob(Key, [UInt8], metadata: [UInt8]?)
  case putMetadata(RowID, [UInt8])
  case touch(RowID)
  case delete(RowID)
  case deleteRange(String, Key, Key)
  case tag(String, CommitNumber)
  /// Places a note on a shelf manually; without a position, removes it.
  case arrange(Key, GroupName, Int?)
}

/// A row in its expected state.
struct ScriptedRow: Hashable, Sendable {
  var object: [UInt8]
  var metadata: [UInt8]?
  var written: CommitNumber
  var created: CommitNumber
  /// The note in the object, if it is one.
  var note: Note?
}

/// The expected state at one commit.
struct ScriptedState: Sendable {
  var rows: [RowID: ScriptedRow] = [:]
  var tags: [String: CommitNumber] = [:]
  /// Keys by group, in order, of the index by a closure and of the one by fields.
  var byGroup: [GroupName: [Key]] = [:]
  var byNumber: [GroupName: [Key]]?
  /// Keys by group of the manual index.
  var shelves: [GroupName: [Key]]?
}

/// One commit: its operations and its durability.
struct ScriptedCommit: Sendable {
  var operations: [ScriptedOperation] = []
  var durability: Durability
  /// The commit that defines the indexes `byNumber` and `shelves` does nothing else.
  var definesIndex = false
}

/// A row that is put twice and erased later.
enum Secret {
  static let id = RowID(bucket: "blobs", key: "secret")
  static let writes: Set<CommitNumber> = [5, 8]
  /// Bytes that occur nowhere else.
  static let mark = Array("Wq7#zK!u2mVx@4LpT9^sEo1&dRyB".utf8)

  /// The row's object after a commit that puts it: first in the tree, then in the log alone.
  static func object(_ commit: CommitNumber) -> [UInt8] {
    var random = SeededGenerator(seed: commit)
    let count = commit == 5 ? 30 : 2600
    return mark + (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }
}

/// Rows that one commit puts and the next deletes: more pages than fit a small memory budget.
enum Flood {
  static let keys = (0..<220).map { Key("f\($0)") }

  /// The operations of the first of the two commits, or of the second.
  static func operations(puts: Bool) -> [ScriptedOperation] {
    guard puts else { return [.deleteRange("notes", "f", "g")] }
    return keys.enumerated().map { index, key in
      .put(key, Note(group: "g\(index % 3)", number: index, text: "flood"), metadata: nil)
    }
  }
}

struct SweepScript: Sendable {
  let seed: UInt64
  /// The commits by number. The first, and the one that registers the closure's index, are empty.
  private(set) var commits: [ScriptedCommit] = []
  /// The states by commit number.
  private(set) var states: [ScriptedState] = [ScriptedState()]

  static let fieldIndex: FieldIndex = {
    do {
      return try FieldIndex(
        bucket: "notes", group: "group", order: [.init("number", descending: true)]
      ).summing("number")
    } catch { preconditionFailure("the definition is well formed") }
  }()

  /// The commit that deletes the secret row when it is erased; nil if no step erases it.
  let erasure: CommitNumber?

  /// - Parameter floods: commits that flood the memory; the ones after them undo it.
  init(
    seed: UInt64, commitCount: Int, erasure: CommitNumber? = nil, floods: Set<CommitNumber> = []
  ) throws {
    self.seed = seed
    self.erasure = erasure
    var random = SeededGenerator(seed: seed)
    commits.append(ScriptedCommit(durability: .full))
    for number in 1...CommitNumber(commitCount) {
      var state = states[Int(number) - 1]
      var commit = ScriptedCommit(durability: Self.durability(&random))
      if number == 3 {
        commit.definesIndex = true
        state.byNumber = [:]
        state.shelves = [:]
      } else if number == erasure {
        commit.operations = [.delete(Secret.id)]
        state.rows[Secret.id] = nil
      } else if floods.contains(number) || floods.contains(number - 1) {
        commit.operations = Flood.operations(puts: floods.contains(number))
        for operation in commit.operations { try Self.apply(operation, to: &state, number) }
      } else if number > 1 {
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          guard let operation = Self.operation(state, number, &random) else { continue }
          commit.operations.append(operation)
          try Self.apply(operation, to: &state, number)
        }
        if Secret.writes.contains(number) {
          let put = ScriptedOperation.putBlob("secret", Secret.object(number), metadata: nil)
          commit.operations.append(put)
          try Self.apply(put, to: &state, number)
        }
        if commit.operations.isEmpty {
          let operation = ScriptedOperation.put("k0", Note(group: "g0", number: 0), metadata: nil)
          commit.operations.append(operation)
          try Self.apply(operation, to: &state, number)
        }
      }
      Self.arrange(&state)
      commits.append(commit)
      states.append(state)
    }
  }

  private static func durability(_ random: inout SeededGenerator) -> Durability {
    switch Int.random(in: 0..<5, using: &random) {
    case 0, 1: .full
    case 2: .relaxed(within: .seconds(100_000))
    default: .unsynced
    }
  }

  private static func bytes(_ count: Int, _ random: inout SeededGenerator) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }

  private static func note(_ random: inout SeededGenerator) -> Note {
    let group = Int.random(in: 0..<4, using: &random)
    return Note(
      group: group == 3 ? nil : "g\(group)", number: Int.random(in: -3...9, using: &random),
      text: String(repeating: "t", count: Int.random(in: 0..<60, using: &random)))
  }

  /// A random operation that fits the state.
  private static func operation(
    _ state: ScriptedState, _ number: CommitNumber, _ random: inout SeededGenerator
  ) -> ScriptedOperation? {
    let isNote = Int.random(in: 0..<3, using: &random) > 0
    let name = "k\(Int.random(in: 0..<(isNote ? 12 : 4), using: &random))"
    let id = RowID(bucket: isNote ? "notes" : "blobs", key: Key(name))
    let metadata =
      Bool.random(using: &random) ? nil : bytes(Int.random(in: 0..<30, using: &random), &random)
    let isThere = state.rows[id] != nil
    switch Int.random(in: 0..<19, using: &random) {
    case 16...:
      guard isNote, isThere, let shelves = state.shelves else { return nil }
      let name = GroupName("s\(Int.random(in: 0..<2, using: &random))")
      let old = shelves[name]?.firstIndex(of: id.key)
      let others = (shelves[name]?.count ?? 0) - (old == nil ? 0 : 1)
      let isTaken = Int.random(in: 0..<4, using: &random) == 0
      let position = isTaken ? nil : Int.random(in: 0...others, using: &random)
      return position == old ? nil : .arrange(id.key, name, position)
    case 0..<9:
      if isNote { return .put(id.key, note(&random), metadata: metadata) }
      // Beyond a page's room for values, so that some lie in the log alone.
      let count = Int.random(in: 0..<4, using: &random) == 0 ? 2500 : 80
      return .putBlob(id.key, bytes(count, &random), metadata: metadata)
    case 9: return isNote && isThere ? .putObject(id.key, note(&random)) : nil
    case 10: return isThere ? .putMetadata(id, metadata ?? [1, 2, 3]) : nil
    case 11: return isThere ? .touch(id) : nil
    case 12, 13: return isThere ? .delete(id) : nil
    case 14:
      let upper = Key("k\(Int.random(in: 0..<12, using: &random))")
      let doomed = state.rows.keys.contains {
        $0.bucket == id.bucket && id.key <= $0.key && $0.key < upper
      }
      return doomed ? .deleteRange(id.bucket, id.key, upper) : nil
    default: return number > 4 ? .tag("t\(number % 3)", number - 2) : nil
    }
  }

  private static func apply(
    _ operation: ScriptedOperation, to state: inout ScriptedState, _ number: CommitNumber
  ) throws {
    func put(_ id: RowID, _ object: [UInt8], _ metadata: [UInt8]?, _ note: Note?) {
      let created = state.rows[id]?.created ?? number
      state.rows[id] = ScriptedRow(
        object: object, metadata: metadata, written: number, created: created, note: note)
    }
    switch operation {
    case .put(let key, let note, let metadata):
      let id = RowID(bucket: "notes", key: key)
      put(id, try notes.coder.encode(note), metadata, note)
    case .putObject(let key, let note):
      let id = RowID(bucket: "notes", key: key)
      put(id, try notes.coder.encode(note), state.rows[id]?.metadata, note)
    case .putBlob(let key, let bytes, let metadata):
      put(RowID(bucket: "blobs", key: key), bytes, metadata, nil)
    case .putMetadata(let id, let metadata):
      state.rows[id]?.metadata = metadata
      state.rows[id]?.written = number
    case .touch(let id): state.rows[id]?.written = number
    case .delete(let id):
      state.rows[id] = nil
      takeOff(&state)
    case .deleteRange(let bucket, let lower, let upper):
      state.rows = state.rows.filter {
        $0.key.bucket != bucket || $0.key.key < lower || upper <= $0.key.key
      }
      takeOff(&state)
    case .tag(let name, let commit): state.tags[name] = commit
    case .arrange(let key, let group, let position):
      state.shelves?[group, default: []].removeAll { $0 == key }
      if let position { state.shelves?[group]?.insert(key, at: position) }
    }
  }

  /// Removes deleted rows from their shelves.
  private static func takeOff(_ state: inout ScriptedState) {
    let rows = state.rows
    state.shelves = state.shelves?.mapValues { keys in
      keys.filter { rows[RowID(bucket: "notes", key: $0)] != nil }
    }
  }

  /// Sorts the rows into the expected order of each index.
  private static func arrange(_ state: inout ScriptedState) {
    var groups: [GroupName: [(number: Int, key: Key)]] = [:]
    for (id, row) in state.rows {
      guard let note = row.note, let group = note.group else { continue }
      groups[GroupName(group), default: []].append((note.number, id.key))
    }
    state.shelves = state.shelves?.filter { !$0.value.isEmpty }
    state.byGroup = groups.mapValues { $0.sorted { $0 < $1 }.map(\.key) }
    guard state.byNumber != nil else { return }
    state.byNumber = groups.mapValues { rows in
      rows.sorted { $0.number == $1.number ? $0.key < $1.key : $0.number > $1.number }.map(\.key)
    }
  }
}

extension ScriptedCommit {
  /// Performs a commit's operations in a store's transaction.
  func perform(_ tx: Transaction) throws {
    let number = tx.commit
    tx.timestamp = Timestamp(microseconds: Int64(number) * 1_000_000)
    // An erasing before it leaves a commit with today's date.
    tx.timestampAllowance = .clamping
    if number % 5 == 0 { tx.note = "commit \(number)" }
    if number % 7 == 0 { tx.idempotencyKey = [UInt8(truncatingIfNeeded: number)] }
    if definesIndex {
      try tx.define("byNumber", SweepScript.fieldIndex)
      try tx.define("shelves", ManualIndex(on: notes))
    }
    for operation in operations {
      switch operation {
      case .put(let key, let note, let metadata):
        try tx.put(note, metadata: metadata, for: key, in: notes)
      case .putObject(let key, let note): try tx.put(object: note, for: key, in: notes)
      case .putBlob(let key, let bytes, let metadata):
        try tx.put(bytes, metadata: metadata, for: key, in: blobs)
      case .putMetadata(let id, let metadata):
        try tx.put(metadata: metadata, for: id.key, in: id.bucket)
      case .touch(let id): try tx.touch(id.key, in: id.bucket)
      case .delete(let id): try tx.delete(id.key, in: id.bucket)
      case .deleteRange(let bucket, let lower, let upper):
        try tx.deleteAll(in: bucket, from: lower, to: upper)
      case .tag(let name, let commit): try tx.tag(name, commit: commit)
      case .arrange(let key, let group, let position):
        let row = RowID(bucket: "notes", key: key)
        let group = try tx.group(group, of: "shelves")
        if let position {
          try group.insert(row, at: position)
        } else {
          try group.remove(row)
        }
      }
    }
  }
}
