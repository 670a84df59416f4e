// The sweeper: deletes expired rows by ordinary commits while nothing else is written.
//
// A commit that has operations deletes all rows that are due at its date. So does one of the
// sweeper, which wakes at the date of the next row. If many rows are due, as after an opening, it
// deletes those with the earliest dates first, in batches. The commit of a batch is dated just
// before the first row that it leaves, so that it shows no row that is due then, even if that row
// has the date of the last one in the batch. After a batch the sweeper pauses for so long that it
// holds the writer's lock for a twentieth of the time at most, unless rows would be late. A crash
// leaves whole commits; the next opening goes on. A store that is open for reading never sweeps.
//
// A program's write before which more rows are due than a batch has deletes them by such commits
// first, so that no commit has to hold them all. If they become due while the write runs, its
// commit is dated just before them, which is later than the beginning of the write.

internal import Dispatch
internal import Logging
internal import TreeRingLog
internal import TreeRingPlatform

/// The moments of sweeps. Any thread.
final class Sweeper: Sendable {
  /// The maximum number of rows of one expiry in a batch.
  static let batchRowCount = 256
  /// The ratio of the pause after a batch to the time for which the batch held the writer's lock.
  static let pauseFactor = 19
  /// The time for which rows may be due before the sweeper stops pausing between its batches.
  static let patience = Duration.milliseconds(500)
  /// The minimum time between two sweeps, so that rows that expire one by one share commits.
  static let interval = Duration.milliseconds(250)
  /// The maximum time until the clock is read again, which may have been set.
  private static let longestWait = Duration.seconds(60)

  private struct State {
    /// The moment of the next sweep; nil if none is scheduled.
    var next: ContinuousClock.Instant?
    /// No sweep begins before this moment.
    var earliest = ContinuousClock.now
    /// The number of sweeps that have failed since the last that has not.
    var failureCount = 0
  }
  private let state = Mutex(State())
  private let thread = DispatchQueue(label: "treering.sweeper", qos: .utility)

  /// Schedules a sweep in `delay`, unless one is scheduled that comes before.
  func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) {
    let now = ContinuousClock.now
    let moment = state.withLock { state -> ContinuousClock.Instant? in
      let moment = max(now + min(max(delay, .zero), Self.longestWait), state.earliest)
      if let next = state.next, next <= moment { return nil }
      state.next = moment
      return moment
    }
    guard let moment else { return }
    Alarm.shared.after(moment - now) { [weak self] in
      self?.thread.async { [weak self] in
        if self?.begin(at: moment) == true { body() }
      }
    }
  }

  /// Whether the sweep scheduled for a moment is the next one, which then is no longer scheduled.
  /// An earlier one may have been scheduled since.
  private func begin(at moment: ContinuousClock.Instant) -> Bool {
    state.withLock { state in
      guard state.next == moment else { return false }
      state.next = nil
      return true
    }
  }

  /// Notes the end of a batch that held the writer's lock for a time.
  /// - Parameter lag: the time for which the next row has been due; nil if none is.
  func pause(after held: Duration, lag: Duration?) {
    let share = held * Self.pauseFactor
    let pause: Duration =
      switch lag {
      case nil: max(share, Self.interval)
      case let lag?: max(.zero, min(share, Self.patience - lag))
      }
    state.withLock { state in
      state.earliest = .now + pause
      state.failureCount = 0
    }
  }

  /// Notes a sweep that has failed. The pause is a second, and doubles with each further failure.
  func pauseAfterFailure() {
    state.withLock { state in
      state.earliest = .now + min(.seconds(1 << state.failureCount), Self.longestWait)
      state.failureCount = min(state.failureCount + 1, 6)
    }
  }

  /// Whether a sweep is scheduled. For tests.
  var isScheduled: Bool { state.withLock { $0.next != nil } }

  /// The moment before which no sweep begins. For tests.
  var earliest: ContinuousClock.Instant { state.withLock(\.earliest) }

  /// Waits for the sweep under way. For tests.
  func settle() { thread.sync {} }
}

extension Store {
  /// Deletes rows that have expired, by the clock, in one commit. The store does so by itself while
  /// it is open for writing, unless `StoreOptions.sweeps` is false.
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  ///
  /// A commit shows no row that is due at its date. So a commit that leaves rows for another sweep
  /// is dated a microsecond before the first of these.
  ///
  /// - Parameter limit: the number of rows of one expiry that are deleted at most, besides those
  ///   that cascades delete; at least 1. Those with the earliest dates come first.
  /// - Returns: the number of expired rows that were deleted; if it is not below the limit, more
  ///   may be due. O(log n) for each.
  @discardableResult
  public func sweep(limit: Int = 256) throws -> Int {
    try sweepBatch(durability: options.durability, limit: limit).rowCount
  }

  /// Schedules a sweep for the date of the next row that expires. Called after a commit has become
  /// visible. O(1) without rules, else O(log n) for each expiry.
  func considerSweep() {
    guard maySweep else { return }
    let visible = queue.visible
    guard visible.catalog.hasRules, let next = nextExpiry(in: visible) else { return }
    let now = options.clock()
    // The difference of two dates may overflow.
    let distance = next <= now ? 0 : (next.microseconds &- now.microseconds).magnitude
    let delay = Duration.microseconds(Int64(clamping: distance))
    sweeper.schedule(after: delay) { [weak self] in
      self?.runSweep()
    }
  }

  private var maySweep: Bool {
    options.sweeps && options.mode != .readOnly && !options.isUnfinishedCopy && leads
  }

