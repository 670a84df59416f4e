// Base segments: compacted segments that are written directly, with the remaining commits of
// another log. They begin a new log: it must be empty or end in a base segment. Salvage also writes
// one after other segments, for a range of commits that are all lost.

/// The first commit and the store of the next base segment of a log.
package struct BaseSegmentStart: Hashable, Sendable {
  /// The first commit that it covers.
  package var firstCommit: CommitNumber
  fileprivate var storeID: UInt64?

  /// The start after all commits of a log. Seal and close the log before a segment is written
  /// there.
  package init(after log: CommitLog) {
    firstCommit = log.sequenced + 1
    storeID = log.storeID
  }

  fileprivate init(firstCommit: CommitNumber, storeID: UInt64? = nil) {
    self.firstCommit = firstCommit
    self.storeID = storeID
  }
}

/// Writes one base segment. For one thread.
package final class BaseSegmentWriter {
  private let output: SegmentOutput
  private let encoder: FrameEncoder
  private var last: (number: CommitNumber, timestamp: Timestamp)?

  /// Begins the segment. The caller excludes other users of the log.
  ///
  /// - Parameters:
  ///   - start: the result of `start(in:fileSystem:)`.
  ///   - horizon: the last commit that the segment covers; it becomes the log's horizon.
  /// - Throws: `invalidInput` if the horizon lies before the start; `noSpace`, `io`.
  package init(
    at start: BaseSegmentStart, horizon: CommitNumber, directory: String,
    fileSystem: any FileSystem, random: () -> UInt64 = { UInt64.random(in: 1...UInt64.max) }
  ) throws(TreeRingError) {
    guard horizon >= start.firstCommit, horizon < .max else {
      throw TreeRingError(
        .invalidInput,
        "A base of commit \(horizon) cannot follow commit \(start.firstCommit - 1). Write bases in "
          + "order.",
        commit: horizon)
    }
    var header = SegmentHeader(
      salt: random(), storeID: start.storeID ?? random(), firstCommit: start.firstCommit,
      generation: 1, origin: .sealed)
    header.lastCommit = horizon
    header.horizon = horizon
    encoder = try FrameEncoder()
    output = try SegmentOutput(header, in: directory, fileSystem: fileSystem, reserving: 0)
  }

  /// The start of the next base segment of a log: after the base segments that it holds.
  ///
  /// - Throws: `alreadyExists` if the log holds anything but base segments.
  package static func start(
    in directory: String, fileSystem: any FileSystem
  ) throws(TreeRingError) -> BaseSegmentStart {
    var start = BaseSegmentStart(firstCommit: 1)
    let names = try fileSystem.list(directory).compactMap(SegmentName.init(fileName:))
    for name in names.sorted() {
      let file = try fileSystem.open("\(directory)/\(name.fileName)", .readOnly)
      defer { file.close() }
      let (header, _) = try SegmentScan.header(of: file, name: name)
      guard header.lastCommit > 0, header.lastCommit == header.horizon,
        header.firstCommit == start.firstCommit
      else {
        throw TreeRingError(
          .alreadyExists,
          "A base can only begin a store, and \(directory) holds other commits. Name a new folder.",
          file: directory)
      }
      start = BaseSegmentStart(
        firstCommit: header.lastCommit + 1, storeID: header.storeID)
    }
    return start
  }

  /// Appends a commit.
  ///
  /// - Throws: `invalidInput` if its number or timestamp goes back, or if it lies outside the
  ///   segment; `tooLarge`, `noSpace`, `io`. After a failure the segment is unusable.
  package func append(_ draft: CommitDraft) throws(TreeRingError) {
    let before = last?.number ?? output.header.firstCommit - 1
    guard draft.number > before, draft.number <= output.header.horizon,
      draft.timestamp >= last?.timestamp ?? draft.timestamp
    else {
      throw TreeRingError(
        .invalidInput,
        "Commit \(draft.number) of a base must lie between \(before) and \(output.header.horizon) "
          + "and must not have an earlier date than the commit before.", commit: draft.number)
    }
    let begin = output.position.offset
    try output.append { (buffer, position) throws(TreeRingError) in
      try encoder.encode(draft, at: position, synced: SegmentOutput.synced, into: buffer)
    }
    output.note(draft.number, offset: begin, timestamp: draft.timestamp)
    last = (draft.number, draft.timestamp)
  }

  /// Gives the segment its name, durably. The caller must have appended its last commit.
  package func finish() throws(TreeRingError) {
    guard last?.number == output.header.horizon else {
      output.abandon()
      throw TreeRingError(
        .invalidInput,
        "The base lacks commit \(output.header.horizon), its last. The segment was removed.",
        commit: output.header.horizon)
    }
    _ = try output.finish()
  }

  /// Removes the unfinished segment.
  package func abandon() { output.abandon() }
}
