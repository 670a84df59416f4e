// Standard output, collected and written in large pieces. With `--json` a command writes one object
// per line and nothing else; otherwise tables and sentences.

import Foundation
import TreeRing
import TreeRingLog

/// What a command prints.
final class Output {
  /// Whether to print one JSON object per line.
  let isJSON: Bool
  /// Whether standard output is a terminal that colours are welcome on.
  let isColoured: Bool
  private var buffer: [UInt8] = []
  private static let pieceByteCount = 1 << 16

  /// Whether what is printed goes to a terminal.
  let isTerminal: Bool
  private let descriptor: Int32

  /// - Parameter descriptor: where to write; standard output unless said otherwise.
  init(isJSON: Bool, descriptor: Int32 = STDOUT_FILENO) {
    self.isJSON = isJSON
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
    isColoured = isTerminal && ProcessInfo.processInfo.environment["NO_COLOR"] == nil
    buffer.reserveCapacity(2 * Self.pieceByteCount)
  }

  /// Prints a line of text, without the controls that names and notes may hold.
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

  /// Says something on stderr that is not part of the answer.
  func notice(_ text: String) { StandardError.line(text) }

  /// Prints bytes as they are.
  func write(_ bytes: [UInt8]) throws {
    buffer.append(contentsOf: bytes)
    try flushIfFull()
  }

  /// Prints one JSON object on a line of its own.
  func object(_ build: (inout JSONObject) -> Void) throws {
    var object = JSONObject(output: buffer)
    buffer = []
    build(&object)
    buffer = object.finish()
    buffer.append(UInt8(ascii: "\n"))
    try flushIfFull()
  }

  /// How many characters the terminal has; nil if there is none.
  var terminalSize: (rows: Int, columns: Int)? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
    return (Int(size.ws_row), Int(size.ws_col))
  }

  /// Whether nobody reads what is printed any more.
  static var isClosed: Bool {
    var state = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    return poll(&state, 1, 0) > 0 && state.revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0
  }

  private func flushIfFull() throws {
    if buffer.count >= Self.pieceByteCount { try flush() }
  }

  /// Writes everything that has been collected.
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

/// One JSON object in the making, its members in the order they are added.
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

  /// JSON as it is.
  mutating func raw(_ name: String, _ json: String) {
    self.name(name)
    output.append(contentsOf: json.utf8)
  }

  /// A key or a group's name: text, or base 64 if it is not UTF-8.
  mutating func key(_ name: String, _ key: [UInt8]) {
    self.name(name)
    key.withUnsafeBytes { CommitLineWriter.appendKey($0, to: &output) }
  }

  /// An object or metadata: JSON without space outside strings, or base 64 if it is not JSON.
  mutating func content(_ name: String, _ content: [UInt8]) {
    self.name(name)
    content.withUnsafeBytes { JSONText.appendShown($0, to: &output) }
  }

  /// The same so that importing it gives the same bytes.
  mutating func exactContent(_ name: String, _ content: [UInt8]) {
    self.name(name)
    content.withUnsafeBytes { CommitLineWriter.appendContent($0, to: &output) }
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
    key.withUnsafeBytes { CommitLineWriter.appendKey($0, to: &output) }
    return String(decoding: output, as: UTF8.self)
  }

  static func array(_ elements: [String]) -> String { "[" + elements.joined(separator: ",") + "]" }

  /// Appends contents for reading: JSON without space outside strings, anything else in base 64.
  static func appendShown(_ content: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    if Base64.isWrapped(content) || (try? JSONScanner.appendCompact(content, to: &output)) == nil {
      Base64.appendWrapping(content, to: &output)
    }
  }

  /// Contents for a person: as they are if they are text on one line.
  static func shown(_ content: [UInt8]) -> String {
    if isPlain(content) { return String(decoding: content, as: UTF8.self) }
    var output: [UInt8] = []
    content.withUnsafeBytes { Base64.appendWrapping($0, to: &output) }
    return String(decoding: output, as: UTF8.self)
  }

  /// A key for a person.
  static func shown(key: [UInt8]) -> String {
    isPlain(key) ? String(decoding: key, as: UTF8.self) : shown(quoted(key: key))
  }

  /// Text for a person: controls, which a terminal would obey, escaped as JSON escapes them.
  static func shown(_ text: String) -> String {
    if !holdsControls(text.utf8) { return text }
    return text.unicodeScalars.reduce(into: "") { shown, scalar in
      if scalar.properties.generalCategory == .control {
        shown += String(format: "\\u%04x", scalar.value)
      } else {
        shown.unicodeScalars.append(scalar)
      }
    }
  }

  /// Whether bytes are text that leaves a terminal as it is.
  private static func isPlain(_ bytes: [UInt8]) -> Bool {
    !holdsControls(bytes) && bytes.withUnsafeBytes { JSONScanner.isUTF8($0) }
  }

  private static func holdsControls(_ bytes: some Sequence<UInt8>) -> Bool {
    var last: UInt8 = 0
    for byte in bytes {
      // In UTF-8 the controls U+0080 to U+009F are C2 and a byte below A0.
      if byte < 0x20 || byte == 0x7F || (last == 0xC2 && byte < 0xA0) { return true }
      last = byte
    }
    return false
  }
}
