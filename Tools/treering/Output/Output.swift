// Standard output, buffered and written in large pieces. With `--json` a command writes one object
// per line and nothing else; otherwise tables and sentences.

import Foundation
import TreeRing
import TreeRingImport
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

/// A JSON object under construction, with members in the order of their addition.
struct JSONObject {
  private var output: [UInt8]
  private var hasMember = false

  init(output: [UInt8] = []) {
    self.output = output
    self.output.append(UInt8(ascii: "{"))
  }

  private mutating func name(_ name: String) {
    if hasMember { output.append(UInt8(ascii: ",")) }
    hasMember = true
    JSONScanner.appendQuoted(name, to: &output)
    output.append(UInt8(ascii: ":"))
  }

  mutating func text(_ name: String, _ value: String) {
    self.name(name)
    JSONScanner.appendQuoted(value, to: &output)
  }

  mutating func number(_ name: String, _ value: some BinaryInteger) {
    self.name(name)
    output.append(contentsOf: String(value).utf8)
  }

  /// A number with a fraction of at most `digits` digits.
  mutating func number(_ name: String, _ value: Double, digits: Int) {
    self.name(name)
    output.append(contentsOf: String(format: "%.\(digits)f", value).utf8)
  }

  mutating func bool(_ name: String, _ value: Bool) {
    self.name(name)
    output.append(contentsOf: (value ? "true" : "false").utf8)
  }

  mutating func null(_ name: String) {
    self.name(name)
    output.append(contentsOf: "null".utf8)
  }

  mutating func date(_ name: String, _ value: Timestamp) {
    self.name(name)
    output.append(UInt8(ascii: "\""))
    ISO8601.append(value, to: &output)
    output.append(UInt8(ascii: "\""))
  }

  mutating func texts(_ name: String, _ values: [String]) {
    raw(name, JSONText.array(values.map { JSONText.quoted($0) }))
  }

  /// A JSON value, unchanged.
  mutating func raw(_ name: String, _ json: String) {
    self.name(name)
    output.append(contentsOf: json.utf8)
  }

  /// A key or a group's name: text, or base 64 if it is not UTF-8.
  mutating func key(_ name: String, _ key: [UInt8]) {
    self.name(name)
    key.withUnsafeBytes { CommitWriter.appendKey($0, to: &output) }
  }

  /// An object or metadata: JSON without space outside strings, also for a binary row, or base 64
  /// if it is neither.
  mutating func content(_ name: String, _ content: [UInt8]) {
    self.name(name)
    content.withUnsafeBytes { JSONText.appendShown($0, to: &output) }
  }

  consuming func finish() -> [UInt8] {
    output.append(UInt8(ascii: "}"))
    return output
  }
}

/// Pieces of JSON as text.
enum JSONText {
  static func quoted(_ text: String) -> String {
    var output: [UInt8] = []
    JSONScanner.appendQuoted(text, to: &output)
    return String(decoding: output, as: UTF8.self)
  }

  static func quoted(key: [UInt8]) -> String {
    var output: [UInt8] = []
    key.withUnsafeBytes { CommitWriter.appendKey($0, to: &output) }
    return String(decoding: output, as: UTF8.self)
  }

  static func array(_ elements: [String]) -> String { "[" + elements.joined(separator: ",") + "]" }

  /// Appends contents for display: JSON without space outside strings, a binary row as JSON,
  /// anything else in base 64.
  static func appendShown(_ content: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    if BinaryRow.appendJSON(of: content, to: &output) { return }
    if Base64.isWrapped(content) || (try? JSONScanner.appendCompact(content, to: &output)) == nil {
      Base64.appendWrapping(content, to: &output)
    }
  }

  /// Contents for a person: unchanged if they are text on one line, as JSON if they are a binary
  /// row.
  static func shown(_ content: [UInt8]) -> String {
    if isPlain(content) { return String(decoding: content, as: UTF8.self) }
    var output: [UInt8] = []
    if content.withUnsafeBytes({ BinaryRow.appendJSON(of: $0, to: &output) }) {
      return shown(String(decoding: output, as: UTF8.self))
    }
    content.withUnsafeBytes { Base64.appendWrapping($0, to: &output) }
    return String(decoding: output, as: UTF8.self)
  }

  /// A key for a person.
  static func shown(key: [UInt8]) -> String {
    isPlain(key) ? String(decoding: key, as: UTF8.self) : shown(quoted(key: key))
  }

  /// Text for a person, with controls escaped as in JSON.
  static func shown(_ text: String) -> String {
    var text = text
    let isPlain = text.withUTF8 {
      ControlCharacters.first(in: UnsafeRawBufferPointer($0), from: 0) == nil
    }
    if isPlain { return text }
    var bytes = Array(text.utf8)
    escapeControls(in: &bytes, from: 0)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Escapes the controls in the UTF-8 from an offset on, as JSON does within strings. JSON has no
  /// controls outside strings.
  static func escapeControls(in bytes: inout [UInt8], from start: Int) {
    let first = bytes.withUnsafeBytes { ControlCharacters.first(in: $0, from: start) }
    guard let first else { return }
    let text = Array(bytes[first...])
    bytes.removeSubrange(first...)
    text.withUnsafeBytes { text in
      var run = 0
      while let at = ControlCharacters.first(in: text, from: run) {
        bytes.append(contentsOf: text[run..<at])
        let length = text[at] < 0x80 ? 1 : text[at] < 0xE0 ? 2 : 3
        let scalar = String(decoding: text[at..<(at + length)], as: UTF8.self).unicodeScalars.first
        bytes.append(contentsOf: String(format: "\\u%04x", scalar?.value ?? 0).utf8)
        run = at + length
      }
      bytes.append(contentsOf: text[run...])
    }
  }

  /// Whether bytes are text without controls.
  private static func isPlain(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes {
      ControlCharacters.first(in: $0, from: 0) == nil && JSONScanner.isUTF8($0)
    }
  }
}
