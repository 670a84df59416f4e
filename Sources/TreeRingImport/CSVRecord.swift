// One record of CSV (RFC 4180), read and written.

internal import TreeRing
internal import TreeRingLog

/// The fields of a record, which spans lines where a quoted field does.
struct CSVRecord {
  struct Field {
    var text: [UInt8] = []
    var isQuoted = false

    /// Whether the field is the text of a JSON number.
    fileprivate var isNumber: Bool { !isQuoted && CSVRecord.isNumber(text) }
  }

  private(set) var fields = [Field()]

  /// Splits a record.
  ///
  /// - Parameters:
  ///   - line: The first line of the record.
  ///   - lines: The reader of that line; it has the other lines of the record.
  init(_ line: UnsafeRawBufferPointer, _ lines: LineReader) throws {
    var text = Array(line)
    let (source, start) = (lines.sourceNumber, lines.place)
    while text.count(where: { $0 == UInt8(ascii: "\"") }) % 2 == 1 {
      if lines.hadCarriageReturn { text.append(UInt8(ascii: "\r")) }
      guard let next = try lines.next(), lines.sourceNumber == source else {
        throw start.error("A quoted field is not closed.")
      }
      text.append(UInt8(ascii: "\n"))
      text.append(contentsOf: next)
    }
    split(text)
  }

  private mutating func split(_ text: [UInt8]) {
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
  }

  /// Appends the record as a JSON object with the members that the header names.
  func appendObject(
    _ heads: [[UInt8]], _ lines: LineReader, to output: inout [UInt8]
  ) throws {
    guard fields.count == heads.count else {
      throw lines.error(
        "The number of fields is \(fields.count) in the row and \(heads.count) in the header.")
    }
    for (index, field) in fields.enumerated() {
      output.append(UInt8(ascii: index == 0 ? "{" : ","))
      heads[index].withUnsafeBytes { JSONScanner.appendQuoted($0, to: &output) }
      output.append(UInt8(ascii: ":"))
      if field.isNumber {
        output.append(contentsOf: field.text)
      } else if field.text.isEmpty, !field.isQuoted {
        output.append(contentsOf: "null".utf8)
      } else {
        guard field.text.withUnsafeBytes({ JSONScanner.isUTF8($0) }) else {
          throw lines.error("A field is not valid UTF-8.")
        }
        field.text.withUnsafeBytes { JSONScanner.appendQuoted($0, to: &output) }
      }
    }
    output.append(UInt8(ascii: "}"))
  }

  // MARK: - Writing

  /// Appends a string as a field, quoted if it would be read as anything else.
  static func append(string text: [UInt8], to output: inout [UInt8]) {
    append(text, isQuoted: text.isEmpty || isNumber(text), to: &output)
  }

  /// Appends a field, quoted if its bytes require it.
  static func append(_ text: [UInt8], isQuoted: Bool = false, to output: inout [UInt8]) {
    guard isQuoted || needsQuotes(text) else { return output.append(contentsOf: text) }
    output.append(UInt8(ascii: "\""))
    for byte in text {
      if byte == UInt8(ascii: "\"") { output.append(byte) }
      output.append(byte)
    }
    output.append(UInt8(ascii: "\""))
  }

  /// Whether a field is read wrongly without quotes, as a record's end or the start of JSON.
  private static func needsQuotes(_ text: [UInt8]) -> Bool {
    let special = Array(",\"\r\n".utf8)
    let first = text.first { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
      || text.contains { special.contains($0) }
  }

  private static func isNumber(_ text: [UInt8]) -> Bool {
    guard let first = text.first, first == UInt8(ascii: "-") || first &- UInt8(ascii: "0") < 10
    else { return false }
    return text.withUnsafeBytes { JSONScanner.isCompact($0) }
  }
}
