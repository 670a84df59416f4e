// Reads rows that are not commits, in one of three forms, which the first bytes of each file tell:
//
// - JSON Lines: one object per line, if the first byte is `{`.
// - A JSON array of objects, if the first bytes are `[` and then the end of the line, `{`, `[` or
//   `]`. Its elements may span lines (ArrayElements.swift).
// - CSV with a header line, otherwise (CSVRecord.swift).

public import TreeRing
public import TreeRingLog

/// Reads rows from JSON Lines, a JSON array, or CSV with a header.
///
/// The first bytes of each file tell its form. In CSV an unquoted field with the form of a JSON
/// number becomes that number, an empty unquoted field becomes null, any other field a string.
///
///     var rows = try RowReader(LineReader(bytes: Array(table.utf8)), key: "code")
///     try store.write { tx in
///       while try rows.next() { try rows.apply(to: tx, in: "airports") }
///     }
public struct RowReader {
  private enum Form {
    case lines
    case array(ArrayElements)
    case records(heads: [[UInt8]])
  }

  /// The last row's object: JSON without space outside strings.
  public private(set) var object: [UInt8] = []
  /// The last row's key: the text of its key field.
  public private(set) var key = Key(bytes: [])

  private let lines: LineReader
  private let keyPath: JSONPath
  private var form = Form.lines
  /// The number of the source that has this form; 0 before the first.
  private var sourceNumber = 0

  /// Creates a reader of lines.
  ///
  /// - Parameters:
  ///   - lines: The lines of all rows.
  ///   - key: The field of each row that is its key, a dotted path into the object. It must be a
  ///     string, a number, true or false.
  /// - Throws: `invalidInput` if the path has an empty part.
  public init(_ lines: LineReader, key: String) throws(TreeRingError) {
    self.lines = lines
    keyPath = try JSONPath(key)
  }

  /// Reads the next row into ``object`` and ``key``; false at the end. Skips empty lines. O(length
  /// of the row).
  ///
  /// - Throws: `invalidInput`, with file and line, if the row is malformed or has no key; an error
  ///   of the source. After an error the row is undefined.
  public mutating func next() throws -> Bool {
    object.removeAll(keepingCapacity: true)
    while true {
      if case .array(var elements) = form {
        form = .lines
        let hasElement = try elements.next(from: lines, into: &object)
        form = .array(elements)
        if hasElement { break }
      }
      guard let line = try lines.next() else { return false }
      if try line.isEmpty || begins(line) { continue }
      try read(line)
      break
    }
    try readKey()
    return true
  }

  /// Adds the row to a transaction: puts its object, without metadata, under its key.
  ///
  /// - Throws: `tooLarge` and others, as the transaction's methods.
  public func apply(to transaction: Transaction, in bucket: String) throws(TreeRingError) {
    try key.bytes.withUnsafeBytes { (key) throws(TreeRingError) in
      try object.withUnsafeBytes { (object) throws(TreeRingError) in
        try transaction.put(key, in: bucket, object: object, metadata: nil)
      }
    }
  }

  /// Detects the form if the line is the first of its source that is not empty.
  ///
  /// - Returns: true if the line belongs to the form and is no row.
  private mutating func begins(_ line: UnsafeRawBufferPointer) throws -> Bool {
    if sourceNumber == lines.sourceNumber {
      if case .array = form { return line.allSatisfy { Self.isSpace($0) } }
      return false
    }
    sourceNumber = lines.sourceNumber
    let text = line.filter { !Self.isSpace($0) }
    if text.first == UInt8(ascii: "{") {
      form = .lines
      return false
    }
    if text.first == UInt8(ascii: "["), text.count == 1 || Array("{[]".utf8).contains(text[1]) {
      form = .array(ArrayElements(line))
      return true
    }
    form = .records(heads: try heads(line))
    return true
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
  }

  private func heads(_ line: UnsafeRawBufferPointer) throws -> [[UInt8]] {
    let heads = try CSVRecord(line, lines).fields.map(\.text)
    guard heads.allSatisfy({ $0.withUnsafeBytes { JSONScanner.isUTF8($0) } }) else {
      throw lines.error("A field's name is not valid UTF-8.")
    }
    guard heads.contains(Array("\(keyPath)".utf8)) else {
      throw lines.error(
        "The header has no field “\(keyPath)”, which is to be the key. Rows are JSON objects, "
          + "one per line or in one array, or CSV with a header.")
    }
    return heads
  }

  private mutating func read(_ line: UnsafeRawBufferPointer) throws {
    switch form {
    case .lines:
      do throws(TreeRingError) {
        try JSONScanner.appendCompact(line, to: &object)
      } catch {
        throw lines.located(error)
      }
    case .array: throw lines.error("There is text after the end of the JSON array.")
    case .records(let heads): try CSVRecord(line, lines).appendObject(heads, lines, to: &object)
    }
  }

  private mutating func readKey() throws {
    let found: [UInt8]?
    do {
      found = try object.withUnsafeBytes { bytes -> [UInt8]? in
        guard let range = try JSONScanner.find(keyPath, in: bytes) else { return nil }
        let value = UnsafeRawBufferPointer(rebasing: bytes[range])
        var text: [UInt8] = []
        if value.first == UInt8(ascii: "\""), !JSONScanner.appendString(value, to: &text) {
          throw TreeRingError(.invalidInput, "The row's key \(JSONScanner.loneSurrogate).")
        }
        text = []
        if value.elementsEqual("null".utf8) { return nil }
        return JSONScanner.appendText(ofScalar: value, to: &text) ? text : nil
      }
    } catch let error as TreeRingError {
      throw lines.located(error)
    }
    guard let found else {
      throw lines.error("The row has no scalar in its field “\(keyPath)”.")
    }
    guard !found.isEmpty else {
      throw lines.error("The row's field “\(keyPath)” is empty, so it has no key.")
    }
    key = Key(bytes: found)
  }
}
