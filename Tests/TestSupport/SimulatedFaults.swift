// What is to go wrong on the simulated disk, and when. Calls that change something, writes among
// them, and calls that only look are counted apart, so a test can hit the n-th of each.

internal import TreeRingLog

/// How a call fails.
package enum DiskFault: Hashable, Sendable, CaseIterable {
  /// The device failed. A write has been done in part; a sync has forgotten what it was to keep.
  case inputOutput
  /// The device is full. A write has been done in part.
  case noSpace
}

/// How a device fails that says that all went well.
package enum SilentFault: Hashable, Sendable, CaseIterable {
  /// The write never happens.
  case lost
  /// The write goes to another sector-aligned place of the file.
  case misdirected
}

struct SimulatedFaults {
  /// Calls so far that change something.
  var calls = 0
  /// Writes among them.
  var writes = 0
  /// Calls so far that only look.
  var reads = 0
  var isDown = false

  var crashAt: Int?
  var once: [Int: DiskFault] = [:]
  var from: (call: Int, fault: DiskFault)?
  var silent: [Int: SilentFault] = [:]
  var readOnce: Int?
  var readFrom: Int?
  /// Bytes that cannot be read, by path.
  var unreadable: [String: Range<Int>] = [:]
  /// How many faults have come true.
  var count = 0
  /// The last calls.
  var log: [(call: Int, what: String, path: String)] = []

  /// Counts a changing call and decides whether it works.
  mutating func enter(_ what: String, _ path: String) -> TreeRingError? {
    if isDown { return Self.down(path) }
    calls += 1
    if log.count >= 64 { log.removeFirst(32) }
    log.append((calls, what, path))
    if let at = crashAt, calls >= at {
      isDown = true
      return Self.down(path)
    }
    var fault = once.removeValue(forKey: calls)
    if fault == nil, let from, calls >= from.call { fault = from.fault }
    if fault != nil { count += 1 }
    switch fault {
    case nil: return nil
    case .inputOutput: return Self.failed(what, path)
    case .noSpace: return Self.full(path)
    }
  }

  /// Counts a write and decides whether it happens as asked.
  mutating func enterWrite() -> SilentFault? {
    writes += 1
    let fault = silent.removeValue(forKey: writes)
    if fault != nil { count += 1 }
    return fault
  }

  /// Counts a looking call and decides whether it works.
  mutating func look(_ what: String, _ path: String, _ range: Range<Int>? = nil) -> TreeRingError? {
    if isDown { return Self.down(path) }
    reads += 1
    var fails = readOnce == reads || readFrom.map { reads >= $0 } ?? false
    if let range, let bad = unreadable[SimulatedNames.normal(path)], bad.overlaps(range) {
      fails = true
    }
    guard fails else { return nil }
    count += 1
    return Self.failed(what, path, at: range?.lowerBound)
  }

  static func down(_ path: String) -> TreeRingError {
    TreeRingError(.io, "The power has failed.", file: path, errno: 5)
  }

  static func full(_ path: String) -> TreeRingError {
    TreeRingError(.noSpace, "The device is full.", file: path, errno: 28)
  }

  static func failed(_ what: String, _ path: String, at offset: Int? = nil) -> TreeRingError {
    TreeRingError(
      .io, "The device failed to \(what).", file: path, offset: offset.map(UInt64.init), errno: 5)
  }

  static func missing(_ path: String) -> TreeRingError {
    TreeRingError(.notFound, "There is no \(path).", file: path)
  }
}
