// Failures of the tool: a sentence for stderr and an exit code that scripts rely on.

import TreeRingLog

/// The exit codes.
enum ExitStatus: Int32 {
  /// The answer is no: a key is absent, damage or differences were found.
  case no = 1
  /// The command line is invalid.
  case usage = 64
  /// Input data that cannot be read.
  case badInput = 65
  /// There is no such store or file.
  case noInput = 66
  /// A bug of this program.
  case bug = 70
  /// A store or file cannot be made.
  case cannotCreate = 73
  /// Reading or writing failed, or what was read is damaged.
  case io = 74
  /// Another process has the store open, or compacts history faster than this one can read it.
  case locked = 75
  /// Ctrl-C.
  case interrupted = 130
}

/// The reason why a command ends early.
struct Failure: Error {
  var status: ExitStatus
  /// The sentence for stderr; none if empty.
  var message: String

  init(_ status: ExitStatus, _ message: String = "") {
    self.status = status
    self.message = message
  }

  /// Converts an error of the library.
  init(_ error: TreeRingError) {
    self.init(Self.status(of: error.code) ?? .bug, error.description)
  }

  /// The exit code for an error of the library; nil for an unknown code.
  static func status(of code: TreeRingError.Code) -> ExitStatus? {
    switch code {
    case .notFound, .alreadyExists, .conflict, .wrongExpectedRevision, .beyondHorizon,
      .indexDefinedInCode, .notAllowed, .snapshotExpired, .notUnique, .referenceMissing,
      .restricted, .notSummable, .notLeader:
      .no
    case .invalidInput, .tooLarge, .dateRefused: .badInput
    case .locked: .locked
    case .io, .noSpace, .poisoned, .unknown, .corruption, .unsupportedFormat, .newerVersion,
      .logBehindPages, .storeRewound, .notSupported, .notAStore, .unfinishedCopy, .unavailable,
      .diverged:
      .io
    case .cancelled: .interrupted
    // No command uses a store that it has closed.
    case .closed: .bug
    default: nil
    }
  }
}

/// The reader of standard output has closed the pipe; the tool ends without an error message.
struct OutputClosed: Error {}
