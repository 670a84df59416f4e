// Base segments: the remaining commits of another log as the beginning of a new one. A base segment
// is one compacted segment, as compaction would have left it, but written directly. The log must be
// empty or end in a base segment. Salvage also puts base segments behind other segments, for ranges
// of numbers of which nothing is left.

/// The first commit and the store of the next base segment of a log.
package struct BaseSegmentPlace: Hashable, Sendable {
  /// The first commit that it covers.
  package var firstCommit: CommitNumber
  fileprivate var storeID: UInt64?

  /// The place behind all commits of a log. The log must then be sealed and closed.
  package init(behind log: CommitLog) {
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

  /// Begins the segment. The caller keeps other users away from the log.
  ///
  /// - Parameters:
  ///   - place: the result of `place(in:fileSystem:)`.
  ///   - horizon: the last commit that the segment covers; it becomes the log's horizon.
  /// - Throws: `invalidInput` if the horizon lies before the place; `noSpace`, `io`.
  package init(
    at place: BaseSegmentPlace, horizon: CommitNumber, directory: String,
    fileSystem: any FileSystem, random: () -> UInt64 = { UInt64.random(in: 1...UInt64.max) }
  ) throws(TreeRingError) {
    guard horizon >= place.firstCommit, horizon < .max else {
      throw TreeRingError(
        .invalidInput,
        "A base of commit \(horizon) cannot follow commit \(place.firstCommit - 1).",
        commit: horizon)
    }
    var header = SegmentHeader(
      salt: random(), storeID: place.storeID ?? random(), firstCommit: place.firstCommit,
      generation: 1, origin: .sealed)
    header.lastCommit = horizon
    header.horizon = horizon
    encoder = try FrameEncoder()
    output = try SegmentOutput(header, in: directory, fileSystem: fileSystem, reserving: 0)
  }

  /// The place for the next base segment of a log: behind the base segments it holds.
  ///
  /// - Throws: `alreadyExists` if the log holds anything but base segments.
  package static func place(
    in directory: String, fileSystem: any FileSystem
  ) throws(TreeRingError) -> BaseSegmentPlace {
    var place = BaseSegmentPlace(firstCommit: 1)
    let names = try fileSystem.list(directory).compactMap(SegmentName.init(fileName:))
    for name in names.sorted() {
      let file = try fileSystem.open("\(directory)/\(name.fileName)", .readOnly)
      defer { file.close() }
      let (header, _) = try SegmentScan.header(of: file, name: name)
      guard header.lastCommit > 0, header.lastCommit == header.horizon,
        header.firstCommit == place.firstCommit
      else {
        throw TreeRingError(
          .alreadyExists,
          "A base can only be the beginning of a store, and \(directory) holds commits already.",
          file: directory)
      }
      place = BaseSegmentPlace(
        firstCommit: header.lastCommit + 1, storeID: header.storeID)
    }
    return place
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
        "Commit \(draft.number) of a base does not lie between \(before) and "
          + "\(output.header.horizon), or its date goes back.", commit: draft.number)
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
        .invalidInput, "The base lacks its own commit, \(output.header.horizon).",
        commit: output.header.horizon)
    }
    _ = try output.finish()
  }

  /// Removes the unfinished segment.
  package func abandon() { output.abandon() }
}
