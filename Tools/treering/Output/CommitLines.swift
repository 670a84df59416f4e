// Writes commits of a store as lines of the import format, and applies such lines to a store.

import TreeRing
import TreeRingLog

extension CommitLineWriter {
  /// Writes a commit of a store. A line with `number` is for showing only.
  mutating func commit(
    _ info: CommitInfo, _ operations: [CommitOperation], number: CommitNumber? = nil
  ) {
    begin(commit: number, at: info.timestamp, note: info.note, tags: info.tags)
    for operation in operations { self.operation(operation) }
    end()
  }

  /// Writes an operation of a store's commit.
  mutating func operation(_ operation: CommitOperation) {
    switch operation {
    case .row(let row, let change):
      let (_, object, metadata) = change.written
      add(CommitLine.Kind(change), row, object, metadata)
    case .tag(let name, let commit): tag(name, commit: commit)
    case .index(let name, let version, let definition):
      switch definition {
      case .removed: index(name, definition: nil)
      case .fields(let json): Array(json.utf8).withUnsafeBytes { index(name, definition: $0) }
      case .code(let buckets):
        let json = CodeDefinition(buckets: buckets, version: version).json
        Array(json.utf8).withUnsafeBytes { index(name, definition: $0) }
      case .filtered(let parent, let buckets):
        let json = CodeDefinition(buckets: buckets, version: version, parent: parent.name).json
        Array(json.utf8).withUnsafeBytes { index(name, definition: $0) }
      case .selected(_, let json):
        Array(json.utf8).withUnsafeBytes { index(name, definition: $0) }
      case .manual(let buckets):
        let json = CodeDefinition(buckets: buckets, version: version, isManual: true).json
        Array(json.utf8).withUnsafeBytes { index(name, definition: $0) }
      }
    case .place(let place, let row, let label):
      row.key.bytes.withUnsafeBytes { key in
        place.group.bytes.withUnsafeBytes { group in
          label.withUnsafeBytes { label in
            self.place(
              index: place.index, group: group, bucket: row.bucket, key: key, label: label)
          }
        }
      }
    }
  }

  private mutating func add(
    _ kind: CommitLine.Kind, _ id: RowID, _ object: [UInt8]?, _ metadata: [UInt8]?
  ) {
    id.key.bytes.withUnsafeBytes { key in
      withBytes(object) { object in
        withBytes(metadata) { metadata in
          row(kind, bucket: id.bucket, key: key, object: object, metadata: metadata)
        }
      }
    }
  }
}

extension CommitLineWriter {
  /// Writes an operation that was read from a line.
  mutating func operation(_ operation: CommitLine.Operation, of line: CommitLine) {
    line.contents.withUnsafeBytes { contents in
      func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: contents[range])
      }
      switch operation.kind {
      case .tag: tag(line.text(operation.key), commit: operation.commit)
      case .index: index(line, operation, part)
      case .place where operation.label == nil:
        place(
          index: line.text(operation.index), group: part(operation.group),
          bucket: line.text(operation.bucket), key: part(operation.key),
          before: operation.before.map(part))
      case .place, .unplace:
        place(
          index: line.text(operation.index), group: part(operation.group),
          bucket: line.text(operation.bucket), key: part(operation.key),
          label: part(operation.label ?? 0..<0))
      default:
        row(
          operation.kind, bucket: line.text(operation.bucket), key: part(operation.key),
          object: operation.object.map(part), metadata: operation.metadata.map(part))
      }
    }
  }

  /// Writes a definition in the form in which the store will hold it.
  private mutating func index(
    _ line: CommitLine, _ operation: CommitLine.Operation,
    _ part: (Range<Int>) -> UnsafeRawBufferPointer
  ) {
    let name = line.text(operation.key)
    guard let definition = operation.object else { return index(name, definition: nil) }
    let json =
      (try? FieldIndex(json: part(definition)).json)
      ?? (try? FieldFilter(json: part(definition)).json)
    guard let json else { return index(name, definition: part(definition)) }
    Array(json.utf8).withUnsafeBytes { index(name, definition: $0) }
  }
}

/// Calls `body` with the bytes of an array that may be absent.
private func withBytes(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Void) {
  guard let bytes else { return body(nil) }
  bytes.withUnsafeBytes { body($0) }
}

/// The definition of an index made in code, of which the store knows only the name, the buckets and
/// the version: `{"code":[BUCKET…],"version":N}`. Or that of a manual index:
/// `{"manual":[BUCKET…],"version":N}`.
struct CodeDefinition {
  var buckets: [String]
  var version: UInt32
  /// The index that this one filters; nil if it is no filter.
  var parent: String?
  /// Whether the index is manual.
  var isManual = false

