// Writes the commits of a store into another one, one by one, and compares the two. The copy
// maintains its indexes commit by commit; opening a store builds them at the end. So the comparison
// also tests one way against the other. For a compacted store the base comes from its log alone,
// without the page file, so that the comparison includes the contents of the page file.

import Foundation
import TreeRing
import TreeRingImport
import TreeRingLive
import TreeRingLog

/// Replays a store's log.
struct Replayer {
  let store: Store
  private static let limit = 100

  init(_ store: Store) { self.store = store }

  /// Writes every commit up to `last` into a new store, after the bases at the beginning of the
  /// history.
  ///
  /// - Parameter open: opens the new store; its folder may already hold the beginning.
  /// - Throws: `beyondHorizon` if compaction drops history before it has been read; `corruption` if
  ///   a commit cannot follow from those before it; a failure with exit code 130 after Ctrl-C, if
  ///   that is watched.
  func replay(
    into folder: String, on fileSystem: any FileSystem, through last: CommitNumber,
    open: () throws -> Store
  ) throws -> Store {
    let bases = try store.baseCommits().filter { $0 <= last }
    if !bases.isEmpty { try replay(bases, into: folder, on: fileSystem) }
    let copy = try open()
    let first = (bases.last ?? 0) + 1
    guard first <= last else { return copy }
    let progress = ProgressBar("Replaying", total: last + 1 - first)
    defer { progress.finish() }
    for number in first...last {
      try Interrupt.check()
      let (info, operations) = try operations(of: number)
      try following(number) {
        _ = try copy.write(durability: Durability.unsynced) { tx in
          tx.timestamp = info.timestamp
          tx.timestampAllowance = .ahead
          tx.note = info.note
          tx.annotation = info.annotation
          tx.tags = info.tags
          tx.keepsEmptyCommit = true
          // The log is taken as it is: an import without checks may have broken rules.
          tx.keepsRules = false
          tx.baseCommits = Set(bases)
          for operation in operations { try apply(operation, to: tx) }
        }
      }
      if number & 255 == 0 {
        let done = number + 1 - first
        progress.update(done: done, count: done, unit: "commits")
      }
    }
    return copy
  }

  private func replay(
    _ bases: [CommitNumber], into folder: String, on fileSystem: any FileSystem
  ) throws {
    let writer = try BaseWriter(folder: folder, fileSystem: fileSystem, isUnfinishedCopy: true)
    defer { writer.close() }
    var previous: CommitNumber = 0
    for base in bases {
      let info = try store.baseInfo(of: base)
      try following(base) {
        try writer.write(info) { write in
          try store.forEachBaseOperation(of: base, after: previous) {
            try Interrupt.check()
            try write($0)
          }
        }
      }
      previous = base
    }
    // If compaction replaced the bases in between, the remains of the old ones may have been read.
    guard try store.baseCommits().filter({ $0 <= previous }) == bases else {
      throw overtaken(at: previous)
    }
  }

  /// All operations of a commit.
  private func operations(
    of number: CommitNumber
  ) throws -> (info: CommitInfo, operations: [CommitOperation]) {
    let commit = try store.operations(of: number)
    // If the segment was rewritten in between, the commit may lack operations.
    guard store.horizon < number else { throw overtaken(at: number) }
    return commit
  }

  private func overtaken(at number: CommitNumber) -> TreeRingError {
    TreeRingError(
      .beyondHorizon, "Commit \(number) was compacted away while it was read.",
      commit: number, current: store.horizon)
  }

  /// One sentence for each difference between a store at a commit and its log, a hundred at most.
  /// The temporary copy is as large as the store. It is removed even if Ctrl-C ends the comparison.
  static func differences(in store: Store, at path: String, commit last: CommitNumber) throws
    -> [String]
  {
    guard store.horizon > 0 else { return try Replayer(store).differences(from: store, at: last) }
    let log = try StoreAccess.open(path, .readOnly, readsPages: false)
    defer { try? log.close() }
    return try Replayer(log).differences(from: store, at: last)
  }

  private func differences(from held: Store, at last: CommitNumber) throws -> [String] {
    // Not earlier, because opening a store does not check for Ctrl-C.
    Interrupt.watch()
    // In a folder, because the store may be larger than memory.
    let comparison = try ComparisonFolder()
    defer { comparison.remove() }
    let copy = try replay(into: comparison.path, on: PosixFileSystem(), through: last) {
      try StoreAccess.open(comparison.path, .create, isUnfinishedCopy: true)
    }
    defer { try? copy.close() }
    let (held, replayed) = (try held.snapshot(at: .commit(last)), try copy.snapshot())
    var found: [String] = []
    if held.timestamp != replayed.timestamp { found.append("The dates of the last commit differ.") }
    for (bucket, count) in try held.buckets() {
      let other = try replayed.count(in: bucket)
      if count != other {
        found.append("Bucket \(bucket) has \(count) rows; the log gives \(other).")
      }
      try compare(bucket, held, replayed, &found)
      // A compacted log has lost deletes that the trees may still have.
      if store.horizon == 0 { try compareTombstones(of: bucket, held, replayed, &found) }
    }
    if try held.tags() != replayed.tags() { found.append("The tags are not what the log gives.") }
    let names = Set(replayed.indexes.map { StoreName($0.name) })
    for index in held.indexes {
      guard names.contains(StoreName(index.name)) else {
        // For an earlier commit the store shows the newest definitions.
        if last == store.newestCommit { found.append("The log has no index \(index.name).") }
        continue
      }
      guard
        let (one, other) = try both(
          held.readableIndex(index.name), replayed.readableIndex(index.name))
      else { continue }
      try compare(index.name, one, other, &found)
    }
    return found
  }

