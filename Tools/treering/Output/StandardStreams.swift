// The streams of every process, which may be closed or have no reader.

import Foundation
import Logging
import TreeRingLive

/// Standard error. Failures to write are ignored: the answer and the exit code do not depend on it.
enum StandardError {
  /// Prints a sentence, with the controls in names escaped.
  static func line(_ text: String) { write("treering: \(JSONText.shown(text))\n") }

  static func write(_ text: String) {
    try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
  }
}

/// Prints the library's log messages as sentences on standard error.
struct StandardErrorLog: LogHandler {
  var logLevel = Logger.Level.error
  var metadata: Logger.Metadata = [:]

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { StandardError.line("\(event.message)") }
}

/// Standard input, for commands that read it as a whole.
enum StandardInput {
  /// All bytes until the end of the input.
  static func all() throws -> [UInt8] {
    do {
      return Array(try FileHandle.standardInput.readToEnd() ?? Data())
    } catch {
      throw Failure(.io, "Standard input cannot be read. Give the object as an argument instead.")
    }
  }
}

/// Standard input, output and error together.
enum StandardStreams {
  /// Opens `/dev/null` for each closed stream. Otherwise a file of a store could get the stream's
  /// number and receive messages for a person. Reading or writing the stream fails, as if it were
  /// still closed.
  static func fill() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
      // `open` returns the lowest free number.
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }
}
