// One salvage: copies the readable commits one by one, and fills the numbers of the missing ones.
//
// Each missing number gets a commit without operations, as long as these are few in proportion to
// the bytes of the damaged log. Beyond that, one compacted segment stands for a whole gap. It has
// one commit, the gap's last, with a note about the gap. The horizon then lies there, so the states
// before it can no longer be read by number. Without this limit a forged number could require more
// room than any disk has.

internal import Logging
internal import TreeRingLog

/// Copies a damaged log into a new store. One thread.
final class Salvager {
  private let source: String
  private let reaches: [LogReach]
  private let folder: String
  private let fileSystem: any FileSystem
  private var options: StoreOptions
  private let progress: (CopyProgress) -> Bool
  private var report = SalvageReport()
  /// The date of the last commit written.
  private var timestamp: Timestamp?
  private var done: UInt64 = 0
  private var total: UInt64 = 0
  /// Findings about manual places whose rows may still follow.
  private var awaitingRow: [SalvageFinding] = []
  /// The numbers of commits that compaction had removed.
  private var removed: [ClosedRange<CommitNumber>] = []
  /// The number of commits without operations that may still be written.
  private var placeholderCount: UInt64 = 0
  /// The number of gaps that a compacted segment stands for.
  private var gapSegmentCount = 0

  private static let minimumPlaceholderCount: UInt64 = 1 << 16
  private static let gapSegmentLimit = 64

  init(
    source: String, reaches: [LogReach], folder: String, fileSystem: any FileSystem,
    options: StoreOptions, progress: @escaping (CopyProgress) -> Bool
  ) {
    self.source = source
    self.reaches = reaches
    self.folder = folder
    self.fileSystem = fileSystem
    self.options = options
    self.options.mode = .create
    self.options.isUnfinishedCopy = true
    self.options.durability = .unsynced
    self.progress = progress
  }

  func run() throws -> SalvageReport {
    for name in try fileSystem.list(source) {
      total += try fileSystem.open("\(source)/\(name)", .readOnly).size()
    }
    guard total > 0 else {
      throw TreeRingError(
        .notFound,
        "There are no bytes in \(source), so nothing can be salvaged. Check the path.",
        file: source)
    }
    placeholderCount = Self.minimumPlaceholderCount + total
    let copy = try UnfinishedCopy.begin(.salvage, in: folder, fileSystem: fileSystem)
    defer { copy.release() }
    var store = try open()
    let found = try scanReadable(directory: source, fileSystem: fileSystem, reaches: reaches) {
      try add($0, to: &store)
      return true
    }
    if let last = found.lostCommits.last?.upperBound, last > report.lastCommit,
      last - report.lastCommit <= placeholderCount
    {
      try fill(through: last, lost: found.lostCommits, at: timestamp ?? .now, in: store)
    }
    let saved = try store.snapshot()
    report.findings += try awaitingRow.filter { finding in
      try finding.row.map { try !saved.contains($0.key, in: $0.bucket) } ?? false
    }
    report.commitCount = found.commitCount
    report.lostCommits = found.lostCommits
    report.doubts = found.doubts
    report.damage = found.damage
    report.ignoredFiles = found.ignoredFiles
    try store.sync()
    try store.close()
    report.horizon = try compact(
      for: found.isHorizonUnknown ? report.lastCommit : min(found.horizon, report.lastCommit))
    try copy.finish()
    return report
  }

  private func open() throws -> Store {
    try Store(path: folder, fileSystem: fileSystem, options: options)
  }

  private func add(_ commit: ReadableCommit, to store: inout Store) throws {
    let number = commit.header.number
    let date = max(timestamp ?? commit.header.timestamp, commit.header.timestamp)
    try bridge(through: number - 1, lost: commit.lostBefore, at: timestamp ?? date, in: &store)
    do {
      try write(number, in: store) { tx in
        let adopted = try tx.adopt(commit, at: date)
        self.report.findings += adopted.findings
        self.awaitingRow += adopted.awaitingRow
      }
    } catch let error as TreeRingError where Self.refusals.contains(error.code) {
      report.findings.append(
        SalvageFinding(
          commit: number, operation: 0, row: nil, wasLeftOut: true, problem: error.message))
      try write(number, in: store) { tx in
        tx.stand(inFor: "Salvage could not decode this commit.", at: date)
      }
    }
    timestamp = date
    done = min(total, done + commit.header.storedByteCount)
    try Store.checkContinues(progress(CopyProgress(doneByteCount: done, byteCount: total)))
  }

