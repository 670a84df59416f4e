// Compares a store with the script of its commits.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

/// A flaw of a store that was found.
struct SweepFlaw: Error, CustomStringConvertible {
  var description: String
  init(_ description: String) { self.description = description }
}

extension SweepScript {
  /// Throws a snapshot's first flaw.
  ///
  /// - Parameter newest: the newest commit of the store. If it has deleted the secret row, erasing
  ///   is running or done, and earlier commits may show earlier versions of the row or none.
  func check(_ snapshot: Snapshot, newest: CommitNumber) throws {
    let number = Int(snapshot.commit)
    guard number < states.count else { throw SweepFlaw("commit \(number) was never made") }
    let state = states[number]
    var count = 0
    let isSecretLoose =
      erasure.map { newest >= $0 && snapshot.commit < $0 } ?? false
    let expectedCount =
      state.rows.count - (isSecretLoose && state.rows[Secret.id] != nil ? 1 : 0)
    for bucket in ["blobs", "notes"] {
      var last: Key?
      try snapshot.forEachRow(in: bucket) { row in
        let id = RowID(bucket: bucket, key: row.key)
        if isSecretLoose, id == Secret.id {
          guard Secret.writes.contains(where: { Secret.object($0) == row.object }) else {
            throw SweepFlaw("another secret at \(number)")
          }
          return true
        }
        guard let expected = state.rows[id] else {
          throw SweepFlaw("\(id) is there at \(number)")
        }
        guard row.object == expected.object, row.metadata == expected.metadata,
          row.written == expected.written, row.created == expected.created
        else {
          throw SweepFlaw(
            "\(id) is another at \(number): written \(row.written), created \(row.created), "
              + "\(row.object.count) bytes instead of \(expected.written), \(expected.created), "
              + "\(expected.object.count)")
        }
        if let last, row.key <= last { throw SweepFlaw("\(id) is out of order at \(number)") }
        last = row.key
        count += 1
        return true
      }
    }
    guard count == expectedCount else {
      throw SweepFlaw("\(count) rows instead of \(expectedCount) at \(number)")
    }
  }

  /// Throws the first flaw of a snapshot's tags and indexes.
  func checkIndexes(_ snapshot: Snapshot) throws {
    let state = states[Int(snapshot.commit)]
    var tags: [String: CommitNumber] = [:]
    for tag in try snapshot.tags() { tags[tag.name] = tag.commit }
    guard tags == state.tags else { throw SweepFlaw("tags at \(snapshot.commit): \(tags)") }
    if snapshot.commit > 0 { try check("byGroup", state.byGroup, snapshot) }
    if let byNumber = state.byNumber { try check("byNumber", byNumber, snapshot) }
    if let shelves = state.shelves { try check("shelves", shelves, snapshot) }
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
  /// Throws the first flaw of an open store: rows, tags and indexes now, and at other commits.
  ///
  /// - Parameter past: the number of other commits to check, chosen by `random`; nil for all.
  func check(_ store: Store, past: Int?, _ random: inout SeededGenerator) throws {
    let newest = store.newestCommit
    let now = try store.snapshot()
    try script.check(now, newest: newest)
    try script.checkIndexes(now)
    let problems = try store.checkInvariants()
    guard problems.isEmpty else { throw SweepFlaw("\(problems)") }
    let horizon = try store.statistics().horizon
    let first = horizon <= 1 ? 0 : horizon
    let tags = script.states[Int(newest)].tags.values
    for commit in commits(from: first, below: newest, tags: tags, past: past, &random) {
      let snapshot = try store.snapshot(at: .commit(commit))
      guard snapshot.commit == commit else { throw SweepFlaw("\(snapshot.commit) for \(commit)") }
      try script.check(snapshot, newest: newest)
      if past == nil { try script.checkIndexes(snapshot) }
    }
    if first > 1, !tags.contains(first - 1) {
      do {
        _ = try store.snapshot(at: .commit(first - 1))
        throw SweepFlaw("commit \(first - 1) is readable below the horizon \(first)")
      } catch let error as TreeRingError where error.code == .beyondHorizon {}
    }
  }

  private func commits(
    from first: CommitNumber, below newest: CommitNumber,
    tags: some Collection<CommitNumber>, past: Int?, _ random: inout SeededGenerator
  ) -> [CommitNumber] {
    guard first < newest else { return [] }
    guard let past else { return Array(first..<newest) + tags.filter { $0 < first } }
    return (0..<past).map { index in
      index == 0 ? tags.first ?? first : .random(in: first..<newest, using: &random)
    }
  }

  /// Throws the first flaw of the backup beside the store, and of the row to be erased.
  func checkBeside(_ disk: SimulatedFileSystem, _ promised: Promised) throws {
    if try promised.backup > 0 || disk.exists("backup/log") {
      do {
        var options = options(.readOnly)
        options.recovery = .tail
        let copy = try Store(path: "backup", fileSystem: disk, options: options)
        guard copy.newestCommit >= promised.backup else {
          throw SweepFlaw("the backup has \(copy.newestCommit) of \(promised.backup) commits")
        }
        // An earlier backup still contains the erased row.
        let now = try copy.snapshot()
        try script.check(now, newest: copy.newestCommit)
      } catch let error as TreeRingError
        where promised.backup == 0
        && [.notFound, .corruption, .unfinishedCopy].contains(error.code)
      {
        // An unfinished first backup does not open.
      }
    }
    guard promised.isErased else { return }
    for path in disk.paths where !path.hasPrefix("backup/") {
      guard let bytes = disk.contents(of: path) else { continue }
      if contains(Secret.mark, in: bytes) {
        throw SweepFlaw("\(path) still holds what was erased")
      }
    }
  }
}
