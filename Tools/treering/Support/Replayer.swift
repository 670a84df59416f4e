// Writes the commits of a store into another one, one by one, and compares what comes of it. The copy
// maintains its indexes commit by commit, where opening a store builds them at the end: so the
// comparison also holds one against the other. Of a compacted store the base is what its log alone leads to,
// read without the page file, so that this too is compared with what the page file holds.

import Foundation
import TreeRing
import TreeRingLog

/// Replays a store's log.
struct Replayer {
  let store: Store
  private static let limit = 100

  init(_ store: Store) { self.store = store }

  /// Writes every commit up to one into a new store, after the bases that the history begins with.
  ///
  /// - Parameter open: opens the new store, whose folder may hold its beginning by then.
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
      let (info, operations) = try store.operations(of: number)
      try copy.write(durability: Durability.none) { tx in
        tx.timestamp = info.timestamp
        tx.note = info.note
        tx.annotation = info.annotation
        tx.tags = info.tags
        tx.keepsEmptyCommit = true
        tx.baseCommits = Set(bases)
        for operation in operations { try apply(operation, to: tx) }
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
    let writer = try BaseWriter(folder: folder, fileSystem: fileSystem)
    defer { writer.close() }
    var previous: CommitNumber = 0
    for base in bases {
      try writer.write(try store.baseInfo(of: base)) { write in
        try store.forEachBaseOperation(of: base, after: previous, write)
      }
      previous = base
    }
  }

  /// One sentence for each way in which a store at a commit is not what its log says, a hundred at most.
  static func differences(in store: Store, at path: String, commit last: CommitNumber) throws
    -> [String]
  {
    guard store.horizon > 0 else { return try Replayer(store).differences(from: store, at: last) }
    let log = try StoreAccess.open(path, .readOnly, readsPages: false)
    defer { try? log.close() }
    return try Replayer(log).differences(from: store, at: last)
  }

  private func differences(from held: Store, at last: CommitNumber) throws -> [String] {
    // In a folder, not in memory: a store may be larger than that.
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("treering-replay-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let copy = try replay(into: folder, on: PosixFileSystem(), through: last) {
      try StoreAccess.open(folder, .create)
    }
    defer { try? copy.close() }
    let (held, replayed) = (try held.snapshot(at: .commit(last)), try copy.snapshot())
    var found: [String] = []
    if held.timestamp != replayed.timestamp { found.append("The dates of the last commit differ.") }
    for (bucket, count) in try held.buckets() {
      let other = try replayed.count(in: bucket)
      if count != other {
        found.append("Bucket \(bucket) holds \(count) rows; the log gives \(other).")
      }
      try compare(bucket, held, replayed, &found)
    }
    for index in held.indexes {
      guard replayed.indexes.contains(where: { $0.name == index.name }),
        let (one, other) = try both(
          held.readableIndex(index.name), replayed.readableIndex(index.name))
      else { continue }
      try compare(index.name, one, other, &found)
    }
    return found
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
        keys.append(row.key)
        return true
      }
      var same = true
      try replayed.forEachRow(in: group) { index, row in
        same = keys[index] == row.key
        return same
      }
      if !same {
        found.append("The order of group \(group) of index \(name) is not what the log gives.")
      }
    }
  }

  private func apply(_ operation: CommitOperation, to tx: Transaction) throws {
    switch operation {
    case .put(let row, let object, let metadata, let coder):
      try tx.put(object, metadata: metadata, for: row.key, in: bytes(row.bucket, coder))
    case .object(let row, let object, let coder):
      try tx.put(object: object, for: row.key, in: bytes(row.bucket, coder))
    case .metadata(let row, let metadata):
      try tx.put(metadata: metadata, for: row.key, in: row.bucket)
    case .touch(let row): try tx.touch(row.key, in: row.bucket)
    case .delete(let row): try tx.delete(row.key, in: row.bucket)
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

  private func bytes(_ bucket: String, _ coder: UInt32) -> Bucket<[UInt8]> {
    Bucket(
      bucket,
      coder: RowCoder(version: coder, encode: { $0 }, decode: { bytes, _ in Array(bytes) }))
  }
}
