// Writes the rows of a snapshot as JSON Lines or CSV.

public import TreeRing
internal import TreeRingLog

extension Snapshot {
  /// Writes rows as lines of JSON, without blocking the caller's thread. Otherwise it equals the
  /// blocking form.
  ///
  /// - Parameters:
  ///   - bucket: The bucket; nil for all.
  ///   - body: Takes one line at a time, with its line feed, on a thread of the library.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled, also during the work.
  public func exportRows(
    of bucket: String? = nil, _ body: @escaping @Sendable (_ line: [UInt8]) throws -> Void
  ) async throws {
    try await WorkerPool.upkeep.runThrowing { [self] stop in
      try exportRows(of: bucket) { line in
        try stop.check()
        try body(line)
      }
    }
  }

  /// Writes the rows of a bucket as CSV, without blocking the caller's thread. Otherwise it equals
  /// the blocking form.
  ///
  /// - Parameters:
  ///   - bucket: The bucket.
  ///   - keyColumn: The name of a first column with the key of each row; nil for none.
  ///   - body: Takes the header, then one record at a time, on a thread of the library.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled, also during the work.
  public func exportCSV(
    of bucket: String, keyColumn: String? = nil,
    _ body: @escaping @Sendable (_ record: [UInt8]) throws -> Void
  ) async throws {
    try await WorkerPool.upkeep.runThrowing { [self] stop in
      try exportCSV(of: bucket, keyColumn: keyColumn) { record in
        try stop.check()
        try body(record)
      }
    }
  }

  /// Writes rows as lines of JSON, in key order, bucket by bucket:
  /// `{"bucket":B,"key":K,"object":O,"metadata":M}`. O(rows).
  ///
  /// - Parameters:
  ///   - bucket: The bucket; nil for all.
  ///   - body: Takes one line at a time, with its line feed.
  /// - Throws: `corruption`, `io`, `closed`, `snapshotExpired`; the errors of `body`.
  public func exportRows(
    of bucket: String? = nil, _ body: (_ line: [UInt8]) throws -> Void
  ) throws {
    var line: [UInt8] = []
    for (name, rows) in try buckets() where rows > 0 {
      if let bucket, !bucket.utf8.elementsEqual(name.utf8) { continue }
      try forEachRow(in: name) { row in
        line.removeAll(keepingCapacity: true)
        line.append(contentsOf: "{\"bucket\":".utf8)
        JSONScanner.appendQuoted(name, to: &line)
        line.append(contentsOf: ",\"key\":".utf8)
        row.key.bytes.withUnsafeBytes { CommitWriter.appendKey($0, to: &line) }
        line.append(contentsOf: ",\"object\":".utf8)
        row.object.withUnsafeBytes { CommitWriter.appendContent($0, to: &line) }
        if let metadata = row.metadata {
          line.append(contentsOf: ",\"metadata\":".utf8)
          metadata.withUnsafeBytes { CommitWriter.appendContent($0, to: &line) }
        }
        line.append(contentsOf: "}\n".utf8)
        try body(line)
        return true
      }
    }
  }

  /// Writes the rows of a bucket as CSV with a header, in key order. Each object must be a JSON
  /// object, or a binary row that stands for one; the columns are the members of all objects, in
  /// the order of their appearance.
  ///
  /// ``RowReader`` reads the same strings, numbers and nulls. An absent member becomes null. A
  /// Boolean, an array and an object become strings with their JSON. O(rows), which are read twice.
  ///
  /// - Parameters:
  ///   - bucket: The bucket.
  ///   - keyColumn: The name of a first column with the key of each row; nil for none. A member of
  ///     this name is left out.
  ///   - body: Takes the header, then one record at a time, with its line feed.
  /// - Throws: `invalidInput` for an object that is not a JSON object, and for a text that is not
  ///   Unicode; `corruption`, `io`, `closed`, `snapshotExpired`; the errors of `body`.
  public func exportCSV(
    of bucket: String, keyColumn: String? = nil, _ body: (_ record: [UInt8]) throws -> Void
  ) throws {
    var columns = CSVColumns()
    if let keyColumn { columns.add(Array(keyColumn.utf8)) }
    try forEachRow(in: bucket) { row in
      try columns.forEachMember(of: row) { name, _ in columns.add(name) }
      return true
    }
    try body(columns.header)
    try forEachRow(in: bucket) { row in
      try body(columns.record(of: row, keyColumn: keyColumn))
      return true
    }
  }
}

/// The columns of a table, by name.
private struct CSVColumns {
  private var names: [[UInt8]] = []
  private var numbers: [[UInt8]: Int] = [:]

  mutating func add(_ name: [UInt8]) {
    if numbers[name] != nil { return }
    numbers[name] = names.count
    names.append(name)
  }

  var header: [UInt8] { Self.record(names.map { ($0, true) }) }

  /// Calls `body` with the name and the value of each member of a row's object.
  func forEachMember(
    of row: StoredRow, _ body: (_ name: [UInt8], _ value: UnsafeRawBufferPointer) throws -> Void
  ) throws {
    var json: [UInt8] = []
    let isBinary = row.object.withUnsafeBytes { BinaryRow.appendJSON(of: $0, to: &json) }
    try (isBinary ? json : row.object).withUnsafeBytes { object in
      guard JSONScanner.isValid(object), object.first(where: { $0 > 0x20 }) == UInt8(ascii: "{")
      else {
        throw Self.refusal(row, "is not a JSON object")
      }
      var scanner = JSONScanner(object)
      try scanner.enterObject()
      while let member = try scanner.nextMember() {
        try body(try Self.text(scanner.slice(member.name), of: row), scanner.slice(member.value))
      }
    }
  }

  func record(of row: StoredRow, keyColumn: String?) throws -> [UInt8] {
    var fields: [Field] = Array(repeating: ([], false), count: names.count)
    try forEachMember(of: row) { name, value in
      guard let number = numbers[name] else { return }
      if value.first == UInt8(ascii: "\"") {
        fields[number] = (try Self.text(value, of: row), true)
      } else {
        fields[number] = (value.elementsEqual("null".utf8) ? [] : Array(value), false)
      }
    }
    if keyColumn != nil {
      guard row.key.bytes.withUnsafeBytes({ JSONScanner.isUTF8($0) }) else {
        throw Self.refusal(row, "has a key that is not UTF-8")
      }
      fields[0] = (row.key.bytes, true)
    }
    return Self.record(fields)
  }

  private typealias Field = (text: [UInt8], isString: Bool)

  private static func record(_ fields: [Field]) -> [UInt8] {
    var output: [UInt8] = []
    for (index, field) in fields.enumerated() {
      if index > 0 { output.append(UInt8(ascii: ",")) }
      if field.isString {
        CSVRecord.append(string: field.text, to: &output)
      } else {
        CSVRecord.append(field.text, to: &output)
      }
    }
    output.append(UInt8(ascii: "\n"))
    return output
  }

  private static func text(
    _ token: UnsafeRawBufferPointer, of row: StoredRow
  ) throws(TreeRingError) -> [UInt8] {
    var text: [UInt8] = []
    guard JSONScanner.appendString(token, to: &text) else {
      throw refusal(row, "has half a surrogate pair")
    }
    return text
  }

  private static func refusal(_ row: StoredRow, _ reason: String) -> TreeRingError {
    TreeRingError(
      .invalidInput, "The row \(row.bucket)/\(row.key) \(reason), so it cannot be CSV.")
  }
}