  /// Deletes the rows that are due in batches, until no more are left than a batch has. Called
  /// before a write. O(1) without rules, else O(log n) for each expiry.
  /// - Returns: A date by the clock at which no more were due; nil if this process leaves expired
  ///   rows to writes, or there are no rules.
  func sweepBacklog() throws -> Timestamp? {
    let queue = queue
    guard queue.hasRules, maySweep else { return nil }
    let visible = queue.visible
    var date = options.clock()
    if try dueCount(in: visible, at: date) <= Sweeper.batchRowCount { return date }
    var batch: SweptBatch
    repeat {
      date = options.clock()
      batch = try sweepBatch(limit: Sweeper.batchRowCount)
    } while batch.leavesRows
    return date
  }

  /// Deletes a batch in one commit.
  private func sweepBatch(
    durability: Durability = .relaxed(within: .seconds(1)), limit: Int
  ) throws -> SweptBatch {
    var batch = SweptBatch()
    var begin = ContinuousClock.now
    let sequenced = try sequence(durability: durability, expecting: nil, isSweep: true) {
      begin = .now
      batch = try $0.deleteDue(by: options.clock(), limit: max(1, limit))
    }
    batch.held = ContinuousClock.now - begin
    try complete(sequenced.ticket, pageCount: sequenced.pageCount)
    return batch
  }

  /// The largest number of rows that are due by one expiry in force, at a date or at that of the
  /// version if it is later.
  private func dueCount(
    in version: Version, at date: Timestamp
  ) throws(TreeRingError) -> Int {
    let active = try definitions.active(for: version, code: code.withLock { $0 })
    let date = max(date, version.roots.timestamp)
    return try version.pages.read { () throws(TreeRingError) -> Int in
      var count = 0
      for index in active.expiring {
        guard let roots = version.existingIndex(index.number) else { continue }
        let order = Tree(roots.order, pages: version.pages)
        count = max(count, ActiveExpiry.due(in: order, at: date).count)
      }
      return count
    }
  }

  /// The earliest date of a row that expires and that this process may delete; nil if there is
  /// none. A date long ago if an index of dates is still to be built.
  private func nextExpiry(in version: Version) -> Timestamp? {
    let code = code.withLock { $0 }
    guard let active = try? definitions.active(for: version, code: code) else { return nil }
    var dates = active.expiring.compactMap { firstDate(of: $0.number, in: version) }
    for rule in version.catalog.rules where active[rule.number] == nil {
      if (try? rule.active(code: code)) == nil {
        guard Transaction.mayExpire([rule]) else { return nil }
      } else if rule.isExpiry {
        let isBuilt = version.existingIndex(rule.number) != nil
        let date = isBuilt ? firstDate(of: rule.number, in: version) : .init(microseconds: .min)
        if let date { dates.append(date) }
      }
    }
    return dates.min()
  }

  /// The earliest date of the rows of an expiry; nil without one.
  private func firstDate(of number: UInt32, in version: Version) -> Timestamp? {
    guard let roots = version.existingIndex(number) else { return nil }
    let order = Tree(roots.order, pages: version.pages)
    let date = try? version.pages.read { () throws(TreeRingError) in
      ActiveExpiry.earliest(in: order)
    }
    return date ?? nil
  }

  /// Deletes a batch, and schedules the next.
  private func runSweep() {
    do {
      let batch = try sweepBatch(limit: Sweeper.batchRowCount)
      sweeper.pause(after: batch.held, lag: batch.leavesRows ? lag : nil)
      if batch.rowCount == 0 { try buildDates() }
    } catch let error as TreeRingError where error.code == .closed {
      return
    } catch {
      options.logger.warning("expired rows could not be deleted: \(error)")
      sweeper.pauseAfterFailure()
    }
    considerSweep()
  }

  /// The time for which the next row has been due.
  private var lag: Duration {
    guard let next = nextExpiry(in: queue.visible) else { return .zero }
    let (lag, overflow) = options.clock().microseconds.subtractingReportingOverflow(
      next.microseconds)
    return .microseconds(overflow ? .max : lag)
  }

  /// Builds the indexes of dates that the newest version lacks, because it was written without
  /// their closures. O(n log n) then.
  private func buildDates() throws(TreeRingError) {
    let snapshot = try snapshot()
    let version = try snapshot.version
    let code = code.withLock { $0 }
    for rule in version.catalog.rules where rule.isExpiry {
      guard version.existingIndex(rule.number) == nil else { continue }
      if try rule.active(code: code) != nil { _ = try snapshot.index(rule.name) }
    }
  }
}

/// A commit that deletes expired rows.
private struct SweptBatch {
  /// The number of expired rows.
  var rowCount = 0
  /// Whether more rows were due.
  var leavesRows = false
  /// The time for which the commit held the writer's lock.
  var held = Duration.zero
}

extension Transaction {
  /// Deletes rows that are due by a clock, or by the newest commit's date if that is later, since
  /// the commit will have that date; of many, those with the earliest dates.
  fileprivate func deleteDue(by clock: Timestamp, limit: Int) throws(TreeRingError) -> SweptBatch {
    try beginEdit()
    isSweep = true
    let newest = editor.roots.timestamp
    let now = max(clock, newest)
    let date = try lastDate(withAtMost: limit, dueBy: now)
    if date == now { return SweptBatch(rowCount: try deleteExpired(at: now)) }
    if max(newest, date) < now { timestamp = max(newest, date) }
    // Among them may be rows of the very date of the first that is left.
    let next = Timestamp(microseconds: date.microseconds + 1)
    let rowCount = try deleteExpired(at: next, limit: limit)
    return SweptBatch(rowCount: rowCount, leavesRows: rowCount > 0)
  }
}
