// The library's error type: a code to branch on, a message for people, and the location. Only
// TreeRingFirebase and TreeRingRemote have one of their own, for failures of a server.

/// The reason for a failure, its location, and the next step.
///
/// Branch on ``code``; show ``description``, which contains message and location. The properties of
/// the location are nil if they do not apply.
public struct TreeRingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of a failure. Later versions may add codes, so keep a default branch.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code, such as "corruption".
    public let description: String
    package init(_ description: String) { self.description = description }

    /// Bytes on disk differ from those that were written. The call changed nothing on disk.
    public static let corruption = Code("corruption")
    /// The store was written by a newer version of the format.
    public static let unsupportedFormat = Code("unsupportedFormat")
    /// A row or a bucket is of a later version than the program knows.
    public static let newerVersion = Code("newerVersion")
    /// Another process has the store open for writing.
    public static let locked = Code("locked")
    /// No store, row, commit, tag or index of that name exists.
    public static let notFound = Code("notFound")
    /// The folder, or something in it, does not belong to a store. The call changed nothing.
    public static let notAStore = Code("notAStore")
    /// The folder holds an unfinished copy of a store. Repeating the copy completes it.
    public static let unfinishedCopy = Code("unfinishedCopy")
    /// An item of that name already exists.
    public static let alreadyExists = Code("alreadyExists")
    /// The operating system refused a read, write or sync.
    public static let io = Code("io")
    /// The device is full. The commit did not happen; writing resumes when there is room.
    public static let noSpace = Code("noSpace")
    /// An earlier write failed, so this store accepts no more writes until it is reopened.
    public static let poisoned = Code("poisoned")
    /// The commit may or may not have reached the device. Reopen the store to find out.
    public static let unknown = Code("unknown")
    /// Another replica writes the store. The commit did not happen.
    public static let notLeader = Code("notLeader")
    /// The log that replicas share does not answer, or has no quorum. Try again later.
    public static let unavailable = Code("unavailable")
    /// The store and the log that it shares hold different commits of one number, or are of
    /// different stores.
    public static let diverged = Code("diverged")
    /// A precondition of a write did not hold. `current` is the commit found instead, if any.
    public static let conflict = Code("conflict")
    /// Two rows would share a group of a unique index. The commit did not happen.
    public static let notUnique = Code("notUnique")
    /// A row would refer to a row that does not exist, or lack a required reference. The commit did
    /// not happen.
    public static let referenceMissing = Code("referenceMissing")
    /// A deleted row is one that other rows refer to. The commit did not happen.
    public static let restricted = Code("restricted")
    /// A row has a number that an index cannot sum exactly. If it was to be written, the commit did
    /// not happen.
    public static let notSummable = Code("notSummable")
    /// The stream has another revision than the append expected. `current` is its newest revision;
    /// nil if it has no events. The commit did not happen.
    public static let wrongExpectedRevision = Code("wrongExpectedRevision")
    /// The date given to a commit is earlier than the newest commit's, or ahead of the clock. The
    /// commit did not happen.
    public static let dateRefused = Code("dateRefused")
    /// A key, group, object or other value exceeds its limit in bytes.
    public static let tooLarge = Code("tooLarge")
    /// The store, snapshot or transaction has been closed.
    public static let closed = Code("closed")
    /// The call is not allowed in this mode (for instance a write to a store opened for reading).
    public static let notAllowed = Code("notAllowed")
    /// The requested commit lies before the oldest readable one.
    public static let beyondHorizon = Code("beyondHorizon")
    /// The page file refers to commits that the log does not hold: the log has lost durable
    /// commits.
    public static let logBehindPages = Code("logBehindPages")
    /// The snapshot was held longer than `pinLimit` allows, and its data is gone.
    public static let snapshotExpired = Code("snapshotExpired")
    /// The followed store was replaced, or lost commits that were already read. Open it again.
    public static let storeRewound = Code("storeRewound")
    /// This system or file system does not support the operation.
    public static let notSupported = Code("notSupported")
    /// An argument or input is invalid, such as JSON, a date or a definition.
    public static let invalidInput = Code("invalidInput")
    /// The index is defined by a closure that this process has not registered.
    public static let indexDefinedInCode = Code("indexDefinedInCode")
    /// The caller cancelled the operation.
    public static let cancelled = Code("cancelled")
  }

  /// The kind of the failure.
  public var code: Code
  /// The failure, its meaning for the data and the next step, in a sentence or two.
  public var message: String
  /// The path of the file or folder in which it occurred, if any.
  public var file: String?
  /// The line of a text file in which it occurred, from 1, if any.
  public var line: Int?
  /// The byte offset in that file or line, if any.
  public var offset: UInt64?
  /// The number of the commit that it concerns, if any.
  public var commit: CommitNumber?
  /// For `conflict`: the commit found instead of the expected one. For `wrongExpectedRevision`: the
  /// stream's newest revision. For `beyondHorizon`: the horizon, the oldest commit whose state can
  /// be read.
  public var current: CommitNumber?
  /// The operating system's error number, if a system call failed.
  public var errno: Int32?
  /// The rule of the store that a commit would have broken, if it is refused for that.
  package var brokenRule: BrokenRule?

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

  /// True if the error describes the store's files; false if it describes a present limit of this
  /// system, such as lack of memory, descriptors or read permission. A device that fails to read is
  /// a finding.
  package var isFinding: Bool {
    switch code {
    case .corruption, .unsupportedFormat, .logBehindPages, .notFound, .notAStore, .invalidInput,
      .tooLarge, .alreadyExists, .conflict:
      true
    case .io: errno == SystemErrors.inputOutput
    default: false
    }
  }

  /// Whether it tells the caller what the newest commits have written, so that these must be
  /// durable before it is thrown.
  package var reportsNewestState: Bool {
    code == .conflict || code == .wrongExpectedRevision
  }

  /// The line if there is one, the message, and the rest of the location in parentheses.
  public var description: String {
    var location: [String] = []
    var start = ""
    if let line {
      start = file.map { "\($0), line \(line): " } ?? "line \(line): "
    } else if let file {
      location.append("file \(file)")
    }
    if let offset { location.append("offset \(offset)") }
    if let commit { location.append("commit \(commit)") }
    return start + (location.isEmpty ? message : "\(message) (\(location.joined(separator: ", ")))")
  }
}
