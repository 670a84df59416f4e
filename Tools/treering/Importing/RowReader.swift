// Rows of an import that is not in the commit format: one JSON object per line, or CSV with a
// header line. Input is CSV if its first byte is not `{`.
//
// In CSV, an unquoted field with the form of a JSON number becomes that number. An empty unquoted
// field becomes null, any other field a string.

import TreeRing
import TreeRingLog

/// Turns lines into objects and their keys.
struct RowReader {
  private let input: InputFiles
  private let keyPath: JSONPath
  private var heads: [[UInt8]]?
  private var hasStarted = false
  private var pending: [UInt8] = []
  /// The last row's object: JSON without space outside strings.
  private(set) var object: [UInt8] = []
  /// The last row's key.
  private(set) var key: [UInt8] = []

  init(_ input: InputFiles, key: String) throws {
    self.input = input
    keyPath = try JSONPath(key)
  }

  /// Reads the next row into `object` and `key`; false at the end. Skips empty lines.
  mutating func next() throws -> Bool {
    object.removeAll(keepingCapacity: true)
    key.removeAll(keepingCapacity: true)
    while let line = try input.next() {
      if line.isEmpty { continue }
      if !hasStarted {
        hasStarted = true
        if !startsObject(line) {
          try readHeads(line)
          continue
        }
      }
      if let heads {
        try readRecord(line, heads)
      } else {
        try failing { try JSONScanner.appendCompact(line, to: &object) }
      }
      try readKey()
      return true
    }
    return false
  }

  private func startsObject(_ line: UnsafeRawBufferPointer) -> Bool {
    line.first { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") } == UInt8(ascii: "{")
  }

  private mutating func readHeads(_ line: UnsafeRawBufferPointer) throws {
    guard !startsArray(line) else {
      throw Failure(
        .badInput,
        "\(input.place): this is a JSON array, not one object per line. Split it, as with "
          + "jq -c '.[]'."
      )
    }
    let heads = try record(line).map(\.text)
    guard heads.allSatisfy({ $0.withUnsafeBytes { JSONScanner.isUTF8($0) } }) else {
      throw Failure(.badInput, "\(input.place): a field's name is not valid UTF-8.")
    }
    guard heads.contains(Array("\(keyPath)".utf8)) else {
      throw Failure(
        .badInput,
        "\(input.place): the header has no field “\(keyPath)”, which is to be the key. "
          + "Rows are JSON "
          + "objects, one per line, or CSV with a header.")
    }
    self.heads = heads
  }

  /// Whether a line begins a JSON array, and is no list of fields.
  private func startsArray(_ line: UnsafeRawBufferPointer) -> Bool {
    let text = line.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
    return text.first == UInt8(ascii: "[")
      && (text.count == 1 || Array("{[]".utf8).contains(text[1]))
  }

  private func failing<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as TreeRingError {
      throw Failure(.badInput, "\(input.place): \(error.description)")
    }
  }

  private mutating func readKey() throws {
    let found = try failing {
      try object.withUnsafeBytes { bytes -> [UInt8]? in
        guard let range = try JSONScanner.find(keyPath, in: bytes) else { return nil }
        var text: [UInt8] = []
        let value = UnsafeRawBufferPointer(rebasing: bytes[range])
        if value.first == UInt8(ascii: "\""), !JSONScanner.appendString(value, to: &text) {
          throw TreeRingError(
            .invalidInput, "The row's key \(JSONScanner.loneSurrogate).")
        }
        text = []
        if value.elementsEqual("null".utf8) { return nil }
        return JSONScanner.appendText(ofScalar: value, to: &text) ? text : nil
      }
    }
    guard let found, !found.isEmpty else {
      throw Failure(
        .badInput,
        found == nil
          ? "\(input.place): the row has no scalar in its field “\(keyPath)”."
          : "\(input.place): the row's field “\(keyPath)” is empty, so it has no key.")
    }
    key = found
  }

  private struct Field {
    var text: [UInt8] = []
    var isQuoted = false
  }

  private mutating func readRecord(_ line: UnsafeRawBufferPointer, _ heads: [[UInt8]]) throws {
    let fields = try record(line)
    guard fields.count == heads.count else {
      throw Failure(
        .badInput,
        "\(input.place): the row has \(fields.count) fields where the header has \(heads.count).")
    }
    for (index, field) in fields.enumerated() {
      object.append(UInt8(ascii: index == 0 ? "{" : ","))
      heads[index].withUnsafeBytes { JSONScanner.appendQuoted($0, to: &object) }
      object.append(UInt8(ascii: ":"))
      try append(field)
    }
    object.append(UInt8(ascii: "}"))
  }

  private mutating func append(_ field: Field) throws {
    let isNumber =
      !field.isQuoted
      && (field.text.first == UInt8(ascii: "-")
        || field.text.first.map { $0 &- UInt8(ascii: "0") < 10 } == true)
      && field.text.withUnsafeBytes { JSONScanner.isCompact($0) }
    if isNumber {
      object.append(contentsOf: field.text)
    } else if field.text.isEmpty, !field.isQuoted {
      object.append(contentsOf: "null".utf8)
    } else {
      guard field.text.withUnsafeBytes({ JSONScanner.isUTF8($0) }) else {
        throw Failure(.badInput, "\(input.place): a field is not valid UTF-8.")
      }
      field.text.withUnsafeBytes { JSONScanner.appendQuoted($0, to: &object) }
    }
  }

  /// Splits a record, which continues on the next lines while a quote is open.
  private mutating func record(_ first: UnsafeRawBufferPointer) throws -> [Field] {
    var text = Array(first)
    let place = input.place
    while text.count(where: { $0 == UInt8(ascii: "\"") }) % 2 == 1 {
      guard let line = try input.next() else {
        throw Failure(.badInput, "\(place): a quoted field is not closed.")
      }
      text.append(UInt8(ascii: "\n"))
      text.append(contentsOf: line)
    }
    var fields = [Field()]
    var isInside = false
    var at = 0
    while at < text.count {
      let byte = text[at]
      if byte == UInt8(ascii: "\"") {
        if isInside, at + 1 < text.count, text[at + 1] == byte {
          fields[fields.count - 1].text.append(byte)
          at += 1
        } else {
          isInside.toggle()
          fields[fields.count - 1].isQuoted = true
        }
      } else if byte == UInt8(ascii: ","), !isInside {
        fields.append(Field())
      } else {
        fields[fields.count - 1].text.append(byte)
      }
      at += 1
    }
    return fields
  }
}
