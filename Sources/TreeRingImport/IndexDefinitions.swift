// Definitions of indexes as JSON, as far as their fields are not in code.

package import TreeRing
package import TreeRingLog

/// The definition of an index made in code, of which the store knows only the name, the buckets and
/// the version: `{"code":[BUCKET…],"version":N}`; `"decimals":N` follows if it has sums, and
/// `"unique":true` ends it if it is unique. Or that of a manual index:
/// `{"manual":[BUCKET…],"version":N}`.
struct CodeDefinition {
  var buckets: [String]
  var version: UInt32
  /// The index that this one filters; nil if it is no filter.
  var parent: String?
  /// Whether the index is manual.
  var isManual = false
  /// Whether each group may hold one row only.
  var isUnique = false
  /// The number of decimals of its sums; nil without sums.
  var decimals: UInt32?

  var json: String {
    let filters = parent.map { "\"filters\":\(JSONScanner.quoted($0))," } ?? ""
    let kind = isManual ? "manual" : "code"
    let names = buckets.map { JSONScanner.quoted($0) }.joined(separator: ",")
    let sums = decimals.map { ",\"decimals\":\($0)" } ?? ""
    return "{\(filters)\"\(kind)\":[\(names)],\"version\":\(version)\(sums)"
      + "\(isUnique ? ",\"unique\":true" : "")}"
  }
}

extension CodeDefinition {
  /// Reads a definition; nil for a definition by fields.
  init?(json: UnsafeRawBufferPointer) throws {
    let manual = try JSONScanner.find(JSONPath("manual"), in: json)
    guard let code = try manual ?? JSONScanner.find(JSONPath("code"), in: json),
      let number = try JSONScanner.find(JSONPath("version"), in: json),
      let version = UInt32(String(decoding: json[number], as: UTF8.self))
    else { return nil }
    self.init(buckets: [], version: version, isManual: manual != nil)
    var scanner = JSONScanner(UnsafeRawBufferPointer(rebasing: json[code]))
    try scanner.enterArray()
    while let element = try scanner.nextElement() {
      buckets.append(Self.text(ofScalar: scanner.slice(element)))
    }
    if let unique = try JSONScanner.find(JSONPath("unique"), in: json), !isManual {
      isUnique = json[unique].elementsEqual("true".utf8)
    }
    if let sums = try JSONScanner.find(JSONPath("decimals"), in: json), !isManual {
      decimals = UInt32(String(decoding: json[sums], as: UTF8.self)) ?? .max
    }
    parent = try JSONScanner.find(JSONPath("filters"), in: json).map { filters in
      Self.text(ofScalar: UnsafeRawBufferPointer(rebasing: json[filters]))
    }
  }

  fileprivate static func text(ofScalar value: UnsafeRawBufferPointer) -> String {
    var text: [UInt8] = []
    _ = JSONScanner.appendText(ofScalar: value, to: &text)
    return String(decoding: text, as: UTF8.self)
  }
}

/// The definition of an index of events:
/// `{"events":"categories","bucket":BUCKET,"version":N}`, or `"ids"`.
struct EventDefinition {
  var grouping: EventGrouping
  var bucket: String
  var version: UInt32

  var json: String {
    "{\"events\":\"\(grouping.word)\",\"bucket\":\(JSONScanner.quoted(bucket)),"
      + "\"version\":\(version)}"
  }
}

extension EventDefinition {
  /// Reads a definition; nil for one of another kind.
  init?(json: UnsafeRawBufferPointer) throws {
    func text(_ member: String) throws -> String? {
      try JSONScanner.find(JSONPath(member), in: json).map {
        CodeDefinition.text(ofScalar: UnsafeRawBufferPointer(rebasing: json[$0]))
      }
    }
    guard let word = try text("events"), let grouping = EventGrouping(word: word),
      let bucket = try text("bucket"), let version = try text("version").flatMap({ UInt32($0) })
    else { return nil }
    self.init(grouping: grouping, bucket: bucket, version: version)
  }
}

