// Writes commits as lines of JSON, the counterpart of `CommitLine`.
//
// Call `begin`, then one call per operation, then `end`. The bytes collect in `output`, which the
// caller takes and empties. Reading a written line gives the same operations with the same bytes.
// Contents that reading would change are written in base 64: contents that are not JSON, JSON with
// space outside strings, and an object that looks like {"$base64":…}.

package import TreeRing
package import TreeRingLog

/// Writes lines of the import format.
package struct CommitWriter {
  /// The bytes written so far.
  package var output: [UInt8] = []
  private var hasOperation = false
  /// In a base: the stamp of the operation written last.
  private var last: Stamp?
  private let isForPeople: Bool

  /// Creates a writer.
  ///
  /// - Parameter isForPeople: Whether binary rows appear as JSON, which reads as other bytes.
  package init(isForPeople: Bool = false) { self.isForPeople = isForPeople }

  /// Begins a line. `commit` is written for display only; a line with it cannot be imported.
  package mutating func begin(
    commit: CommitNumber? = nil, at: Timestamp?, note: String? = nil, tags: [String] = []
  ) {
    output.append(UInt8(ascii: "{"))
    if let commit { append("\"commit\":\(commit),") }
    if let at {
      append("\"at\":\"")
      ISO8601.append(at, to: &output)
      append("\",")
    }
    if let note {
      append("\"note\":")
      JSONScanner.appendQuoted(note, to: &output)
      append(",")
    }
    if !tags.isEmpty {
      append("\"tags\":")
      append(texts: tags)
      append(",")
    }
    append("\"ops\":[")
    hasOperation = false
  }

  /// Begins a line that is the base of a commit. The caller follows each operation with `numbers`,
  /// and ends the line with `endBase`.
  package mutating func begin(base: CommitNumber) {
    append("{\"base\":\(base),\"ops\":[")
    hasOperation = false
    last = nil
  }

  /// Writes the numbers of a base's operation: its commit; after a put also the commits that made
  /// and touched the row, and the operations in these commits, as far as they differ from the
  /// defaults.
  ///
  /// - Parameter created: for a put the operation that made the row, otherwise nil.
  package mutating func numbers(written: Stamp, created: Stamp?, touched: CommitNumber) {
    let usual = last?.next(in: written.commit) ?? Stamp(commit: written.commit, operation: 0)
    append(",[\(written.commit)")
    guard let created else {
      last = usual
      return append("]")
    }
    last = written
    let isUsual = created.operation == (created.commit == written.commit ? written.operation : 0)
    append(",\(created.commit)")
    if touched != 0 || written != usual || !isUsual { append(",\(touched)") }
    if written != usual || !isUsual { append(",\(written.operation)") }
    if !isUsual { append(",\(created.operation)") }
    append("]")
  }

  /// Ends a base, with a line feed.
  mutating func endBase(
    at: Timestamp, note: String?, buckets: [String], dates: [(commit: CommitNumber, at: Timestamp)]
  ) {
    append("],\"at\":\"")
    ISO8601.append(at, to: &output)
    append("\"")
    if let note {
      append(",\"note\":")
      JSONScanner.appendQuoted(note, to: &output)
    }
    if !buckets.isEmpty {
      append(",\"buckets\":")
      append(texts: buckets)
    }
    if !dates.isEmpty {
      append(",\"dates\":[")
      for (index, date) in dates.enumerated() {
        append(index == 0 ? "[\(date.commit),\"" : ",[\(date.commit),\"")
        ISO8601.append(date.at, to: &output)
        append("\"]")
      }
      append("]")
    }
    append("}\n")
  }

  private mutating func append(texts: [String]) {
    append("[")
    for (index, text) in texts.enumerated() {
      if index > 0 { append(",") }
      JSONScanner.appendQuoted(text, to: &output)
    }
    append("]")
  }

  /// Ends the line, with a line feed.
  package mutating func end() { append("]}\n") }

  /// Writes `put`, `object` or `metadata`, as `kind` says, with the given contents.
  ///
  /// - Parameter coder: the version of the object's coder; 0 if it has none.
  package mutating func row(
    _ kind: CommitLine.Kind, bucket: String, key: UnsafeRawBufferPointer,
    object: UnsafeRawBufferPointer? = nil, metadata: UnsafeRawBufferPointer? = nil,
    coder: UInt32 = 0
  ) {
    beginOperation(kind, coder: coder)
    part(bucket)
    part(key: key)
    if let object { part(content: object) }
    if let metadata { part(content: metadata) }
    append("]")
  }

  /// Writes `tag`.
  package mutating func tag(_ name: String, commit: CommitNumber) {
    beginOperation(.tag)
    part(name)
    append(",\(commit)]")
  }

  /// Writes `index`; a nil definition removes the index.
  package mutating func index(_ name: String, definition: UnsafeRawBufferPointer?) {
    beginOperation(.index)
    part(name)
    append(",")
    if let definition { output.append(contentsOf: definition) } else { append("null") }
    append("]")
  }

  /// Writes `index` with a definition as text.
  mutating func index(_ name: String, json: String?) {
    Array((json ?? "null").utf8).withUnsafeBytes { index(name, definition: $0) }
  }

  /// Writes `place` by its neighbour; without `before`, the row goes to the end of the group.
  package mutating func place(
    index: String, group: UnsafeRawBufferPointer, bucket: String, key: UnsafeRawBufferPointer,
    before: UnsafeRawBufferPointer?
  ) {
    beginPlace(.place, index, group, bucket, key)
    if let before { part(key: before) } else { append(",null") }
    append("]")
  }

  /// Writes `place` by its label; an empty label writes `unplace`.
  package mutating func place(
    index: String, group: UnsafeRawBufferPointer, bucket: String, key: UnsafeRawBufferPointer,
    label: UnsafeRawBufferPointer
  ) {
    beginPlace(label.isEmpty ? .unplace : .place, index, group, bucket, key)
    if !label.isEmpty {
      append(",")
      Base64.appendWrapping(label, as: .label, to: &output)
    }
    append("]")
  }

  private mutating func beginPlace(
    _ kind: CommitLine.Kind, _ index: String, _ group: UnsafeRawBufferPointer, _ bucket: String,
    _ key: UnsafeRawBufferPointer
  ) {
    beginOperation(kind)
    part(index)
    part(key: group)
    part(bucket)
    part(key: key)
  }

  /// Writes a part of an operation after a comma.
  private mutating func part(_ text: String) {
    append(",")
    JSONScanner.appendQuoted(text, to: &output)
  }

  private mutating func part(key: UnsafeRawBufferPointer) {
    append(",")
    Self.appendKey(key, to: &output)
  }

  private mutating func part(content: UnsafeRawBufferPointer) {
    append(",")
    if isForPeople, BinaryRow.appendJSON(of: content, to: &output) { return }
    Self.appendContent(content, to: &output)
  }

  private mutating func beginOperation(_ kind: CommitLine.Kind, coder: UInt32 = 0) {
    append(hasOperation ? ",[\"" : "[\"")
    append(kind.rawValue)
    if coder > 0 { append(":\(coder)") }
    append("\"")
    hasOperation = true
  }

  private mutating func append(_ text: String) { output.append(contentsOf: text.utf8) }

  /// Appends a key: a string if it is UTF-8, otherwise base 64.
  package static func appendKey(_ key: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    if JSONScanner.isUTF8(key) {
      JSONScanner.appendQuoted(key, to: &output)
    } else {
      Base64.appendWrapping(key, to: &output)
    }
  }

  /// Appends an object or metadata in a form that reads as the same bytes.
  static func appendContent(_ content: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    if JSONScanner.isCompact(content), !Base64.isWrapped(content) {
      output.append(contentsOf: content)
    } else {
      Base64.appendWrapping(content, to: &output)
    }
  }
}
