// Drops history that no reader needs any more. Commits continue, and never wait for it.
//
//   1. Sync the log, so that a crash cannot undo the tags read next. Under the writer's lock move
//      the horizon: from here on nothing below it can be pinned, tagged or used as a base.
//   2. Seal the active segment, if it holds commits to compact.
//   3. Make a checkpoint at or above the horizon, and drop the roots below it, so that no opening
//      begins from a state on top of which the compacted log cannot be replayed.
//   4. Plan and rewrite (Compactor.swift).
//   5. Make another checkpoint, since the log has changed under the last one.
//
// A crash after any step loses nothing: an opening that finds its checkpoint below the horizon, or
// of another log, replays the log from its beginning.

internal import Logging
public import TreeRingLog
internal import TreeRingPlatform

extension Store {
  /// The oldest commit from which on every commit can be read; 0 if all can. The commits of tags
  /// can be read below it too.
  public var horizon: CommitNumber { bounds.horizon }

  /// Drops history: moves the horizon as far as the target asks and live snapshots and followers
  /// allow. Rewrites the log's segments without the data that only the history before it needed.
  ///
  /// O(log up to the horizon). Commits, snapshots and readers go on. Needs extra space for one
  /// segment. A compaction may be interrupted at any time, even by a crash; the next one continues.
  ///
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  ///
  /// - Parameters:
  ///   - target: The amount of history to drop.
  ///   - keepsTags: Whether the commits of tags below the horizon stay readable. If not, a commit
  ///     removes those tags.
  ///   - isDryRun: Whether only to report the effect.
  ///   - progress: Called from time to time on the caller's thread; return false to stop.
  /// - Throws: `notFound` for a commit that does not exist, `cancelled`, `noSpace` if there is no
  ///   room for one segment, `notAllowed` if the store was opened for reading, `io`, `corruption`.
  ///   The work done before an error stays done, and every readable commit stays readable.
  @discardableResult
  public func compact(
    to target: CompactionTarget = .policy, keepsTags: Bool = true, isDryRun: Bool = false,
    progress: (CompactionProgress) -> Bool = { _ in true }
  ) throws -> CompactionReport {
    try checkWritable()
    try writerLock.checkOutside()
    return try maintenance.alone {
      try withoutActuallyEscaping(progress) { progress in
        if !keepsTags, !isDryRun {
          // The commit that removes tags adds one more, which may put other tags behind the target.
          while try removeTags(below: wantedHorizon(target)) {}
        }
        var run = CompactionRun(
          wanted: try wantedHorizon(target), keepsTags: keepsTags, gain: 1.0 / 16)
        run.progress = progress
        return isDryRun ? try rehearse(run) : try perform(run)
      }
    }
  }

  /// The reasons why history stays readable that a target would drop: first the policy, if it keeps
  /// more, then snapshots, followers in other processes and tags, the oldest commit first.
  public func holdings(
    against target: CompactionTarget = .policy
  ) throws(TreeRingError) -> [Holding] {
    try checkOpen()
    let wanted = try wantedHorizon(target)
    var held = try holdings(against: wanted, keepsTags: true)
    let policy = max(1, horizon, try wantedHorizon(.policy))
    if policy < wanted {
      let words = "the policy to keep \(options.retention)"
      held.insert(Holding(kind: .policy, commit: policy, description: words), at: 0)
    }
    return held
  }

  // MARK: - Runs

  /// The parameters of a run.
  struct CompactionRun {
    var wanted: CommitNumber
    var keepsTags: Bool
    /// The fraction of a segment that must go to make rewriting it worthwhile.
    var gain: Double
    /// Whether the run may seal the active segment.
    var sealsActive = true
    var progress: (CompactionProgress) -> Bool = { _ in true }
  }

  /// Performs a run. The caller keeps other maintenance work away.
  func perform(_ run: CompactionRun) throws -> CompactionReport {
    // The run reads the state at the horizon throughout. It keeps that version, because later
    // commits would push it out of the recent states, and it would have to be rebuilt.
    let held = queue.readable.first { $0.roots.commit == run.wanted }
    let before = log.statistics.byteCount
    let points = try moveHorizon(to: run.wanted)
    var report = CompactionReport(
      horizon: points.horizon, bytesBefore: before, bytesAfter: before, rewrittenSegments: 0,
      held: try holdings(against: run.wanted, keepsTags: run.keepsTags), isDryRun: false)
    guard points.horizon > 0 else { return report }
    if run.sealsActive, log.segments.contains(where: { $0.holds(points.horizon) && !$0.isSealed }) {
      try log.seal()
    }
    try forgetStates(below: points)
    var compactor = compactor(points, run, held)
    let plan = try compactor.plan()
    for segment in compactor.segments(to: plan, gain: run.gain) {
      try compactor.rewrite(segment, plan)
      report.rewrittenSegments += 1
    }
    if report.rewrittenSegments > 0 { try engine.checkpointer?.run(isForced: true) }
    report.bytesAfter = log.statistics.byteCount
    return report
  }

