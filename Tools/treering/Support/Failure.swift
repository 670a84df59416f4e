// How the tool fails: a sentence for stderr and an exit code that scripts rely on.

import TreeRingLog

/// The exit codes.
enum ExitStatus: Int32 {
  /// The answer is no: a key is absent, damage or differences were found.
  case no = 1
  /// The command line makes no sense.
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
  /// Another process has the store open, or changes what is to be read faster than that goes.
  case locked = 75
  /// Ctrl-C.
  case interrupted = 130
}

/// Why a command ends early.
struct Failure: Error {
  var status: ExitStatus
  /// The sentence for stderr; none if empty.
  var message: String

  init(_ status: ExitStatus, _ message: String = "") {
    self.status = status
    self.message = message
  }

  /// The library's error as the tool's.
  init(_ error: TreeRingError) {
    self.init(Self.status(of: error.code) ?? .bug, error.description)
  }

  /// The exit code for an error of the library; nil if nobody has decided on one.
  static func status(of code: TreeRingError.Code) -> ExitStatus? {
    switch code {
    case .notFound, .alreadyExists, .conflict, .beyondHorizon, .indexDefinedInCode, .notAllowed,
      .snapshotExpired:
      .no
    case .invalidInput, .tooLarge: .badInput
    case .locked: .locked
    case .io, .noSpace, .poisoned, .unknown, .corruption, .unsupportedFormat, .logBehindPages,
      .storeRewound, .notSupported:
      .io
    case .cancelled: .interrupted
    // No command uses what it has closed.
    case .closed: .bug
    default: nil
    }
  }
}

/// The reader of standard output has gone; the tool ends quietly.
struct OutputClosed: Error {}