  /// The error codes for a commit that contradicts the state. Other errors concern the new store or
  /// its format.
  private static let refusals: [TreeRingError.Code] = [
    .corruption, .invalidInput, .notFound, .tooLarge, .conflict, .alreadyExists,
  ]

  private func write(
    _ number: CommitNumber, in store: Store, _ body: (Transaction) throws -> Void
  ) throws {
    let written = try store.write(durability: .unsynced, body)
    guard written.commit == number else {
      throw TreeRingError(
        .corruption, "Commit \(number) repeats the idempotency key of commit \(written.commit).",
        commit: number)
    }
    report.lastCommit = number
  }

  // MARK: Gaps

  /// Fills the numbers through `last`, of which no commit is readable.
  private func bridge(
    through last: CommitNumber, lost: [ClosedRange<CommitNumber>], at date: Timestamp,
    in store: inout Store
  ) throws {
    guard last > report.lastCommit else { return }
    if last - report.lastCommit <= placeholderCount {
      try fill(through: last, lost: lost, at: date, in: store)
    } else {
      try cover(through: last, at: date, in: &store)
    }
  }

  /// Writes commits without operations through `last`.
  private func fill(
    through last: CommitNumber, lost: [ClosedRange<CommitNumber>], at date: Timestamp,
    in store: Store
  ) throws {
    placeholderCount -= last - report.lastCommit
    while report.lastCommit < last {
      let number = report.lastCommit + 1
      let isLost = lost.contains { $0.contains(number) }
      try write(number, in: store) { tx in
        tx.stand(inFor: isLost ? "Salvage: this commit is lost." : nil, at: date)
      }
      if number & 1023 == 0 {
        try Store.checkContinues(progress(CopyProgress(doneByteCount: done, byteCount: total)))
      }
      if isLost { continue }
      if let range = removed.last, range.upperBound + 1 == number {
        removed[removed.count - 1] = range.lowerBound...number
      } else {
        removed.append(number...number)
      }
    }
  }

  /// Writes one compacted segment for all numbers through `last`, and reopens the store after it.
  private func cover(
    through last: CommitNumber, at date: Timestamp, in store: inout Store
  ) throws {
    gapSegmentCount += 1
    guard gapSegmentCount <= Self.gapSegmentLimit else {
      throw TreeRingError(
        .notSupported,
        "The commit numbers in \(source) have over \(Self.gapSegmentLimit) gaps too wide to fill. "
          + "Move away the files that do not belong to the log, and salvage again.", file: source,
        commit: last)
    }
    try store.close()
    let log = try openLog()
    try log.seal()
    let start = BaseSegmentStart(after: log)
    try log.close()
    let output = try BaseSegmentWriter(
      at: start, horizon: last, directory: folder + "/log", fileSystem: fileSystem)
    var notes = CommitNotes()
    notes.note = "Salvage: nothing is left of commits \(start.firstCommit) to \(last)."
    try output.append(BaseCommit(number: last, timestamp: date).draft(notes))
    try output.finish()
    try removePages()
    store = try open()
    report.lastCommit = last
  }

  // MARK: The horizon

  private func openLog() throws(TreeRingError) -> CommitLog {
    var logOptions = LogOptions(access: .readWrite, segmentSize: options.segmentSize)
    logOptions.logger = options.logger
    return try CommitLog(
      directory: folder + "/log", fileSystem: fileSystem, options: logOptions)
  }

  /// Gives the new log a horizon, and drops the placeholders of removed commits before it.
  /// - Returns: The log's horizon.
  private func compact(for horizon: CommitNumber) throws -> CommitNumber {
    if horizon == 0, gapSegmentCount == 0 { return 0 }
    let log = try openLog()
    try log.seal()
    for segment in log.segments.reversed() where segment.isSealed {
      guard segment.firstCommit < horizon else { continue }
      try log.rewrite(segment: segment.firstCommit, horizon: horizon) { header, _ in
        header.number < horizon && isRemoved(header.number) ? .drop : .keep
      }
    }
    let reached = log.horizon
    try log.close()
    // The page file was made for the log before it was rewritten.
    try removePages()
    return reached
  }

  /// True if compaction had removed a commit. O(log gaps).
  private func isRemoved(_ number: CommitNumber) -> Bool {
    removed[removed.partitioningIndex { $0.upperBound >= number }...].first?.contains(number)
      ?? false
  }

  private func removePages() throws(TreeRingError) {
    if try fileSystem.exists(folder + "/pages") { try fileSystem.unlink(folder + "/pages") }
  }
}