extension IndexRecord.Definition {
  /// Reads a definition by fields or in code, and its version.
  static func read(
    _ json: UnsafeRawBufferPointer
  ) throws(TreeRingError) -> (version: UInt32, Self) {
    if let code = try? CodeDefinition(json: json) {
      if code.isManual { return (code.version, .manual(buckets: code.buckets)) }
      // Only the parent's name is known here; `defineAnew` looks it up in the store.
      let definition =
        code.parent.map { Self.filtered(.named($0), buckets: code.buckets) }
        ?? code.decimals.map { Self.summedCode(buckets: code.buckets, decimals: $0) }
        ?? .code(buckets: code.buckets)
      return (code.version, code.isUnique ? .unique(definition) : definition)
    }
    if let found = try? JSONScanner.find(JSONPath("to"), in: json), !found.isEmpty {
      let reference = try Reference(json: json)
      return (reference.version, Self(reference))
    }
    if let found = try? JSONScanner.find(JSONPath("dates"), in: json), !found.isEmpty {
      let expiry = try Expiry(json: json)
      return (expiry.version, .expiry(expiry.json))
    }
    if let events = try? EventDefinition(json: json) {
      try Limits.check(name: events.bucket, of: "bucket")
      return (events.version, .events(events.grouping, bucket: events.bucket))
    }
    if let found = try? JSONScanner.find(JSONPath("filters"), in: json), !found.isEmpty {
      let filter = try FieldFilter(json: json)
      let definition = Self.selected(.named(filter.parent), filter.json)
      return (filter.version, filter.isUnique ? .unique(definition) : definition)
    }
    if let found = try? JSONScanner.find(JSONPath("text"), in: json), !found.isEmpty {
      let text = try TextIndex("", json: json)
      return (text.version, .text(text.json))
    }
    let fields = try FieldIndex(json: json)
    return (fields.version, Self(fields))
  }
}

extension IndexRecord.Definition {
  /// The definition in the import format; nil removes the index.
  func json(version: UInt32) -> String? {
    let plain = withoutRule
    var code: CodeDefinition
    switch plain {
    case .removed, .unique: return nil
    case .fields(let json), .summed(let json), .selected(_, let json), .text(let json),
      .reference(let json), .expiry(let json):
      return json
    case .code(let buckets): code = CodeDefinition(buckets: buckets, version: version)
    case .summedCode(let buckets, let decimals):
      code = CodeDefinition(buckets: buckets, version: version, decimals: decimals)
    case .filtered(let parent, let buckets):
      code = CodeDefinition(buckets: buckets, version: version, parent: parent.name)
    case .manual(let buckets):
      code = CodeDefinition(buckets: buckets, version: version, isManual: true)
    case .events(let grouping, let bucket):
      return EventDefinition(grouping: grouping, bucket: bucket, version: version).json
    }
    code.isUnique = self != plain
    return code.json
  }
}

extension IndexRecord {
  /// A stand-in for an index of which only the name is known.
  fileprivate static func named(_ name: String) -> IndexRecord {
    IndexRecord(name: name, number: 0, version: 0, definition: .removed)
  }
}

extension Transaction {
  /// Defines an index as in another store or a file; finds the index that it filters by name.
  package func defineAnew(
    _ name: String, version: UInt32, _ definition: IndexRecord.Definition
  ) throws(TreeRingError) {
    switch definition.withoutRule {
    case .removed: try removeIndex(name)
    case .filtered(let parent, let buckets):
      try define(
        name, version: version, filtering: parent.name, buckets: buckets,
        isUnique: definition != definition.withoutRule)
    case .selected(_, let json): try define(name, FieldFilter(json: json))
    case .fields, .summed, .code, .summedCode, .manual, .text, .events, .unique, .reference,
      .expiry:
      try define(name, version: version, definition)
    }
  }
}