  private func compareTombstones(
    of bucket: String, _ held: Snapshot, _ replayed: Snapshot, _ found: inout [String]
  ) throws {
    var problems: [String] = []
    var counts = (held: 0, replayed: 0)
    try held.forEachTombstone(in: bucket) { key, commit in
      try Interrupt.check()
      counts.held += 1
      if try replayed.tombstone(of: key, in: bucket) != commit {
        problems.append("The log does not give the delete of \(bucket)/\(key) at \(commit).")
      }
      return problems.count < Self.limit
    }
    try replayed.forEachTombstone(in: bucket) { _, _ in
      try Interrupt.check()
      counts.replayed += 1
      return true
    }
    if problems.isEmpty, counts.held != counts.replayed {
      problems.append(
        "Bucket \(bucket) has \(counts.held) tombstones; the log gives \(counts.replayed).")
    }
    found += problems
  }

  private func both<Each>(_ one: Each?, _ other: Each?) -> (Each, Each)? {
    guard let one, let other else { return nil }
    return (one, other)
  }

  private func compare(
    _ bucket: String, _ held: Snapshot, _ replayed: Snapshot, _ found: inout [String]
  ) throws {
    var problems: [String] = []
    try held.forEachRow(in: bucket) { row in
      try Interrupt.check()
      let other = try replayed.row(row.key, in: bucket)
      if row != other {
        problems.append("The row \(bucket)/\(row.key) is not what the log gives.")
      }
      return problems.count < Self.limit
    }
    found += problems
  }

  private func compare(
    _ name: String, _ held: IndexReader, _ replayed: IndexReader, _ found: inout [String]
  ) throws {
    let groups = try held.groupCounts()
    guard try groups.elementsEqual(replayed.groupCounts(), by: ==) else {
      found.append("The groups of index \(name) are not what the log gives.")
      return
    }
    for (group, _) in groups {
      var keys: [Key] = []
      try held.forEachRow(in: group) { _, row in
        try Interrupt.check()
        keys.append(row.key)
        return true
      }
      var same = true
      try replayed.forEachRow(in: group) { index, row in
        try Interrupt.check()
        same = keys[index] == row.key
        return same
      }
      if !same {
        found.append("The order of group \(group) of index \(name) is not what the log gives.")
      }
    }
  }

  /// Repeats the operations of a commit. The log should not hold operations that the library
  /// refuses.
  private func following(_ number: CommitNumber, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as TreeRingError
      where [.notFound, .alreadyExists, .conflict, .invalidInput, .tooLarge, .notAllowed].contains(
        error.code)
    {
      throw TreeRingError(
        .corruption, "An operation of the log does not follow from those before: \(error.message)",
        commit: number)
    }
  }

  private func apply(_ operation: CommitOperation, to tx: Transaction) throws {
    switch operation {
    case .row(let row, let change): try apply(change, of: row, to: tx)
    case .tag(let name, 0): try tx.removeTag(name)
    case .tag(let name, let commit): try tx.tag(name, commit: commit)
    case .index(let name, let version, let definition):
      try tx.defineAnew(name, version: version, definition)
    case .place(let place, let row, let label):
      try row.key.bytes.withUnsafeBytes {
        try tx.place($0, in: row.bucket, place, label: label)
      }
    }
  }

  private func apply(_ change: RowChange<[UInt8]>, of row: RowID, to tx: Transaction) throws {
    switch change {
    case .put(let coder, let object, let metadata),
      .whole(_, _, let coder, let object, let metadata):
      try tx.put(object, metadata: metadata, for: row.key, in: bytes(row.bucket, coder))
    case .object(let coder, let object):
      try tx.put(object: object, for: row.key, in: bytes(row.bucket, coder))
    case .metadata(let metadata): try tx.put(metadata: metadata, for: row.key, in: row.bucket)
    case .touch: try tx.touch(row.key, in: row.bucket)
    case .delete: try tx.delete(row.key, in: row.bucket)
    }
  }

  private func bytes(_ bucket: String, _ coder: UInt32) -> Bucket<[UInt8]> {
    Bucket(
      bucket,
      coder: RowCoder(version: coder, encode: { $0 }, decode: { bytes, _ in Array(bytes) }))
  }
}
