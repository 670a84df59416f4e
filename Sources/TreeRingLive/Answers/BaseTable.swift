// The bases that clients copy. A client that is lost would hold the files of the log for ever, so a
// base ends after some time without a request.

internal import TreeRingLog
internal import TreeRingPlatform

/// The pinned logs by their names.
final class BaseTable: Sendable {
  private struct Base {
    var log: PinnedLog
    /// The moment at which it ends.
    var end: ContinuousClock.Instant
  }

  private let limits: LiveLimits
  private let bases = Mutex<[String: Base]>([:])

  init(_ limits: LiveLimits) { self.limits = limits }

  /// The number of bases.
  var count: Int { bases.withLock(\.count) }

  /// Whether another base may begin.
  var hasRoom: Bool { count < limits.bases }

  /// Adds a base.
  /// - Returns: Its name, which cannot be guessed; nil if there are too many.
  func add(_ log: PinnedLog) -> String? {
    let name = AnswerMaker.hexadecimal(UInt64.random(in: 0...UInt64.max))
    let isAdded = bases.withLock { bases in
      guard bases.count < limits.bases else { return false }
      bases[name] = Base(log: log, end: .now + limits.baseSilence)
      return true
    }
    guard isAdded else { return nil }
    Task { [weak self] in
      while let end = self?.end(of: name) { try? await Task.sleep(until: end) }
    }
    return name
  }

  /// The log of a base, whose time begins again.
  ///
  /// - Throws: `notFound`.
  func log(_ name: String) throws(TreeRingError) -> PinnedLog {
    let log = bases.withLock { bases in
      bases[name]?.end = .now + limits.baseSilence
      return bases[name]?.log
    }
    guard let log else { throw Self.missing(name) }
    return log
  }

  /// Releases a base.
  ///
  /// - Throws: `notFound`.
  func remove(_ name: String) throws(TreeRingError) {
    guard bases.withLock({ $0.removeValue(forKey: name) }) != nil else { throw Self.missing(name) }
  }

  /// Releases all bases.
  func removeAll() { bases.withLock { $0.removeAll() } }

  /// The moment at which a base ends; nil if it has ended.
  private func end(of name: String) -> ContinuousClock.Instant? {
    bases.withLock { bases in
      guard let end = bases[name]?.end else { return nil }
      if end > .now { return end }
      bases[name] = nil
      return nil
    }
  }

  private static func missing(_ name: String) -> TreeRingError {
    TreeRingError(
      .notFound,
      "There is no base \(name): it was released, or has ended, or the server has begun anew. "
        + "Begin another base; pieces with the same checksums need not be sent again.")
  }
}
