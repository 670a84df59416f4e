// From a damaged store to a new one that holds everything still readable.
//
// 1. Every readable commit is taken over under its own number, by a write that applies it; operations
//    that cannot be applied any more become stubs.
// 2. A lost commit gets a commit without operations and a note. So does, for the time being, one that
//    compaction had removed; those go again at the end, when the new log is rewritten for the old
//    horizon.
//
// The damaged store is only read.

internal import Logging
public import TreeRingLog

extension Store {
  /// Copies every readable commit of a damaged store into a new one, under the same numbers.
  ///
  /// Operations that cannot be applied any more (metadata of a row whose put is lost) are left out and
  /// listed, also those whose own value is damaged. The damaged store is not changed. It must not be
  /// open for writing.
  ///
  /// - Parameters:
  ///   - damaged: the folder of the damaged store.
  ///   - folder: the folder of the new store: a new or an empty one.
  ///   - progress: called now and then; false cancels, and what the new folder holds is of no use.
  /// - Throws: `alreadyExists` if the folder holds anything; `notFound` if there is no store or no
  ///   segment in it; `locked` if it is open for writing; `unsupportedFormat` if a newer version wrote
  ///   it; `noSpace`, `io`, `cancelled`.
  @discardableResult
  public static func salvage(
    from damaged: String, to folder: String, progress: (CopyProgress) -> Bool = { _ in true }
  ) throws(TreeRingError) -> SalvageReport {
    try salvage(from: damaged, to: folder, on: PosixFileSystem(), progress: progress)
  }

  @discardableResult
  package static func salvage(
    from damaged: String, to folder: String, on fileSystem: any FileSystem,
    options: StoreOptions = StoreOptions(), progress: (CopyProgress) -> Bool = { _ in true }
  ) throws(TreeRingError) -> SalvageReport {
    try checkIsNew(folder, on: fileSystem)
    guard try !fileSystem.isLocked(damaged + "/LOCK") else {
      throw TreeRingError(
        .locked, "\(damaged) is open for writing. Close it there first.", file: damaged)
    }
    let log = try BackupSwitch.logFolder(of: damaged, fileSystem: fileSystem, mayWrite: false)
    guard try fileSystem.exists(log) else {
      throw TreeRingError(.notFound, "There is no store at \(damaged).", file: damaged)
    }
    return try withoutActuallyEscaping(progress) { progress throws(TreeRingError) in
      let salvager = Salvager(
        source: log, folder: folder, fileSystem: fileSystem, options: options,
        progress: progress)
      return try typed { try salvager.run() }
    }
  }
}

/// One salvage. One thread.
private final class Salvager {
  private let source: String
  private let folder: String
  private let fileSystem: any FileSystem
  private var options: StoreOptions
  private let progress: (CopyProgress) -> Bool
  private var report = SalvageReport()
  private var timestamp = Timestamp(microseconds: .min)
  private var done: UInt64 = 0
  private var total: UInt64 = 0
  /// Places whose rows may come yet.
  private var awaitingRow: [SalvageFinding] = []
  /// Numbers that compaction had removed.
  private var removed: [ClosedRange<CommitNumber>] = []

  init(
    source: String, folder: String, fileSystem: any FileSystem, options: StoreOptions,
    progress: @escaping (CopyProgress) -> Bool
  ) {
    self.source = source
    self.folder = folder
    self.fileSystem = fileSystem
    self.options = options
    self.options.mode = .create
    self.options.durability = .none
    self.progress = progress
  }

  func run() throws -> SalvageReport {
    for name in try fileSystem.list(source) {
      total += try fileSystem.open("\(source)/\(name)", .readOnly).size()
    }
    guard total > 0 else {
      throw TreeRingError(.notFound, "There is nothing in \(source) to salvage.", file: source)
    }
    try fileSystem.makeDirectory(folder)
    let store = try Store(path: folder, fileSystem: fileSystem, options: options)
    let found = try scanReadable(directory: source, fileSystem: fileSystem) { commit in
      try add(commit, to: store)
      return true
    }
    if let last = found.lostCommits.last?.upperBound, last > report.lastCommit {
      try fill(through: last, lost: found.lostCommits, in: store)
    }
    let saved = try store.snapshot()
    report.findings += try awaitingRow.filter { finding in
      try finding.row.map { try !saved.contains($0.key, in: $0.bucket) } ?? false
    }
    report.commitCount = found.commitCount
    report.lostCommits = found.lostCommits
    report.damage = found.damage
    report.ignoredFiles = found.ignoredFiles
    try store.sync()
    try store.close()
    try compact(for: min(found.horizon, report.lastCommit))
    return report
  }

  private func add(_ commit: ReadableCommit, to store: Store) throws {
    let number = commit.header.number
    try fill(through: number - 1, lost: commit.lostBefore, in: store)
    do {
      try write(number, in: store) { tx in
        let adopted = try tx.adopt(commit)
        self.report.findings += adopted.findings
        self.awaitingRow += adopted.awaitingRow
      }
    } catch let error as TreeRingError where error.code == .corruption {
      report.findings.append(
        SalvageFinding(
          commit: number, operation: 0, row: nil, wasLeftOut: true, problem: error.message))
      try write(number, in: store) { tx in
        tx.stand(inFor: "Salvage could not decode this commit.", at: commit.header.timestamp)
      }
    }
    timestamp = commit.header.timestamp
    done = min(total, done + commit.header.storedByteCount)
    try Store.goOn(progress(CopyProgress(doneByteCount: done, byteCount: total)))
  }

  /// Writes commits without operations up to a number.
  private func fill(
    through last: CommitNumber, lost: [ClosedRange<CommitNumber>], in store: Store
  ) throws {
    while report.lastCommit < last {
      let number = report.lastCommit + 1
      let isLost = lost.contains { $0.contains(number) }
      try write(number, in: store) { tx in
        tx.stand(inFor: isLost ? "Salvage: this commit is lost." : nil, at: timestamp)
      }
      if isLost { continue }
      if let range = removed.last, range.upperBound + 1 == number {
        removed[removed.count - 1] = range.lowerBound...number
      } else {
        removed.append(number...number)
      }
    }
  }

  private func write(
    _ number: CommitNumber, in store: Store, _ body: (Transaction) throws -> Void
  ) throws {
    let written = try store.write(durability: Durability.none, body)
    guard written.commit == number else {
      throw TreeRingError(
        .corruption, "Commit \(number) repeats the key of commit \(written.commit).",
        commit: number)
    }
    report.lastCommit = number
  }

  /// Gives the new log the horizon of the old one.
  private func compact(for horizon: CommitNumber) throws {
    guard horizon > 0 else { return }
    var logOptions = LogOptions(access: .readWrite, segmentSize: options.segmentSize)
    logOptions.logger = options.logger
    let log = try CommitLog(
      directory: folder + "/log", fileSystem: fileSystem, options: logOptions)
    try log.seal()
    for segment in log.segments.reversed() where segment.isSealed {
      guard segment.firstCommit < horizon else { continue }
      try log.rewrite(segment: segment.firstCommit, horizon: horizon) { header, _ in
        let isRemoved = removed.contains { $0.contains(header.number) }
        return isRemoved && header.number < horizon ? .drop : .keep
      }
    }
    try log.close()
    // It was made for the log as it was before.
    if try fileSystem.exists(folder + "/pages") { try fileSystem.unlink(folder + "/pages") }
  }
}