  init(buckets: [String], version: UInt32, parent: String? = nil, isManual: Bool = false) {
    self.buckets = buckets
    self.version = version
    self.parent = parent
    self.isManual = isManual
  }

  /// Reads a definition; nil for a definition by fields.
  init?(json: UnsafeRawBufferPointer) throws {
    let manual = try JSONScanner.find(JSONPath("manual"), in: json)
    isManual = manual != nil
    guard let code = try manual ?? JSONScanner.find(JSONPath("code"), in: json),
      let number = try JSONScanner.find(JSONPath("version"), in: json),
      let version = UInt32(String(decoding: json[number], as: UTF8.self))
    else { return nil }
    self.version = version
    buckets = []
    var scanner = JSONScanner(UnsafeRawBufferPointer(rebasing: json[code]))
    try scanner.enterArray()
    while let element = try scanner.nextElement() {
      var text: [UInt8] = []
      _ = JSONScanner.appendText(ofScalar: scanner.slice(element), to: &text)
      buckets.append(String(decoding: text, as: UTF8.self))
    }
    if let filters = try JSONScanner.find(JSONPath("filters"), in: json) {
      var text: [UInt8] = []
      _ = JSONScanner.appendText(
        ofScalar: UnsafeRawBufferPointer(rebasing: json[filters]), to: &text)
      parent = String(decoding: text, as: UTF8.self)
    }
  }

  var json: String {
    let filters = parent.map { "\"filters\":\(JSONText.quoted($0))," } ?? ""
    let kind = isManual ? "manual" : "code"
    return "{\(filters)\"\(kind)\":\(JSONText.array(buckets.map { JSONText.quoted($0) })),"
      + "\"version\":\(version)}"
  }
}

extension IndexRecord.Definition {
  /// Reads a definition by fields or in code, and its version.
  static func read(
    _ json: UnsafeRawBufferPointer
  ) throws(TreeRingError) -> (version: UInt32, Self) {
    let code: CodeDefinition?
    do { code = try CodeDefinition(json: json) } catch { code = nil }
    if let code {
      if code.isManual { return (code.version, .manual(buckets: code.buckets)) }
      guard let parent = code.parent else { return (code.version, .code(buckets: code.buckets)) }
      // Only the parent's name is known here; `defineAnew` looks it up in the store.
      return (code.version, .filtered(.named(parent), buckets: code.buckets))
    }
    if let found = try? JSONScanner.find(JSONPath("filters"), in: json), !found.isEmpty {
      let filter = try FieldFilter(json: json)
      return (filter.version, .selected(.named(filter.parent), filter.json))
    }
    let fields = try FieldIndex(json: json)
    return (fields.version, .fields(fields.json))
  }
}

extension CommitLine.Kind {
  /// The kind of a change. Lines have no whole rows: a put stands for one.
  fileprivate init(_ change: RowChange<[UInt8]>) {
    self =
      switch change {
      case .put, .whole: .put
      case .object: .object
      case .metadata: .metadata
      case .touch: .touch
      case .delete: .delete
      }
  }
}

extension IndexRecord {
  /// A stand-in for an index of which only the name is known.
  fileprivate static func named(_ name: String) -> IndexRecord {
    IndexRecord(name: name, number: 0, version: 0, definition: .removed)
  }
}

extension CommitLine {
  /// An operation of a base, with copies of its bytes.
  func content(of operation: Operation) throws -> CommitOperation {
    let row = RowID(bucket: text(operation.bucket), key: Key(bytes: Array(bytes(operation.key))))
    switch operation.kind {
    case .put:
      return .row(
        row,
        .put(
          coder: 0, object: operation.object.map { Array(bytes($0)) } ?? [],
          metadata: operation.metadata.map { Array(bytes($0)) }))
    case .delete: return .row(row, .delete)
    case .tag: return .tag(name: text(operation.key), commit: operation.commit)
    case .index:
      let name = text(operation.key)
      guard let definition = operation.object else {
        return .index(name: name, version: 0, .removed)
      }
      let (version, read) = try contents.withUnsafeBytes {
        try IndexRecord.Definition.read(UnsafeRawBufferPointer(rebasing: $0[definition]))
      }
      return .index(name: name, version: version, read)
    case .unplace: return .place(place(of: operation), row, label: [])
    case .place:
      guard let label = operation.label, !label.isEmpty else {
        throw TreeRingError(.invalidInput, "In a base a row is placed by its label.")
      }
      return .place(place(of: operation), row, label: Array(bytes(label)))
    case .object, .metadata, .touch:
      throw TreeRingError(.invalidInput, "A base cannot hold “\(operation.kind.rawValue)”.")
    }
  }

