// A log as a list of segments in memory that tests of compaction rewrite and replay.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

struct LogInMemory {
  struct LoggedName: Hashable {
    var operation: UInt32
    var part: ValuePart
  }

  struct Commit {
    var header: CommitHeader
    var payload: [UInt8]
    /// The remaining logged values.
    var values: Set<LoggedName>
  }

  struct Segment {
    let firstCommit: CommitNumber
    let lastCommit: CommitNumber
    var commits: [Commit]
    var horizon: CommitNumber = 0
  }

  private(set) var segments: [Segment] = []
  var newest: CommitNumber { segments.last?.lastCommit ?? 0 }

  /// The log of a store, cut into segments of random sizes.
  init(_ store: Store, _ random: inout SeededGenerator) throws {
    try self.init(store) { Int.random(in: 1...20, using: &random) }
  }

  init(_ store: Store, segmentSize: Int) throws {
    try self.init(store) { segmentSize }
  }

  private init(_ store: Store, size: () -> Int) throws {
    var commits: [Commit] = []
    try store.log.replay(from: 1, through: store.newestCommit) {
      (header, payload) throws(TreeRingError) in
      var values: Set<LoggedName> = []
      var reader = try PayloadReader(payload, commit: header.number)
      while true {
        let stamp = Stamp(commit: header.number, operation: reader.count)
        guard let operation = try reader.next() else { break }
        let parts = operation.loggedParts(of: stamp)
        for part in parts.all { values.insert(LoggedName(operation: stamp.operation, part: part)) }
      }
      commits.append(Commit(header: header, payload: Array(payload), values: values))
      return true
    }
    while !commits.isEmpty {
      let count = min(size(), commits.count)
      segments.append(
        Segment(
          firstCommit: commits[0].header.number, lastCommit: commits[count - 1].header.number,
          commits: Array(commits[..<count])))
      commits.removeFirst(count)
    }
  }

  /// The kinds of the remaining operations.
  var operations: [OperationKind] {
    get throws {
      try segments.flatMap(\.commits).flatMap { commit in
        try commit.payload.withUnsafeBytes { payload in
          var reader = try PayloadReader(payload, commit: commit.header.number)
          var kinds: [OperationKind] = []
          while let operation = try reader.next() { kinds.append(operation.kind) }
          return kinds
        }
      }
    }
  }

  // MARK: - Compacting

  func plan(_ points: KeptPoints, _ store: Store) throws -> CompactionPlan {
    var planner = CompactionPlanner(points: points, operationCount: 1000, memoryLimit: 1 << 16)
    for segment in segments {
      guard segment.firstCommit <= points.horizon else { break }
      planner.beginSegment(segment.firstCommit)
      for commit in segment.commits {
        guard let point = points.first(from: commit.header.number) else {
          planner.pass(commit.header)
          continue
        }
        let state = try store.snapshot(at: .commit(point)).reader
        try commit.payload.withUnsafeBytes {
          try planner.visit(commit.header, $0, state: state)
        }
      }
    }
    return planner.finish()
  }

  /// Rewrites one segment as a compaction would; false if it need not be rewritten.
  mutating func rewrite(
    _ index: Int, _ plan: CompactionPlan, _ store: Store, _ random: inout SeededGenerator,
    always: Bool = false
  ) throws -> Bool {
    let segment = segments[index]
    guard segment.firstCommit <= plan.points.horizon else { return false }
    let part = plan.segments.first { $0.firstCommit == segment.firstCommit }
    let leansOnOlder = try #require(part).leansOnOlder
    if !leansOnOlder, !always, Bool.random(using: &random) { return false }
    var commits: [Commit] = []
    for commit in segment.commits {
      let number = commit.header.number
      guard let point = plan.points.first(from: number) else {
        commits.append(commit)
        continue
      }
      let state = try store.snapshot(at: .commit(point)).reader
      let new = try commit.payload.withUnsafeBytes {
        try plan.rewrite($0, of: number, state: state)
      }
      if new.isVacant, !plan.points.contains(number) { continue }
      var kept = commit
      kept.payload = new.payload
      kept.values = Set(new.keptValues.map { LoggedName(operation: $0.operation, part: $0.part) })
      #expect(kept.values.isSubset(of: commit.values), "commit \(number)")
      commits.append(kept)
    }
    segments[index].commits = commits
    segments[index].horizon = plan.points.horizon
    return true
  }

  // MARK: - Checking

