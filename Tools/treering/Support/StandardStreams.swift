// The streams that every process is given, which may be closed or have nobody at the other end.

import Foundation

/// Standard error. What cannot be said there is dropped: the answer and the exit code stand without it.
enum StandardError {
  /// Says a sentence, without the controls that names in it may hold.
  static func line(_ text: String) { write("treering: \(JSONText.shown(text))\n") }

  static func write(_ text: String) {
    try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
  }
}

/// Standard input, for commands that read it as a whole.
enum StandardInput {
  /// Everything that comes until it ends.
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
  /// Takes the places of those that are closed, so that no file of a store is opened in one of them and
  /// given what is meant for a person. To read or write there fails, as if they were still closed.
  static func fill() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
      // The lowest number that is free is the one given.
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }
}
