// Compares a store with what the script says of its commits.

import TestSupport
import Testing
import TreeRing
import TreeRingLog

/// What is wrong with a store that was found.
struct SweepFlaw: Error, CustomStringConvertible {
  var description: String
  init(_ description: String) { self.description = description }
}

extension SweepScript {
  /// Throws what is wrong with a snapshot.
  func check(_ snapshot: Snapshot) throws {
    let number = Int(snapshot.commit)
    guard number < states.count else { throw SweepFlaw("commit \(number) was never made") }
    let state = states[number]
    var count = 0
    for bucket in ["blobs", "notes"] {
      var last: Key?
      try snapshot.forEachRow(in: bucket) { row in
        let id = RowID(bucket: bucket, key: row.key)
        guard let expected = state.rows[id] else {
          throw SweepFlaw("\(id) is there at \(number)")
        }
        guard row.object == expected.object, row.metadata == expected.metadata,
          row.written == expected.written, row.created == expected.created
        else { throw SweepFlaw("\(id) is another at \(number)") }
        if let last, row.key <= last { throw SweepFlaw("\(id) is out of order at \(number)") }
        last = row.key
        count += 1
        return true
      }
    }
    guard count == state.rows.count else {
      throw SweepFlaw("\(count) rows instead of \(state.rows.count) at \(number)")
    }
  }

  /// Throws what is wrong with the tags and indexes of a snapshot.
  func checkIndexes(_ snapshot: Snapshot) throws {
    let state = states[Int(snapshot.commit)]
    var tags: [String: CommitNumber] = [:]
    for tag in try snapshot.tags() { tags[tag.name] = tag.commit }
    guard tags == state.tags else { throw SweepFlaw("tags at \(snapshot.commit): \(tags)") }
    if snapshot.commit > 0 { try check("byGroup", state.byGroup, snapshot) }
    if let byNumber = state.byNumber { try check("byNumber", byNumber, snapshot) }
  }

  private func check(
    _ name: String, _ expected: [GroupName: [Key]], _ snapshot: Snapshot
  ) throws {
    let index = try snapshot.index(name)
    guard try Set(index.groups()) == Set(expected.keys) else {
      throw SweepFlaw("groups of \(name) at \(snapshot.commit)")
    }
    for (group, keys) in expected {
      guard try index.rows(in: group).map(\.key) == keys else {
        throw SweepFlaw("\(name), \(group) at \(snapshot.commit)")
      }
    }
  }
}

extension SweepWorkload {
  /// Throws what is wrong with an open store: rows, tags and indexes now, and at other commits.
  ///
  /// - Parameter past: how many other commits are looked at, chosen by `random`; nil for all.
  func check(_ store: Store, past: Int?, _ random: inout SeededGenerator) throws {
    let newest = store.newestCommit
    let now = try store.snapshot()
    try script.check(now)
    try script.checkIndexes(now)
    let problems = try store.checkInvariants()
    guard problems.isEmpty else { throw SweepFlaw("\(problems)") }
    let horizon = try store.statistics().horizon
    let first = horizon <= 1 ? 0 : horizon
    guard first < newest else { return }
    var commits = Array(first..<newest)
    if let past {
      commits = (0..<past).map { _ in CommitNumber.random(in: first..<newest, using: &random) }
    }
    for commit in commits {
      let snapshot = try store.snapshot(at: .commit(commit))
      guard snapshot.commit == commit else { throw SweepFlaw("\(snapshot.commit) for \(commit)") }
      try script.check(snapshot)
      if past == nil { try script.checkIndexes(snapshot) }
    }
  }
}
