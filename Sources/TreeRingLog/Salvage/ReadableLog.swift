// Reading the sound commits of a damaged log: the input of salvage.
//
// 1. Files are grouped by first commit, the highest generation first (ReadableFiles.swift). Files
//    that mode `prefix` set aside come last. If one of their commits differs from a commit of the
//    same number elsewhere, the log has diverged since, and these files are ignored.
// 2. A walk over each file of a group (SegmentSurvey.swift) yields the offsets of its sound
//    commits. A lower generation is walked only if the one above it is damaged.
// 3. Commits below the next group's first are delivered in order of number, each once. Later
//    commits, which a lost next segment may leave in this file, join the next group after its own.
// 4. A number that no file holds is lost, unless an undamaged compacted segment declares it
//    removed. Headers, directories, later files and the page file prove the newest commit.
// 5. The scan reports a doubt if the log was not closed at its last sound frame: commits may have
//    followed it.
//
// The scan takes about 48 bytes of memory for each commit of one group, and changes nothing.

internal import Logging

/// A readable commit. Some of its logged values may be damaged.
package struct ReadableCommit {
  package var header: CommitHeader
  /// The decoded payload, valid until the call returns.
  package var payload: UnsafeRawBufferPointer
  /// The lost numbers between the previous readable commit and this one. Compaction removed the
  /// other numbers in between.
  package var lostBefore: [ClosedRange<CommitNumber>]
  /// The horizon for which its file was compacted; 0 if the file was not compacted or its header
  /// is lost.
  package var horizon: CommitNumber
  /// The whole frame, if another replica has sent it.
  package var frame: UnsafeRawBufferPointer?
  var entries: [ValueEntry]
  /// Reads and decodes a value at an offset in the frame; nil if it is damaged.
  var readValue: (ValueEntry, _ offset: UInt64) throws(TreeRingError) -> [UInt8]?

  /// The operation and part of each logged value in the commit. Excludes parts that this version
  /// does not know.
  package var values: [(operation: UInt32, part: ValuePart)] {
    entries.compactMap { entry in
      UInt8(exactly: entry.part).flatMap(ValuePart.init(rawValue:)).map { (entry.operation, $0) }
    }
  }

  /// One of its values, read and decoded; nil if it is damaged or missing.
  package func value(
    operation: UInt32, part: ValuePart
  ) throws(TreeRingError) -> [UInt8]? {
    var offset = header.storedByteCount - entries.reduce(0) { $0 + UInt64($1.stored) }
    for entry in entries {
      if entry.operation == operation, entry.part == UInt32(part.rawValue) {
        return try readValue(entry, offset)
      }
      offset += UInt64(entry.stored)
    }
    return nil
  }
}

/// A reason why a damaged log may have held commits that salvage does not know of.
public struct LogDoubt: Hashable, Sendable {
  /// The path of the file that gives the reason.
  public var file: String
  /// The uncertainty, in one sentence.
  public var problem: String
}

/// The extent of the log according to another file of the store.
package struct LogReach: Hashable, Sendable {
  package var storeID: UInt64
  package var commit: CommitNumber
  /// True if no source that states a later commit can be missing.
  package var isNewest: Bool

  package init(storeID: UInt64, commit: CommitNumber, isNewest: Bool = true) {
    self.storeID = storeID
    self.commit = commit
    self.isNewest = isNewest
  }
}

/// The result of `scanReadable`.
package struct ReadableLog: Sendable {
  /// The store's identifier; nil if no segment's header is readable.
  package var storeID: UInt64?
  /// The largest horizon that a readable header states.
  package var horizon: CommitNumber = 0
  /// True if a segment may be compacted for a horizon that no readable source states.
  package var isHorizonUnknown = false
  package var commitCount: UInt64 = 0
  /// The newest readable commit.
  package var lastCommit: CommitNumber = 0
  /// Damaged ranges, in order of files and offsets. Includes those whose commits another file
  /// holds.
  package var damage: [DamagedRange] = []
  /// Numbers of commits that no file holds and no sound header explains.
  package var lostCommits: [ClosedRange<CommitNumber>] = []
  /// Reasons why more may be missing than `lostCommits` lists.
  package var doubts: [LogDoubt] = []
  /// The reasons for ignoring files, by path.
  package var ignoredFiles: [String: String] = [:]

  package init() {}
}