  /// Replays to some or all kept states, and compares every tree with the store's.
  func check(
    _ points: KeptPoints, _ store: Store, _ label: String, _ random: inout SeededGenerator,
    all: Bool = false
  ) throws {
    var kept = points.commits + Array(points.horizon...newest)
    if !all { kept = kept.filter { _ in Int.random(in: 0..<6, using: &random) == 0 } }
    for commit in Set(kept).union([points.horizon, newest]) {
      try check(commit, points, store, "\(label), at \(commit)")
      // Also replays from a kept state, as from a checkpoint.
      if let base = kept.filter({ $0 < commit }).randomElement(using: &random) {
        try check(commit, from: base, points, store, "\(label), at \(commit) from \(base)")
      }
    }
  }

  private func check(
    _ target: CommitNumber, from base: CommitNumber = 0, _ points: KeptPoints, _ store: Store,
    _ label: String
  ) throws {
    let start = try store.snapshot(at: .commit(base)).version
    let expected = try store.snapshot(at: .commit(target))
    var roots = start.roots
    roots.indexes = IndexTrees()
    let editor = StateEditor(
      pages: store.pages, epoch: max(1, target), base: roots, catalog: start.catalog,
      active: ActiveIndexes(), code: [], values: ValueSource(log: store.log), recorder: nil)
    defer { editor.editor.discard() }
    for commit in segments.flatMap(\.commits)
    where commit.header.number > base && commit.header.number <= target {
      try commit.payload.withUnsafeBytes { try editor.replay(commit.header, $0) }
    }
    let found = editor.roots
    let version = try expected.version
    let wanted = version.roots
    #expect(found.commit == wanted.commit, "\(label)")
    #expect(found.timestamp == wanted.timestamp, "\(label)")
    #expect(editor.catalog.nextBucketNumber == version.catalog.nextBucketNumber)
    #expect(editor.catalog.nextIndexNumber == version.catalog.nextIndexNumber)
    #expect(
      differences(found.rows, wanted.rows, store) { _ in true } == 0, "\(label): rows")
    #expect(
      differences(found.catalog, wanted.catalog, store) { _ in true } == 0, "\(label): catalog")
    let tombstones = differences(found.tombstones, wanted.tombstones, store) { value in
      var reader = ByteReader(value)
      return (try? reader.integer()) ?? .max > points.horizon
    }
    #expect(tombstones == 0, "\(label): tombstones")
    try checkValues(of: expected, label)
  }

  private func differences(
    _ old: TreeRoot, _ new: TreeRoot, _ store: Store,
    counts: (UnsafeRawBufferPointer) -> Bool
  ) -> Int {
    var difference = TreeDiff(from: old, to: new, pages: store.pages)
    var count = 0
    difference.forEach { _, old, new in
      if [old, new].contains(where: { $0.map(counts) ?? false }) { count += 1 }
      return true
    }
    return count
  }

  /// Checks that every logged value that a state refers to remains.
  private func checkValues(of snapshot: Snapshot, _ label: String) throws {
    var present: [CommitNumber: Set<LoggedName>] = [:]
    for commit in segments.flatMap(\.commits) { present[commit.header.number] = commit.values }
    for (name, _) in try snapshot.buckets() {
      try snapshot.forEachRecord(in: name, from: nil, to: nil, reversed: false) { key, record in
        for (value, part) in [(record.object, ValuePart.object), (record.metadata, .metadata)] {
          guard case .logged(let reference)? = value as StoredValue? else { continue }
          let name = LoggedName(operation: reference.stamp.operation, part: part)
          let isThere = present[reference.stamp.commit]?.contains(name) ?? false
          #expect(isThere, "\(label): \(part) of \(Key(bytes: key))")
        }
        return true
      }
    }
  }

  /// Checks that nothing remains that only history before the horizon needed.
  func checkShrunk(_ points: KeptPoints, _ store: Store, _ label: String) throws {
    var rows = 0
    // A segment from an earlier compaction need not be rewritten.
    let rewritten = segments.filter { $0.horizon == points.horizon }
    for commit in rewritten.flatMap(\.commits) where commit.header.number <= points.horizon {
      try commit.payload.withUnsafeBytes { payload in
        var reader = try PayloadReader(payload, commit: commit.header.number)
        let isPoint = points.contains(commit.header.number)
        if !isPoint { #expect(reader.notes.note == nil && reader.notes.annotation == nil) }
        while let operation = try reader.next() { rows += operation.kind == .whole ? 1 : 0 }
      }
    }
    let limit = try points.commits.reduce(0) { total, commit in
      try total + Int(store.snapshot(at: .commit(commit)).version.roots.rows.count)
    }
    #expect(rows <= limit, "\(label)")
  }
}

extension ValueParts {
  var all: [ValuePart] {
    (contains(.object) ? [.object] : []) + (contains(.metadata) ? [.metadata] : [])
  }
}
