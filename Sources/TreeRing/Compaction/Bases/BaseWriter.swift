// Writes the beginning of a store's log from bases: one compacted segment for each. A segment gets
// its name only when it is complete. So after an interruption the store begins with the bases
// written before, or with none.

internal import TreeRingLog

/// Writes the bases that a new store begins with, the oldest first. It holds the store's lock until
/// `close`. One thread.
package final class BaseWriter {
  private let folder: String
  private let fileSystem: any FileSystem
  private let lock: StoreLock
  private var catalog: Catalog
  /// The buckets that the log names so far.
  private var named: Set<StoreName> = []
  private var last: (commit: CommitNumber, timestamp: Timestamp)
  private var logFolder: String { folder + "/log" }

  /// Creates the folder, if it does not exist, and takes its lock.
  ///
  /// - Parameters:
  ///   - continues: Whether to append to bases that exist already.
  ///   - isUnfinishedCopy: Whether the folder is that of a copy that the caller is making.
  /// - Throws: `alreadyExists` if the folder holds commits; `notAStore` if it holds other things;
  ///   `unfinishedCopy`, `locked`, `io`, `noSpace`.
  package init(
    folder: String, fileSystem: any FileSystem, continues: Bool = false,
    isUnfinishedCopy: Bool = false
  ) throws {
    self.folder = folder
    self.fileSystem = fileSystem
    if !isUnfinishedCopy { try UnfinishedCopy.check(folder, fileSystem: fileSystem) }
    switch try StoreFolder(folder, fileSystem: fileSystem) {
    case .absent, .empty, .store: break
    case .damaged(let error): throw error
    case .foreign(let name): throw StoreFolder.refusal(name, in: folder)
    }
    try fileSystem.makeDirectory(folder)
    try fileSystem.syncFolder(above: folder)
    lock = try StoreLock(path: folder + "/LOCK", fileSystem: fileSystem)
    catalog = Catalog()
    last = (0, Timestamp(microseconds: .min))
    do {
      try prepare(continues: continues)
    } catch {
      lock.release()
      throw error
    }
  }

  private func prepare(continues: Bool) throws {
    try fileSystem.makeDirectory(logFolder)
    try fileSystem.syncFolder(above: logFolder)
    // The process that wrote the existing bases may have been killed before their names were
    // durable.
    try fileSystem.syncDirectory(logFolder)
    let start = try BaseSegmentWriter.start(in: logFolder, fileSystem: fileSystem)
    if start.firstCommit == 1 { return }
    guard continues else {
      throw TreeRingError(
        .alreadyExists, "\(folder) holds a store already. Name a new folder.", file: folder)
    }
    // New buckets and definitions get the numbers after those given out.
    let log = try CommitLog(
      directory: logFolder, fileSystem: fileSystem, options: LogOptions(access: .readOnly))
    defer { try? log.close() }
    try log.replay(from: 1, through: log.completed) { (header, payload) throws(TreeRingError) in
      var reader = try PayloadReader(payload, commit: header.number)
      while let operation = try reader.next() {
        if case .index(let record) = operation { catalog.set(record) }
        if case .stub(_, let buckets) = operation { for bucket in buckets { catalog.add(bucket) } }
        if let row = operation.row { catalog.add(row.bucket) }
      }
      last = (header.number, header.timestamp)
      return true
    }
    named = Set(catalog.buckets.all.map { StoreName($0.name) })
  }

  /// The commit of the newest base; 0 without one.
  package var newestCommit: CommitNumber { last.commit }

  /// Releases the folder's lock.
  package func close() { lock.release() }

  /// Writes one base, durably.
  ///
  /// - Parameters:
  ///   - info: The commit of the base. It is later than those of the bases before.
  ///   - operations: Calls its argument with each operation, in the order of their commits. These
  ///     are later than the commit of the base before and not later than this base's.
  /// - Throws: The errors of `operations`; `invalidInput`, `tooLarge` for operations that cannot be
  ///   in a base; `noSpace`, `io`. In each case nothing of this base is kept.
  package func write(
    _ info: BaseInfo, operations: ((BaseOperation) throws -> Void) throws -> Void
  ) throws {
    let start = try BaseSegmentWriter.start(in: logFolder, fileSystem: fileSystem)
    let output = try BaseSegmentWriter(
      at: start, horizon: info.commit, directory: logFolder, fileSystem: fileSystem)
    let (oldCatalog, oldNamed, oldLast) = (catalog, named, last)
    do {
      for name in info.buckets { _ = try reference(to: name) }
      var commit: BaseCommit?
      try operations { operation in
        let number = operation.stamp.commit
        guard number > 0, number <= info.commit, number >= commit?.number ?? 0 else {
          throw TreeRingError(
            .invalidInput,
            "An operation of commit \(number) cannot stand there in the base of commit "
              + "\(info.commit): they come in the order of their commits.", commit: number)
        }
        if let open = commit, open.number != number {
          try end(open, CommitNotes(), output)
          commit = nil
        }
        var open = commit ?? begin(number, operation.timestamp)
        try add(operation, to: &open)
        commit = open
      }
      if let open = commit, open.number != info.commit {
        try end(open, CommitNotes(), output)
        commit = nil
      }
      var own = commit ?? begin(info.commit, info.timestamp)
      let unnamed = info.buckets.filter { !named.contains(StoreName($0)) }
      try own.declare(unnamed.map { try reference(to: $0) })
      named.formUnion(unnamed.names)
      var notes = CommitNotes()
      notes.note = info.note
      notes.annotation = info.annotation
      try end(own, notes, output)
    } catch {
      (catalog, named, last) = (oldCatalog, oldNamed, oldLast)
      output.abandon()
      throw error
    }
    try output.finish()
  }

  private func begin(_ number: CommitNumber, _ timestamp: Timestamp) -> BaseCommit {
    BaseCommit(number: number, timestamp: max(timestamp, last.timestamp))
  }

  private func end(
    _ commit: BaseCommit, _ notes: CommitNotes, _ output: BaseSegmentWriter
  ) throws(TreeRingError) {
    try output.append(commit.draft(notes))
    last = (commit.number, commit.timestamp)
  }

  private func add(_ base: BaseOperation, to commit: inout BaseCommit) throws {
    switch base.operation {
    case .row(let row, .put(let coder, let object, let metadata)):
      try commit.put(
        base, try reference(to: row.bucket), row.key.bytes, object, metadata, coder)
      named.insert(StoreName(row.bucket))
    case .row(let row, .delete):
      try commit.delete(row.key.bytes, in: try reference(to: row.bucket))
      named.insert(StoreName(row.bucket))
    case .tag(let name, let tagged): try commit.tag(name, tagged)
    case .index(let name, let version, let definition):
      try Limits.check(name: name, of: "index")
      let known = definition == .removed ? catalog.indexes[name]?.number : nil
      let record = IndexRecord(
        name: name, number: known ?? catalog.nextIndexNumber, version: version,
        definition: try here(definition, of: name))
      try record.check()
      catalog.set(record)
      commit.index(record)
    case .place(let place, let row, let label):
      try commit.place(place, row.key.bytes, in: try reference(to: row.bucket), label: label)
      named.insert(StoreName(row.bucket))
    case .row:
      throw commit.refused("writes a part of a row, where a base has whole rows")
    }
  }

  /// The definition with its parent, if it filters one, replaced by this store's.
  private func here(
    _ definition: IndexRecord.Definition, of name: String
  ) throws(TreeRingError) -> IndexRecord.Definition {
    func known(_ parent: IndexRecord) throws(TreeRingError) -> IndexRecord {
      if let record = catalog.indexes[parent.name] { return record }
      throw TreeRingError(
        .notFound,
        "The index \(name) filters \(parent.name), which the base does not define before it.")
    }
    switch definition {
    case .filtered(let parent, let buckets): return .filtered(try known(parent), buckets: buckets)
    case .selected(let parent, let text): return .selected(try known(parent), text)
    case .unique(let definition): return .unique(try here(definition, of: name))
    case .removed, .fields, .summed, .code, .summedCode, .manual, .reference, .expiry, .text,
      .events:
      return definition
    }
  }

  /// The bucket with its number; a new number if the bucket is not known.
  private func reference(to bucket: String) throws(TreeRingError) -> BucketReference {
    if let number = catalog.buckets[bucket] {
      return BucketReference(number: number, name: bucket)
    }
    try Limits.check(name: bucket, of: "bucket")
    let reference = BucketReference(number: catalog.nextBucketNumber, name: bucket)
    catalog.add(reference)
    return reference
  }
}
