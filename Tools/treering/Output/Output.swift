// Standard output, buffered and written in large pieces. With `--json` a command writes one object
// per line and nothing else; otherwise tables and sentences.

import Foundation
import TreeRing
import TreeRingImport
import TreeRingLive
import TreeRingLog

/// The terminal in which the tool runs.
enum Terminal {
  /// Whether the terminal knows no controls but the end of a line.
  static let isDumb = ProcessInfo.processInfo.environment["TERM"] == "dumb"
}

/// The output of a command.
final class Output {
  /// Whether to print one JSON object per line.
  let isJSON: Bool
  /// Whether standard output is a terminal that may show colours.
  let isColoured: Bool
  private var buffer: [UInt8] = []
  private static let pieceByteCount = 1 << 16

  /// Whether the output goes to a terminal.
  let isTerminal: Bool
  private let descriptor: Int32

  /// - Parameter descriptor: the file descriptor to write to; by default standard output.
  init(isJSON: Bool, descriptor: Int32 = STDOUT_FILENO) {
    self.isJSON = isJSON
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
    isColoured =
      isTerminal && !Terminal.isDumb && ProcessInfo.processInfo.environment["NO_COLOR"] == nil
    buffer.reserveCapacity(2 * Self.pieceByteCount)
  }

  /// Prints a line of text, with the controls in names and notes escaped.
  func line(_ text: String) throws { try put(JSONText.shown(text)) }

  /// Prints the line above a table.
  func head(_ text: String) throws {
    try put(isColoured ? "\u{1B}[1;36m\(text)\u{1B}[0m" : text)
  }

  private func put(_ line: String) throws {
    buffer.append(contentsOf: line.utf8)
    buffer.append(UInt8(ascii: "\n"))
    try flushIfFull()
  }

  /// Prints a message on stderr that is not part of the answer.
  func notice(_ text: String) { StandardError.line(text) }

  /// Prints bytes unchanged.
  func write(_ bytes: [UInt8]) throws {
    buffer.append(contentsOf: bytes)
    try flushIfFull()
  }

  /// Prints one JSON object on a separate line.
  ///
  /// Characters that control a terminal are escaped, which does not change the meaning of the JSON.
  func object(_ build: (inout JSONObject) -> Void) throws {
    let start = buffer.count
    var object = JSONObject(output: buffer)
    buffer = []
    build(&object)
    buffer = object.finish()
    JSONText.escapeControls(in: &buffer, from: start)
    buffer.append(UInt8(ascii: "\n"))
    try flushIfFull()
  }

  /// The size of the terminal in characters; nil if the output is no terminal.
  var terminalSize: (rows: Int, columns: Int)? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
    return (Int(size.ws_row), Int(size.ws_col))
  }

  /// Whether the reader of the output has closed the pipe.
  static var isClosed: Bool {
    var state = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    return poll(&state, 1, 0) > 0 && state.revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0
  }

  private func flushIfFull() throws {
    if buffer.count >= Self.pieceByteCount { try flush() }
  }

  /// Writes the buffered output.
  func flush() throws {
    defer { buffer.removeAll(keepingCapacity: true) }
    try buffer.withUnsafeBytes { bytes in
      var offset = 0
      while offset < bytes.count {
        let count = Foundation.write(
          descriptor, bytes.baseAddress.map { $0 + offset }, bytes.count - offset)
        if count >= 0 {
          offset += count
        } else if errno == EPIPE {
          throw OutputClosed()
        } else if errno != EINTR {
          throw Failure(.io, "Standard output: \(String(cString: strerror(errno))).")
        }
      }
    }
  }
}