/// Calls `body` with each commit of a log that is still readable, once, in order of number, until
/// `body` returns false or throws. Reads every file of the folder, follows no length before it is
/// checked, and changes nothing.
///
/// - Parameter reaches: the extent of the log according to other files of the store.
/// - Throws: errors of `body`; `notFound`, `io` if the folder or a whole file cannot be read.
package func scanReadable(
  directory: String, fileSystem: any FileSystem, reaches: [LogReach] = [],
  _ body: (ReadableCommit) throws -> Bool
) throws -> ReadableLog {
  var scan = try ReadableScan(directory: directory, fileSystem: fileSystem)
  try scan.run(reaches, body)
  return scan.log
}

/// One walk over a damaged log.
private struct ReadableScan {
  let directory: String
  let fileSystem: any FileSystem
  var log: ReadableLog
  private let groups: [ReadableFiles.Group]
  private let decoder: Decoder
  /// Commits at or above the next group's first, by number.
  private var waiting: [CommitNumber: FoundCommit] = [:]
  private var next: CommitNumber = 1
  /// Lost numbers not yet reported with a commit.
  private var lostBefore: [ClosedRange<CommitNumber>] = []
  /// Numbers that compaction removed.
  private var removed = RangeSet<CommitNumber>()
  /// True if a set-aside file holds a commit that differs from the log's of the same number.
  private var hasDiverged = false
  /// The newest commit that any readable source proves.
  private var reach: CommitNumber = 0
  /// Files without anything readable, since the last file with something readable.
  private var unreadable: [String] = []
  /// The walk over the last current file.
  private var last: SegmentSurvey?

  private struct FoundCommit {
    var survey: SegmentSurvey
    var commit: SegmentSurvey.Commit
    var isSetAside: Bool
  }

  init(directory: String, fileSystem: any FileSystem) throws {
    self.directory = directory
    self.fileSystem = fileSystem
    decoder = try Decoder()
    let files = try ReadableFiles(directory: directory, fileSystem: fileSystem)
    log = ReadableLog()
    log.storeID = files.storeID
    log.ignoredFiles = files.ignored
    log.doubts = files.misnamed.sorted { $0.key < $1.key }.map {
      LogDoubt(file: $0.key, problem: $0.value)
    }
    groups = files.groups
  }

  mutating func run(_ reaches: [LogReach], _ body: (ReadableCommit) throws -> Bool) throws {
    for (index, group) in groups.enumerated() {
      let end = index + 1 < groups.count ? groups[index + 1].first : CommitNumber.max
      guard try deliver(group, end: end, body) else { return }
    }
    for other in reaches where log.storeID == nil || other.storeID == log.storeID {
      reach = max(reach, other.commit)
    }
    let damaged = log.damage.filter { !hasDiverged || !$0.file.hasSuffix(Format.ignoredSuffix) }
    noteLost(upTo: max(reach, damaged.compactMap(\.commits?.upperBound).max() ?? 0) + 1)
    noteDoubts(of: reaches)
  }

  /// Records the reasons why commits may have followed the last known one.
  private mutating func noteDoubts(of reaches: [LogReach]) {
    for path in unreadable {
      log.doubts.append(
        LogDoubt(
          file: path, problem: "Nothing in it is readable; the commits it held are not known."))
    }
    guard let last, unreadable.isEmpty else {
      if log.doubts.isEmpty {
        log.doubts.append(LogDoubt(file: directory, problem: "The log has no readable segment."))
      }
      return
    }
    let what: String?
    switch last.ending {
    case .mark where last.hasUncountedCommits:
      what = "Commits before its closing mark are damaged; their number is not known."
    case .mark: what = nil
    case .directory where reaches.contains { $0.isNewest && $0.commit == log.lastCommit }:
      what = nil
    case .directory: what = "It is full, and the file that may have followed it is missing."
    case .open: what = "It was not closed; commits may have followed the last one."
    case .damaged: what = "It ends in damage, which may have held commits."
    }
    if let what { log.doubts.append(LogDoubt(file: last.path, problem: what)) }
  }