  /// The group of a manual index into which an operation places a row.
  func place(of operation: Operation) -> PlaceAddress {
    PlaceAddress(
      index: text(operation.index), group: GroupName(bytes: bytes(operation.group)))
  }
}

extension Transaction {
  /// Defines an index as in another store or a file; finds the index that it filters by name.
  func defineAnew(
    _ name: String, version: UInt32, _ definition: IndexRecord.Definition
  ) throws(TreeRingError) {
    switch definition {
    case .removed: try removeIndex(name)
    case .filtered(let parent, let buckets):
      try define(name, version: version, filtering: parent.name, buckets: buckets)
    case .selected(_, let json): try define(name, FieldFilter(json: json))
    case .fields, .code, .manual: try define(name, version: version, definition)
    }
  }
}

/// Applies lines to transactions. It remembers the last bucket's name, so that a repeated name
/// costs no allocation.
struct CommitLineApplier {
  /// The commits of the bases. Lines can name them although they lie before the horizon.
  var baseCommits: Set<CommitNumber> = []
  private var bucketBytes: [UInt8] = []
  private var bucketName = ""

  /// Adds the operations of a line to a commit.
  /// - Throws: `invalidInput` if the line is a base, which only the beginning of a store can be.
  mutating func apply(_ line: CommitLine, to tx: Transaction) throws {
    if let base = line.base {
      throw TreeRingError(
        .invalidInput,
        "The base of commit \(base) stands behind commits; bases come first, in a new store.")
    }
    tx.baseCommits = baseCommits
    tx.timestamp = line.at
    tx.timestampAllowance = [.clamping, .ahead]
    tx.note = line.note
    tx.tags = line.tags
    tx.keepsEmptyCommit = true
    try line.contents.withUnsafeBytes { contents in
      for operation in line.operations {
        switch operation.kind {
        case .place, .unplace: try place(operation, of: line, to: tx)
        default: try apply(operation, of: contents, to: tx)
        }
      }
    }
  }

  /// Places a row at the given label, or else before the named row.
  private func place(
    _ operation: CommitLine.Operation, of line: CommitLine, to tx: Transaction
  ) throws {
    let bucket = line.text(operation.bucket)
    let row = RowID(bucket: bucket, key: Key(bytes: line.bytes(operation.key)))
    let place = line.place(of: operation)
    if let label = operation.label {
      try row.key.bytes.withUnsafeBytes {
        try tx.place($0, in: bucket, place, label: Array(line.bytes(label)))
      }
      return
    }
    let group = try tx.group(place.group, of: place.index)
    if operation.kind == .unplace {
      try group.remove(row)
    } else if let before = operation.before {
      try group.insert(row, before: RowID(bucket: bucket, key: Key(bytes: line.bytes(before))))
    } else {
      try group.append(row)
    }
  }

  private mutating func apply(
    _ operation: CommitLine.Operation, of contents: UnsafeRawBufferPointer, to tx: Transaction
  ) throws(TreeRingError) {
    func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(rebasing: contents[range])
    }
    let key = part(operation.key)
    switch operation.kind {
    case .put:
      guard let object = operation.object else { return }
      try tx.put(
        key, in: bucket(part(operation.bucket)), object: part(object),
        metadata: operation.metadata.map(part))
    case .object:
      guard let object = operation.object else { return }
      try tx.putObject(key, in: bucket(part(operation.bucket)), object: part(object))
    case .metadata:
      guard let metadata = operation.metadata else { return }
      try tx.putMetadata(key, in: bucket(part(operation.bucket)), metadata: part(metadata))
    case .touch: try tx.touch(key, in: bucket(part(operation.bucket)))
    case .delete: try tx.delete(key, in: bucket(part(operation.bucket)))
    case .tag:
      let name = String(decoding: key, as: UTF8.self)
      if operation.commit == 0 { return try tx.removeTag(name) }
      try tx.tag(name, commit: operation.commit)
    case .index:
      let name = String(decoding: key, as: UTF8.self)
      guard let definition = operation.object else { return try tx.removeIndex(name) }
      try define(name, part(definition), in: tx)
    case .place, .unplace: break
    }
  }

  private func define(
    _ name: String, _ json: UnsafeRawBufferPointer, in tx: Transaction
  ) throws(TreeRingError) {
    let (version, definition) = try IndexRecord.Definition.read(json)
    try tx.defineAnew(name, version: version, definition)
  }

  private mutating func bucket(_ bytes: UnsafeRawBufferPointer) -> String {
    if !bucketBytes.elementsEqual(bytes) {
      bucketBytes = Array(bytes)
      bucketName = String(decoding: bytes, as: UTF8.self)
    }
    return bucketName
  }
}