  /// Reports the effect of a run, and changes nothing.
  private func rehearse(_ run: CompactionRun) throws -> CompactionReport {
    let before = log.statistics.byteCount
    let below = try tagged(below: max(run.wanted, horizon)).map(\.commit)
    let kept = run.keepsTags ? Set(below) : []
    let horizon = pinRegistry.limit(
      run.wanted, keeping: kept, followed: try followers().map(\.commit))
    var report = CompactionReport(
      horizon: horizon, bytesBefore: before, bytesAfter: before, rewrittenSegments: 0,
      held: try holdings(against: run.wanted, keepsTags: run.keepsTags), isDryRun: true)
    guard horizon > 0 else { return report }
    var compactor = compactor(KeptPoints(horizon: horizon, tags: kept), run, nil)
    compactor.includesActive = true
    let plan = try compactor.plan()
    for segment in compactor.segments(to: plan, gain: run.gain) {
      guard let part = plan.segments.first(where: { $0.firstCommit == segment.firstCommit }) else {
        continue
      }
      let gone = UInt64(Double(segment.byteCount) * max(0, part.gain))
      report.bytesAfter -= min(gone, report.bytesAfter)
      report.rewrittenSegments += 1
    }
    return report
  }

  /// - Parameter held: A version that is kept alive; nil without one.
  private func compactor(
    _ points: KeptPoints, _ run: CompactionRun, _ held: Version?
  ) -> Compactor {
    Compactor(
      log: log, points: points, memoryLimit: max(1 << 20, options.memoryBudget / 8),
      state: { [self] point in
        let version =
          if let held, held.roots.commit == point {
            held
          } else {
            try version(at: point, definitions: queue.visible.catalog)
          }
        return reader(of: version)
      },
      progress: { [self] done in
        try checkOpen()
        guard run.progress(done) else {
          throw TreeRingError(
            .cancelled,
            "The compaction was stopped; what it has done stays, and the next one goes on.")
        }
      })
  }

  // MARK: - The horizon

  /// The oldest commit that a target keeps.
  func wantedHorizon(_ target: CompactionTarget) throws(TreeRingError) -> CommitNumber {
    let newest = queue.visible.roots
    switch target {
    case .policy: return try wantedHorizon(.keeping(options.retention))
    case .keeping(let retention):
      return try retention.horizon(
        newest: newest.commit, oldest: horizon, clock: options.clock(), dates: log)
    case .before(let commit):
      guard commit <= newest.commit else {
        throw TreeRingError(
          .notFound, "There is no commit \(commit) yet; the newest is \(newest.commit).",
          commit: commit)
      }
      return commit
    case .dropHistory: return newest.commit
    }
  }

  /// Moves the horizon as far as allowed. From here on nothing below it can be pinned or tagged.
  private func moveHorizon(to wanted: CommitNumber) throws(TreeRingError) -> KeptPoints {
    try writerLock.hold { () throws(TreeRingError) in
      // Every visible commit is durable from here to the end of this block.
      try log.sync()
      queue.publish(through: log.completed)
      expirePins()
      // Includes the tags between a target that lies behind and the horizon in force.
      let kept = try tagged(below: max(wanted, horizon)).map(\.commit)
      // A process that begins to follow from now on, at a still older commit, gets
      // `beyondHorizon` for the missing history.
      return pinRegistry.advance(
        to: wanted, keeping: Set(kept), followed: try followers().map(\.commit))
    }
  }

  /// Drops the states below the horizon that opening, time travel and readers could use as a base.
  private func forgetStates(below points: KeptPoints) throws(TreeRingError) {
    timeTravel.evict { !points.contains($0) }
    guard let checkpointer = engine.checkpointer else { return }
    checkpointer.forgetRoots(before: points.horizon, keeping: Set(points.commits))
    try checkpointer.run()
  }

  /// The tags of commits below `bound`.
  func tagged(below bound: CommitNumber) throws(TreeRingError) -> [Tag] {
    try reader(of: queue.visible).tags(below: bound)
  }

  /// Writes a commit that removes the tags of commits below `bound`; returns false if there are
  /// none.
  private func removeTags(below bound: CommitNumber) throws -> Bool {
    let tags = try tagged(below: bound)
    if tags.isEmpty { return false }
    try write { tx in
      tx.takesDateOfNewest = true
      for tag in tags { try tx.removeTag(tag.name) }
    }
    return true
  }

  /// The reasons why more stays readable than a horizon would keep.
  private func holdings(
    against wanted: CommitNumber, keepsTags: Bool
  ) throws(TreeRingError) -> [Holding] {
    var held: [Holding] = []
    for pin in pins where pin.commit < wanted && pin.commit > 0 {
      let seconds = pin.age.components.seconds
      held.append(
        Holding(
          kind: .pin, commit: pin.commit,
          description: "a snapshot taken \(seconds) s ago at \(pin.creator)"))
    }
    for reader in try followers() where reader.commit < wanted && reader.commit > 0 {
      held.append(
        Holding(kind: .follower, commit: reader.commit, description: reader.description))
    }
    if keepsTags {
      for tag in try tagged(below: wanted) {
        held.append(Holding(kind: .tag, commit: tag.commit, description: "the tag \(tag.name)"))
      }
    }
    return held.sorted { ($0.commit, $0.description) < ($1.commit, $1.description) }
  }

  /// Throws if the store cannot be changed.
  func checkWritable() throws(TreeRingError) {
    try checkOpen()
    guard options.mode != .readOnly else {
      throw TreeRingError(
        .notAllowed, "The store was opened for reading. Open it with mode .readWrite to change it.")
    }
  }
}

extension SegmentInfo {
  fileprivate func holds(_ commit: CommitNumber) -> Bool {
    firstCommit <= commit && commit <= lastCommit
  }
}
