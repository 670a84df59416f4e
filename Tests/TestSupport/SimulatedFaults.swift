// The planned faults of the simulated disk. Changing calls, including writes, and reading calls
// have separate counters, so that a test can make the n-th of each fail.

internal import TreeRingLog

/// The ways in which a call fails.
package enum DiskFault: Hashable, Sendable, CaseIterable {
  /// The device failed. A write has been done in part; a sync has lost the pages it was to write.
  case inputOutput
  /// The device is full. A write has been done in part.
  case noSpace
}

/// The ways in which a device fails without reporting it.
package enum SilentFault: Hashable, Sendable, CaseIterable {
  /// The write never happens.
  case lost
  /// The write goes to another sector-aligned offset of the file.
  case misdirected
}

struct SimulatedFaults {
  /// The number of changing calls so far.
  var calls = 0
  /// The number of writes among them.
  var writes = 0
  /// The number of reading calls so far.
  var reads = 0
  var isDown = false

  var crashAt: Int?
  var once: [Int: DiskFault] = [:]
  var from: (call: Int, fault: DiskFault)?
  /// The calls to come of one kind, the last of which fails.
  var kind: (call: String, left: Int, fault: DiskFault)?
  var silent: [Int: SilentFault] = [:]
  var readOnce: Int?
  var readFrom: Int?
  /// The unreadable bytes, by path.
  var unreadable: [String: Range<Int>] = [:]
  /// The number of faults that have occurred.
  var count = 0
  /// The last calls.
  var log: [(call: Int, what: String, path: String)] = []

  /// Counts a changing call; returns the error if it fails.
  mutating func enterChange(_ what: String, _ path: String) -> TreeRingError? {
    if isDown { return Self.down(path) }
    calls += 1
    if log.count >= 64 { log.removeFirst(32) }
    log.append((calls, what, path))
    if let at = crashAt, calls >= at {
      isDown = true
      return Self.down(path)
    }
    var fault = once.removeValue(forKey: calls)
    if let next = kind, next.call == "\(what) \(path)" {
      kind?.left -= 1
      if next.left == 1 { (fault, kind) = (next.fault, nil) }
    }
    if fault == nil, let from, calls >= from.call { fault = from.fault }
    if fault != nil { count += 1 }
    switch fault {
    case nil: return nil
    case .inputOutput: return Self.failed(what, path)
    case .noSpace: return Self.full(path)
    }
  }

  /// Counts a write; returns the silent fault, if one is due.
  mutating func enterWrite() -> SilentFault? {
    writes += 1
    let fault = silent.removeValue(forKey: writes)
    if fault != nil { count += 1 }
    return fault
  }

  /// Counts a reading call; returns the error if it fails.
  mutating func enterRead(_ what: String, _ path: String, _ range: Range<Int>? = nil)
    -> TreeRingError?
  {
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
    TreeRingError(.notFound, "\(path) does not exist.", file: path)
  }
}
