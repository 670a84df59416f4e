// What can still be read of a log, however damaged: what salvage works with.
//
// 1. Files are taken in groups: those with the same first commit in their names, highest generation
//    first; files that mode `prefix` set aside come last, and count only while none of their commits
//    differs from one of the same number elsewhere: then the log has gone another way since.
// 2. Each file of a group is walked (SegmentSurvey.swift) and gives the places of its sound commits.
//    A lower generation is walked only if the one above it is damaged.
// 3. Commits below the next group's first are handed out in order of number, each once. Later ones
//    (the next segment may be lost) wait and take part in the next group, behind its own.
// 4. A number that nobody has is lost, unless an undamaged compacted segment says it is gone.
//
// Memory: some 48 bytes for each commit of one group. Nothing is changed.

internal import Logging

/// A commit that is whole, or whole but for some of its values.
package struct ReadableCommit {
  package var header: CommitHeader
  /// Valid until the call returns.
  package var payload: UnsafeRawBufferPointer
  /// The numbers between the readable commit before and this one that are lost; others in between
  /// were removed by compaction.
  package var lostBefore: [ClosedRange<CommitNumber>]
  /// The horizon that its file was compacted for; 0 if that was not, or cannot be told.
  package var horizon: CommitNumber { survey.header?.horizon ?? 0 }
  fileprivate var survey: SegmentSurvey
  fileprivate var entries: [ValueEntry]

  /// The logged values it has: operation and part. A part that this version does not know is left
  /// out.
  package var values: [(operation: UInt32, part: ValuePart)] {
    entries.compactMap { entry in
      UInt8(exactly: entry.part).flatMap(ValuePart.init(rawValue:)).map { (entry.operation, $0) }
    }
  }

  /// One of its values, read and decoded; nil if it is damaged or there is none.
  package func value(
    operation: UInt32, part: ValuePart
  ) throws(TreeRingError) -> [UInt8]? {
    var offset = header.storedByteCount - entries.reduce(0) { $0 + UInt64($1.stored) }
    for entry in entries {
      if entry.operation == operation, entry.part == UInt32(part.rawValue) {
        return try survey.value(entry, at: header.offset + offset)
      }
      offset += UInt64(entry.stored)
    }
    return nil
  }
}

/// A part of a segment's file that could not be read.
public struct LostPart: Hashable, Sendable {
  /// The path of the file.
  public var file: String
  /// Where the part begins, in bytes from the file's start.
  public var offset: UInt64
  /// How long it is, in bytes.
  public var byteCount: UInt64
  /// The commits that may have been there, going by those around; nil if that is not known, or none.
  public var commits: ClosedRange<CommitNumber>?
  /// What is wrong, in a few words.
  public var problem: String
}

/// What `scanReadable` found.
package struct ReadableLog: Sendable {
  /// Nil if no segment's header is readable.
  package var storeID: UInt64?
  /// The largest horizon that a readable header states.
  package var horizon: CommitNumber = 0
  package var commitCount: UInt64 = 0
  /// The newest readable commit.
  package var lastCommit: CommitNumber = 0
  /// Damaged places, in order of files and offsets; also those whose commits were found elsewhere.
  package var damage: [LostPart] = []
  /// Numbers of commits that no file holds and no sound header explains.
  package var lostCommits: [ClosedRange<CommitNumber>] = []
  /// Files that were passed over, and why.
  package var ignoredFiles: [String: String] = [:]

  package init() {}
}

/// Calls `body` with each commit that can still be read of the log in a folder, once, in order of
/// number, until it returns false or throws. Reads every file of the folder; follows no length
/// before it is checked; changes nothing.
///
/// - Throws: what `body` throws; `notFound`, `io` if the folder or a whole file cannot be read.
package func scanReadable(
  directory: String, fileSystem: any FileSystem, _ body: (ReadableCommit) throws -> Bool
) throws -> ReadableLog {
  var scan = try ReadableScan(directory: directory, fileSystem: fileSystem)
  try scan.run(body)
  return scan.log
}

/// One walk over a damaged log.
private struct ReadableScan {
  let directory: String
  let fileSystem: any FileSystem
  var log = ReadableLog()
  private var groups: [(first: CommitNumber, files: [String])] = []
  private let decoder: Decoder
  /// Commits at or above the next group's first, by number.
  private var waiting: [CommitNumber: Place] = [:]
  private var next: CommitNumber = 1
  /// Lost numbers that the next commit has not been told of yet.
  private var lostBefore: [ClosedRange<CommitNumber>] = []
  /// Numbers that compaction removed, in order.
  private var gone: [ClosedRange<CommitNumber>] = []
  /// True once a set-aside file has been found to belong to another continuation of the log.
  private var hasParted = false

  private struct Place {
    var survey: SegmentSurvey
    var commit: SegmentSurvey.Commit
    var isSetAside: Bool
  }

