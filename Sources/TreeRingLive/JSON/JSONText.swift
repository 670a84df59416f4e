// Pieces of JSON, and names and contents in the form for people.

internal import Foundation
internal import TreeRing
internal import TreeRingImport

/// Pieces of JSON as text.
package enum JSONText {
  package static func quoted(_ text: String) -> String {
    var output: [UInt8] = []
    JSONScanner.appendQuoted(text, to: &output)
    return String(decoding: output, as: UTF8.self)
  }

  package static func quoted(key: [UInt8]) -> String {
    var output: [UInt8] = []
    key.withUnsafeBytes { CommitWriter.appendKey($0, to: &output) }
    return String(decoding: output, as: UTF8.self)
  }

  package static func array(_ elements: [String]) -> String {
    "[" + elements.joined(separator: ",") + "]"
  }

  /// Appends contents for display: JSON without space outside strings, a binary row as JSON,
  /// anything else in base 64.
  package static func appendShown(_ content: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    if BinaryRow.appendJSON(of: content, to: &output) { return }
    if Base64.isWrapped(content) || (try? JSONScanner.appendCompact(content, to: &output)) == nil {
      Base64.appendWrapping(content, to: &output)
    }
  }

  /// Contents for a person: unchanged if they are text on one line, as JSON if they are a binary
  /// row.
  package static func shown(_ content: [UInt8]) -> String {
    if isPlain(content) { return String(decoding: content, as: UTF8.self) }
    var output: [UInt8] = []
    if content.withUnsafeBytes({ BinaryRow.appendJSON(of: $0, to: &output) }) {
      return shown(String(decoding: output, as: UTF8.self))
    }
    content.withUnsafeBytes { Base64.appendWrapping($0, to: &output) }
    return String(decoding: output, as: UTF8.self)
  }

  /// A key for a person.
  package static func shown(key: [UInt8]) -> String {
    isPlain(key) ? String(decoding: key, as: UTF8.self) : shown(quoted(key: key))
  }

  /// Text for a person, with controls escaped as in JSON.
  package static func shown(_ text: String) -> String {
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
  package static func escapeControls(in bytes: inout [UInt8], from start: Int) {
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
