// Appends that happen exactly once, over a log whose answers may be lost.
//
// An append without an answer is repeated with the same bytes and the same expected number, so it
// cannot happen twice. If another entry has the number, that entry is read: its id tells whether it
// is this one, appended by an attempt whose answer was lost.

internal import TreeRingLog
internal import TreeRingPlatform

/// Appends entries of one store.
struct LogWriter: Sendable {
  let log: any SharedLog
  let storeID: UInt64
  /// The time after which an append without an answer has an unknown outcome.
  let limit: Duration
  /// The source of ids. Simulations set it, as well as the time.
  var random: @Sendable () -> UInt64 = { UInt64.random(in: 1...UInt64.max) }
  var now: @Sendable () -> ContinuousClock.Instant = { .now }
  var sleep: @Sendable (Duration) -> Void = { Platform.sleep($0) }

  /// The outcome of an append.
  enum Outcome: Hashable {
    /// It is in the log, and so is everything before it. The place of its last entry.
    case appended(LogPlace)
    /// Another process has appended since. It is not in the log and never will be. The other's
    /// entry, and its number.
    case overtaken(by: [UInt8], at: UInt64)
    /// The log has refused it, so it is not there.
    case refused(String)
    /// The log did not answer, so it may be there.
    case unknown(String)
    /// The log ends before the entry after which it was to be: it has lost entries. The number of
    /// its last one.
    case setBack(UInt64)
  }

  /// Appends a body after a place, in as many parts as needed.
  func append(
    _ kind: EntryKind, _ commits: (first: CommitNumber, last: CommitNumber),
    _ body: UnsafeRawBufferPointer, after place: LogPlace
  ) -> Outcome {
    var ids = [place.id ?? 0]
    let size = log.entryByteLimit - EntryHeader.byteCount
    let count = max(1, (body.count + size - 1) / size)
    var entries: [[UInt8]] = []
    for part in 0..<count {
      let id = random()
      var header = EntryHeader(
        kind: kind, storeID: storeID, id: id, previous: ids[part], first: commits.first,
        last: commits.last)
      header.part = UInt32(part)
      header.partCount = UInt32(count)
      let start = part * size
      entries.append(header.entry(body.part(start, min(size, body.count - start))))
      ids.append(id)
    }
    return append(
      entries, after: place.sequence,
      end: LogPlace(sequence: place.sequence + UInt64(count), id: ids[count]))
  }

  /// Appends entries; `end` is the place of the last one.
  private func append(_ entries: [[UInt8]], after expected: UInt64, end: LogPlace) -> Outcome {
    let deadline = now() + limit
    var done = 0
    var pause = Duration.milliseconds(5)
    var problem = "it was not asked"
    var isRepeated = false
    // Of the log as last seen, if it lacks entries. A machine that was cut off may have said so.
    var lastWhenShort: UInt64?
    while true {
      let rest = deadline - now()
      if rest <= .zero { return lastWhenShort.map { .setBack($0) } ?? .unknown(problem) }
      lastWhenShort = nil
      do throws(SharedLogError) {
        switch try log.append(
          Array(entries[done...]), after: expected + UInt64(done), within: min(rest, Self.attempt))
        {
        case .appended: return .appended(end)
        case .unknown(let text): problem = text
        case .conflict:
          problem = "entry \(expected + UInt64(done) + 1) cannot be read"
          while done < entries.count {
            let number = expected + UInt64(done) + 1
            guard let found = try log.read(from: number, byteLimit: 1, within: Self.reading).first
            else { break }
            // Parts without the last one count for nothing.
            if found != entries[done] { return .overtaken(by: found, at: number) }
            done += 1
          }
          if done == entries.count { return .appended(end) }
          let last = try log.ends(within: Self.attempt).last
          if last < expected + UInt64(done) { lastWhenShort = last }
        }
      } catch {
        switch error {
        case .unavailable(let text): problem = text
        case .refused(let text): return isRepeated ? .unknown(text) : .refused(text)
        case .trimmed: return .unknown("its entry was trimmed before it was seen")
        }
      }
      isRepeated = true
      sleep(min(pause, max(.zero, deadline - now())))
      pause = min(pause * 2, .milliseconds(500))
    }
  }

  /// The longest time for one attempt.
  private static let attempt = Duration.seconds(5)
  /// The time to wait for an entry that is in the log, or is about to be.
  private static let reading = Duration.milliseconds(100)
}