  init(directory: String, fileSystem: any FileSystem) throws {
    self.directory = directory
    self.fileSystem = fileSystem
    decoder = try Decoder()
    let names = try fileSystem.list(directory)
    var files: [CommitNumber: [(rank: (Int, UInt32), name: String)]] = [:]
    for name in names {
      let isIgnored = name.hasSuffix(Format.ignoredSuffix)
      let plain =
        isIgnored
        ? name.dropLast(Format.ignoredSuffix.utf8.count) + Format.segmentSuffix : name[...]
      guard let segment = SegmentName(fileName: String(plain)), segment.firstCommit > 0 else {
        log.ignoredFiles["\(directory)/\(name)"] =
          name.hasSuffix(Format.temporarySuffix)
          ? "a segment that was never finished" : "not a segment's name"
        continue
      }
      files[segment.firstCommit, default: []].append(
        ((isIgnored ? 1 : 0, .max - segment.generation), name))
    }
    groups = files.sorted { $0.key < $1.key }.map { first, files in
      (first, files.sorted { $0.rank < $1.rank }.map { "\(directory)/\($0.name)" })
    }
  }

  mutating func run(_ body: (ReadableCommit) throws -> Bool) throws {
    for (index, group) in groups.enumerated() {
      let end = index + 1 < groups.count ? groups[index + 1].first : CommitNumber.max
      if group.files.contains(where: { !$0.hasSuffix(Format.ignoredSuffix) }) {
        noteLost(upTo: group.first)
      }
      guard try take(group.files, first: group.first, end: end, body) else { return }
    }
    let damaged = log.damage.filter { !hasParted || !$0.file.hasSuffix(Format.ignoredSuffix) }
    noteLost(upTo: (damaged.compactMap(\.commits?.upperBound).max() ?? 0) + 1)
  }

  /// False if `body` asked to stop.
  private mutating func take(
    _ files: [String], first: CommitNumber, end: CommitNumber,
    _ body: (ReadableCommit) throws -> Bool
  ) throws -> Bool {
    var found: [CommitNumber: Place] = [:]
    var gone: [ClosedRange<CommitNumber>] = []
    var isWhole = false
    for path in files {
      let isSetAside = path.hasSuffix(Format.ignoredSuffix)
      // What lies below a whole file in rank is what it replaced.
      if isWhole, !isSetAside { continue }
      guard let survey = try survey(path) else { continue }
      for commit in survey.commits
      where commit.number >= first && !gone.contains(where: { $0.contains(commit.number) }) {
        add(Place(survey: survey, commit: commit, isSetAside: isSetAside), to: &found)
      }
      if !isSetAside {
        isWhole = survey.damage.isEmpty && survey.header != nil
        if gone.isEmpty { gone = survey.removedCommits }
      }
    }
    self.gone.removeAll { $0.upperBound < next }
    self.gone += gone
    for place in waiting.values { add(place, to: &found) }
    if hasParted { found = found.filter { !$0.value.isSetAside } }
    waiting = found.filter { $0.key >= end }
    for number in found.keys.filter({ $0 < end }).sorted() {
      guard let place = found[number] else { continue }
      noteLost(upTo: number)
      next = number + 1
      log.commitCount += 1
      log.lastCommit = number
      guard try hand(place, to: body) else { return false }
    }
    return true
  }

  /// Takes a commit in unless its number is there.
  private mutating func add(_ place: Place, to found: inout [CommitNumber: Place]) {
    guard let other = found[place.commit.number] else {
      found[place.commit.number] = place
      return
    }
    if place.isSetAside, !other.isSetAside, place.commit.identity != other.commit.identity {
      hasParted = true
      log.ignoredFiles[place.survey.path] =
        "set aside by mode `prefix`, and the log has gone another way since"
    }
  }

  /// Notes the numbers from `next` to before `number` as lost, but for those that are gone.
  private mutating func noteLost(upTo number: CommitNumber) {
    var start = next
    next = max(next, number)
    while start < number {
      if let gone = gone.first(where: { $0.contains(start) }) {
        start = gone.upperBound + 1
        continue
      }
      let border = gone.first { $0.lowerBound > start }?.lowerBound ?? number
      let end = min(border, number) - 1
      lostBefore.append(start...end)
      if let last = log.lostCommits.last, last.upperBound + 1 == start {
        log.lostCommits[log.lostCommits.count - 1] = last.lowerBound...end
      } else {
        log.lostCommits.append(start...end)
      }
      start = end + 1
    }
  }

  /// The walk over one file; nil if it belongs to another store.
  private mutating func survey(_ path: String) throws(TreeRingError) -> SegmentSurvey? {
    let survey = try SegmentSurvey(file: fileSystem.open(path, .readOnly), decoder: decoder)
    if let header = survey.header {
      if let storeID = log.storeID, storeID != header.storeID {
        log.ignoredFiles[path] = "a segment of another store"
        return nil
      }
      log.storeID = header.storeID
      log.horizon = max(log.horizon, header.horizon)
    }
    log.damage += survey.damage
    return survey
  }

  private mutating func hand(
    _ place: Place, to body: (ReadableCommit) throws -> Bool
  ) throws -> Bool {
    let lost = lostBefore
    lostBefore = []
    return try place.survey.read(place.commit) { header, payload, entries in
      try body(
        ReadableCommit(
          header: header, payload: payload, lostBefore: lost, survey: place.survey,
          entries: entries))
    }
  }
}