  /// Delivers the commits of a group. Returns false if `body` stopped the scan.
  private mutating func deliver(
    _ group: ReadableFiles.Group, end: CommitNumber, _ body: (ReadableCommit) throws -> Bool
  ) throws -> Bool {
    let surveys = try survey(group)
    var found: [CommitNumber: FoundCommit] = [:]
    var removed = RangeSet<CommitNumber>()
    for (survey, isSetAside) in surveys {
      for commit in survey.commits
      where commit.number >= group.first && !removed.contains(commit.number) {
        add(FoundCommit(survey: survey, commit: commit, isSetAside: isSetAside), to: &found)
      }
      if !isSetAside, removed.isEmpty { removed = survey.removedCommits }
    }
    note(surveys.filter { !$0.isSetAside }.map(\.survey), of: group)
    self.removed.formUnion(removed)
    for candidate in waiting.values { add(candidate, to: &found) }
    if hasDiverged { found = found.filter { !$0.value.isSetAside } }
    waiting = found.filter { $0.key >= end }
    for number in found.keys.filter({ $0 < end }).sorted() {
      guard let candidate = found[number] else { continue }
      noteLost(upTo: number)
      next = number + 1
      log.commitCount += 1
      log.lastCommit = number
      guard try pass(candidate, to: body) else { return false }
    }
    return true
  }

  /// The walks over a group's current files. If the highest generation is damaged and a lower one
  /// is sound, only that lower one counts: each generation is complete by itself.
  private mutating func survey(
    _ group: ReadableFiles.Group
  ) throws -> [(survey: SegmentSurvey, isSetAside: Bool)] {
    var surveys: [(survey: SegmentSurvey, isSetAside: Bool)] = []
    for file in group.files {
      let survey = try survey(file)
      log.horizon = max(log.horizon, survey.header?.horizon ?? 0)
      if !file.isSetAside, surveys.isEmpty ? survey.isSound : survey.isWhole {
        surveys = [(survey, false)]
        // It replaced the lower generations.
        for other in group.files where other.isSetAside {
          surveys.append((try self.survey(other), true))
        }
        return surveys
      }
      surveys.append((survey, file.isSetAside))
    }
    return surveys
  }

  private mutating func survey(_ file: ReadableFiles.Candidate) throws -> SegmentSurvey {
    let survey = try SegmentSurvey(
      file: fileSystem.open(file.path, .readOnly), name: file.name, decoder: decoder)
    log.damage += survey.damage
    return survey
  }

  /// Records the facts that a group's files prove; ignores set-aside files.
  private mutating func note(_ surveys: [SegmentSurvey], of group: ReadableFiles.Group) {
    guard let first = surveys.first else { return }
    let readable = surveys.filter(\.isReadable)
    if readable.isEmpty {
      unreadable.append(first.path)
      return
    }
    unreadable = []
    last = readable[0]
    noteLost(upTo: group.first)
    for survey in readable { reach = max(reach, survey.reach) }
    let lacksHeader = first.header == nil && group.files[0].name.generation > 0
    let isMixed = readable.count > 1 && readable.contains { $0.header?.isCompacted != false }
    if lacksHeader || isMixed {
      log.isHorizonUnknown = true
      log.doubts.append(
        LogDoubt(
          file: first.path,
          problem: "Compaction may have dropped commits there, up to a commit that is not known; "
            + "only the newest state can be read in the new store."))
    }
  }

  /// Adds a commit unless its number is present.
  private mutating func add(_ candidate: FoundCommit, to found: inout [CommitNumber: FoundCommit]) {
    guard let other = found[candidate.commit.number] else {
      found[candidate.commit.number] = candidate
      return
    }
    if candidate.isSetAside, !other.isSetAside, candidate.commit.identity != other.commit.identity {
      hasDiverged = true
      log.ignoredFiles[candidate.survey.path] =
        "set aside by mode `prefix`, and the log has since continued with other commits"
    }
  }

  /// Records the numbers from `next` up to, but excluding, `number` as lost, except removed ones.
  private mutating func noteLost(upTo number: CommitNumber) {
    guard next < number else { return }
    let lost = RangeSet(next..<number).subtracting(removed)
    next = number
    for range in lost.ranges {
      lostBefore.append(ClosedRange(range))
      if let last = log.lostCommits.last, last.upperBound + 1 == range.lowerBound {
        log.lostCommits[log.lostCommits.count - 1] = last.lowerBound...(range.upperBound - 1)
      } else {
        log.lostCommits.append(ClosedRange(range))
      }
    }
  }

  private mutating func pass(
    _ candidate: FoundCommit, to body: (ReadableCommit) throws -> Bool
  ) throws -> Bool {
    let lost = lostBefore
    lostBefore = []
    return try candidate.survey.read(candidate.commit) { header, payload, entries in
      try body(
        ReadableCommit(
          header: header, payload: payload, lostBefore: lost,
          horizon: candidate.survey.header?.horizon ?? 0, entries: entries,
          readValue: { (entry, offset) throws(TreeRingError) in
            try candidate.survey.value(entry, at: header.offset + offset)
          }))
    }
  }
}
