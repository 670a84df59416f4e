// A check of every store that a test has written, at the end of the test, as by `treering verify
// --deep`: log and page file by their checksums and rules, trees by theirs, indexes against rows,
// and everything against a replay of the log alone. Suites that damage stores intentionally omit
// it.

package import TreeRing
package import TreeRingLog
internal import TreeRingPlatform

/// The stores that a test has written.
package final class WrittenStores: Sendable {
  private struct WrittenStore {
    var folder: String
    var fileSystem: any FileSystem
    var options: StoreOptions

    func isSame(_ other: WrittenStore) -> Bool {
      guard folder == other.folder else { return false }
      return fileSystem is PosixFileSystem
        || (fileSystem as AnyObject) === (other.fileSystem as AnyObject)
    }
  }
  private let stores = Mutex<[WrittenStore]>([])
  private let folders = Mutex<[TemporaryFolder]>([])

  package init() {}

  /// Keeps a folder until its stores have been checked.
  package func keep(_ folder: TemporaryFolder) { folders.withLock { $0.append(folder) } }

  /// Records a store that was opened for writing.
  package func note(_ folder: String, _ fileSystem: any FileSystem, _ options: StoreOptions) {
    let store = WrittenStore(folder: folder, fileSystem: fileSystem, options: options)
    stores.withLock { stores in
      stores.removeAll { $0.isSame(store) }
      stores.append(store)
    }
  }

  /// The problems of the stores; empty if there are none.
  package func problems() -> [String] {
    stores.withLock { $0 }.flatMap { store in
      do {
        return try problems(of: store).map { "\(store.folder): \($0)" }
      } catch {
        return ["\(store.folder): \(error)"]
      }
    }
  }

  private func problems(of store: WrittenStore) throws -> [String] {
    var store = store
    if let disk = store.fileSystem as? SimulatedFileSystem {
      guard !disk.isDown else { return [] }
      // A planned fault that has not occurred must not hit this check.
      store.fileSystem = disk.afterKill()
    }
    let (folder, files) = (store.folder, store.fileSystem)
    guard try files.exists(folder + "/log") else { return [] }
    var findings = verifyLog(
      directory: try BackupSwitch.logFolder(of: folder, fileSystem: files, mayWrite: false),
      fileSystem: files)
    if try files.exists(folder + "/pages") {
      findings += try verifyPageFile(folder + "/pages", fileSystem: files)
    }
    if !findings.isEmpty { return findings.map { "\($0)" } }
    let log = try read(store, readsPages: false)
    defer { try? log.close() }
    // The test may still close the store, and so sync commits that neither opening shows yet. Both
    // openings follow the store. So the check takes the state of the first one before the second is
    // opened, which must include that state.
    let expected = try log.snapshot()
    let held = try read(store, readsPages: true)
    defer { try? held.close() }
    guard held.newestCommit >= expected.commit else {
      return ["its newest commit is \(held.newestCommit); the log's is \(expected.commit)"]
    }
    let snapshot = try held.snapshot(at: .commit(expected.commit))
    return try held.checkInvariants() + differences(snapshot, expected)
  }

  private func read(_ store: WrittenStore, readsPages: Bool) throws -> Store {
    var options = store.options
    options.mode = .readOnly
    options.recovery = .tail
    options.readsPages = readsPages
    options.logger = quietLogger
    return try Store(path: store.folder, fileSystem: store.fileSystem, options: options)
  }

  private func differences(_ held: Snapshot, _ log: Snapshot) throws -> [String] {
    guard held.commit == log.commit, held.timestamp == log.timestamp else {
      return ["its newest commit is \(held.commit); the log's is \(log.commit)"]
    }
    var problems: [String] = []
    if try held.buckets().map(\.0) != log.buckets().map(\.0) { problems.append("other buckets") }
    if try held.tags() != log.tags() { problems.append("other tags") }
    // Definitions are those in force when a snapshot is taken, regardless of its commit.
    if held.store.newestCommit == log.commit,
      held.indexes.map(\.name) != log.indexes.map(\.name)
    {
      problems.append("other indexes")
    }
    for (bucket, _) in try held.buckets() {
      if try rows(held, bucket) != rows(log, bucket) {
        problems.append("the rows of \(bucket) are not what the log leads to")
      }
      // A compacted log has dropped tombstones that the trees may still hold.
      if held.store.horizon == 0, try tombstones(held, bucket) != tombstones(log, bucket) {
        problems.append("the rows gone from \(bucket) are not those gone from the log")
      }
    }
    for index in held.indexes {
      guard let one = try reader(of: index.name, held), let other = try reader(of: index.name, log)
      else { continue }
      let groups = try one.groups()
      var isSame = try groups == other.groups()
      for group in groups where isSame { isSame = try one.rows(in: group) == other.rows(in: group) }
      if !isSame { problems.append("the index \(index.name) is not what the log leads to") }
    }
    return problems
  }

  /// A reader of an index; nil if the index is defined in code that is not registered, or was not
  /// built by then.
  private func reader(of name: String, _ snapshot: Snapshot) throws -> IndexReader? {
    // A text index has no groups; `checkInvariants` compares it with its rows.
    if snapshot.indexes.contains(where: { $0.name == name && $0.text != nil }) { return nil }
    do {
      return try snapshot.index(name)
    } catch {
      guard error.code == .indexDefinedInCode || error.code == .notFound else { throw error }
      return nil
    }
  }

  private func rows(_ snapshot: Snapshot, _ bucket: String) throws -> [StoredRow] {
    var rows: [StoredRow] = []
    try snapshot.forEachRow(in: bucket) {
      rows.append($0)
      return true
    }
    return rows
  }

  private func tombstones(_ snapshot: Snapshot, _ bucket: String) throws -> [Key: CommitNumber] {
    var tombstones: [Key: CommitNumber] = [:]
    try snapshot.forEachTombstone(in: bucket) {
      tombstones[$0] = $1
      return true
    }
    return tombstones
  }
}
