// An answer is JSON. The tool's `--json` lines and the server's answers are made of these pieces.

internal import Foundation
internal import TreeRing
internal import TreeRingImport
package import TreeRingLog

/// A JSON object under construction, with members in the order of their addition.
package struct JSONObject {
  private var output: [UInt8]
  private var hasMember = false

  package init(output: [UInt8] = []) {
    self.output = output
    self.output.append(UInt8(ascii: "{"))
  }

  private mutating func name(_ name: String) {
    if hasMember { output.append(UInt8(ascii: ",")) }
    hasMember = true
    JSONScanner.appendQuoted(name, to: &output)
    output.append(UInt8(ascii: ":"))
  }

  package mutating func text(_ name: String, _ value: String) {
    self.name(name)
    JSONScanner.appendQuoted(value, to: &output)
  }

  package mutating func number(_ name: String, _ value: some BinaryInteger) {
    self.name(name)
    output.append(contentsOf: String(value).utf8)
  }

  /// A number with a fraction of at most `digits` digits.
  package mutating func number(_ name: String, _ value: Double, digits: Int) {
    self.name(name)
    output.append(contentsOf: String(format: "%.\(digits)f", value).utf8)
  }

  package mutating func bool(_ name: String, _ value: Bool) {
    self.name(name)
    output.append(contentsOf: (value ? "true" : "false").utf8)
  }

  package mutating func null(_ name: String) {
    self.name(name)
    output.append(contentsOf: "null".utf8)
  }

  package mutating func date(_ name: String, _ value: Timestamp) {
    self.name(name)
    output.append(UInt8(ascii: "\""))
    ISO8601.append(value, to: &output)
    output.append(UInt8(ascii: "\""))
  }

  package mutating func texts(_ name: String, _ values: [String]) {
    raw(name, JSONText.array(values.map { JSONText.quoted($0) }))
  }

  /// A JSON value, unchanged.
  package mutating func raw(_ name: String, _ json: String) {
    self.name(name)
    output.append(contentsOf: json.utf8)
  }

  /// A key or a group's name: text, or base 64 if it is not UTF-8.
  package mutating func key(_ name: String, _ key: [UInt8]) {
    self.name(name)
    key.withUnsafeBytes { CommitWriter.appendKey($0, to: &output) }
  }

  /// An object or metadata: JSON without space outside strings, also for a binary row, or base 64
  /// if it is neither.
  package mutating func content(_ name: String, _ content: [UInt8]) {
    self.name(name)
    content.withUnsafeBytes { JSONText.appendShown($0, to: &output) }
  }

  /// The document so far, so that another value can append to it without a copy; the object has
  /// none until `giveOutput`.
  mutating func takeOutput() -> [UInt8] {
    defer { output = [] }
    return output
  }

  mutating func giveOutput(_ output: [UInt8]) { self.output = output }

  mutating func append(_ text: String) { output.append(contentsOf: text.utf8) }

  package consuming func finish() -> [UInt8] {
    output.append(UInt8(ascii: "}"))
    return output
  }
}
