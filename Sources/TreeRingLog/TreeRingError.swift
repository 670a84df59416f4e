// The one error type of the library: a code to branch on, a sentence for a person, and the place.

/// Why a call failed, where, and what to do next.
///
/// Branch on ``code``; show ``description``. The place (file, offset, commit) is given where there is
/// one.
public struct TreeRingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of failure it is. New codes may be added; always keep a default branch.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    package init(_ description: String) { self.description = description }

    /// Bytes on disk are not what was written. Nothing was changed.
    public static let corruption = Code("corruption")
    /// The store was written by a newer version of the format.
    public static let unsupportedFormat = Code("unsupportedFormat")
    /// Another process has the store open for writing.
    public static let locked = Code("locked")
    /// There is no store, row, commit, tag or index of that name.
    public static let notFound = Code("notFound")
    /// Something of that name is already there.
    public static let alreadyExists = Code("alreadyExists")
    /// The operating system refused a read, write or sync.
    public static let io = Code("io")
    /// The device is full. The commit did not happen; writing resumes when there is room.
    public static let noSpace = Code("noSpace")
    /// An earlier write failed, so this store accepts no more until it is reopened.
    public static let poisoned = Code("poisoned")
    /// Whether this commit reached the device is not known; reopening tells.
    public static let unknown = Code("unknown")
    /// A precondition of a write did not hold; `current` is what it is now.
    public static let conflict = Code("conflict")
    /// A key, group, object or other value is over its limit.
    public static let tooLarge = Code("tooLarge")
    /// The store, snapshot or transaction has been closed.
    public static let closed = Code("closed")
    /// The call does not fit this mode (for instance a write to a store opened for reading).
    public static let notAllowed = Code("notAllowed")
    /// The commit asked for lies before the oldest readable one.
    public static let beyondHorizon = Code("beyondHorizon")
    /// The page file knows of commits that the log does not hold: the log has lost durable commits.
    public static let logBehindPages = Code("logBehindPages")
    /// The snapshot was held longer than `pinLimit` allows, and what it read is gone.
    public static let snapshotExpired = Code("snapshotExpired")
    /// The store that is followed was replaced or cut back behind what has been read of it.
    public static let storeRewound = Code("storeRewound")
    /// This system or file system cannot do that.
    public static let notSupported = Code("notSupported")
    /// Input that cannot be read: JSON, a date, a definition.
    public static let invalidInput = Code("invalidInput")
    /// The index is defined by a closure that this process has not registered.
    public static let indexDefinedInCode = Code("indexDefinedInCode")
    /// The work was cancelled.
    public static let cancelled = Code("cancelled")
  }

  /// What kind of failure it is.
  public var code: Code
  /// What happened, what it means for the data and what to do next, in a sentence or two.
  public var message: String
  /// The file it happened in, if any.
  public var file: String?
  /// The byte offset in that file, if any.
  public var offset: UInt64?
  /// The commit it concerns, if any.
  public var commit: CommitNumber?
  /// For `conflict`: the commit number that the precondition met instead; for `beyondHorizon`: the
  /// horizon.
  public var current: CommitNumber?
  /// The operating system's error number, if one was given.
  public var errno: Int32?

  package init(
    _ code: Code, _ message: String, file: String? = nil, offset: UInt64? = nil,
    commit: CommitNumber? = nil, current: CommitNumber? = nil, errno: Int32? = nil
  ) {
    self.code = code
    self.message = message
    self.file = file
    self.offset = offset
    self.commit = commit
    self.current = current
    self.errno = errno
  }

  public var description: String {
    var place: [String] = []
    if let file { place.append("file \(file)") }
    if let offset { place.append("offset \(offset)") }
    if let commit { place.append("commit \(commit)") }
    return place.isEmpty ? message : "\(message) (\(place.joined(separator: ", ")))"
  }
}
