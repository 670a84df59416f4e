// The contract between replicas and the log that they share.

/// A log that the replicas of a store share: a sequence of entries, numbered from 1 without gaps.
/// An entry that was appended never changes.
///
/// `MemoryLog` and `FileLog` serve tests and single machines; the package TreeRingNATS has one over
/// NATS JetStream. An adapter for another system implements these calls, each of which blocks its
/// thread, and passes `SharedLogChecks` of TreeRingTesting.
public protocol SharedLog: Sendable {
  /// The maximum size of an entry in bytes; at least 65,536.
  var entryByteLimit: Int { get }

  /// The numbers of the oldest and the newest entry. The answer includes every entry whose append
  /// ended before the call began, wherever it was appended.
  /// - Parameter limit: The time after which the call gives up.
  /// - Throws: `unavailable`, `refused`.
  func ends(within limit: Duration) throws(SharedLogError) -> SharedLogEnds

  /// Appends entries, the first with the number after `expected`, in order: no entry is ever there
  /// without those before it.
  /// - Parameters:
  ///   - entries: At least one; each of `entryByteLimit` bytes at most.
  ///   - expected: The number of the newest entry; 0 if there has been none.
  ///   - limit: The time after which the call gives up.
  /// - Returns: The outcome. With `appended`, all of them survive the loss of any machine that the
  ///   log is made for.
  /// - Throws: `refused`: none of them was appended, and the reason will not pass by itself.
  func append(
    _ entries: [[UInt8]], after expected: UInt64, within limit: Duration
  ) throws(SharedLogError) -> AppendOutcome

  /// Reads entries in order, from a number on.
  /// - Parameters:
  ///   - first: The number of the first one.
  ///   - byteLimit: The size at which the answer ends; it has at least one entry, whatever its
  ///   size.
  ///   - limit: The time to wait for the first entry; 0 to wait for none.
  /// - Returns: The entries; empty if there was none in that time. A log of several machines may
  ///   answer from one that does not have the newest entries yet.
  /// - Throws: `trimmed` if the log begins later; `unavailable`, `refused`.
  func read(
    from first: UInt64, byteLimit: Int, within limit: Duration
  ) throws(SharedLogError) -> [[UInt8]]

  /// Removes the entries before a number. Entries appended later continue the numbers.
  /// - Parameters:
  ///   - first: The number of the first entry to keep; the newest entry is always kept.
  ///   - limit: The time after which the call gives up.
  /// - Throws: `unavailable`, `refused`.
  func trim(before first: UInt64, within limit: Duration) throws(SharedLogError)
}

/// The numbers of the oldest and the newest entry of a shared log.
public struct SharedLogEnds: Hashable, Sendable {
  /// The number of the oldest entry; `last + 1` if there is none.
  public var first: UInt64
  /// The number of the newest entry; 0 if there has been none.
  public var last: UInt64

  /// Creates the ends of a log.
  public init(first: UInt64, last: UInt64) {
    self.first = first
    self.last = last
  }
}

/// The outcome of an append to a shared log.
public enum AppendOutcome: Hashable, Sendable {
  /// All entries were appended.
  case appended
  /// The number after one of the entries, or after `expected`, belongs to an entry already. The
  /// entries from there on were not appended by this call. An earlier call that ended with
  /// `unknown` may have appended them.
  case conflict
  /// The log did not answer in time. Any number of the entries, in order, may have been appended or
  /// may yet be. The text says what was seen.
  case unknown(String)
}

/// The reason why a shared log could not serve a call.
public enum SharedLogError: Error, Hashable, Sendable, CustomStringConvertible {
  /// It did not answer in time, or has no quorum. Repeat the call later.
  case unavailable(String)
  /// The log begins with the entry `first`: those before were trimmed.
  case trimmed(first: UInt64)
  /// It refuses its service: wrong credentials, a configuration that could lose acknowledged
  /// entries, or no more room. The text says what to change.
  case refused(String)

  public var description: String {
    switch self {
    case .unavailable(let text): "The shared log is unavailable: \(text)"
    case .trimmed(let first): "The shared log begins with entry \(first)."
    case .refused(let text): "The shared log refused: \(text)"
    }
  }
}
