// The fields of objects as columns for people.

import TreeRing
import TreeRingLive
import TreeRingLog

/// The columns that show objects: some fields, or every member that sample objects have.
struct ObjectColumns {
  private enum Field {
    /// A field by its path.
    case path(JSONPath)
    /// A member of the object itself, whatever characters its name has.
    case member(String)
    /// The whole object, where it is not a JSON object.
    case whole
  }

  private let fields: [Field]
  /// The heads, with numbers to the right.
  let columns: [Table.Column]

  /// The columns of chosen fields.
  ///
  /// - Parameter samples: objects that show which fields are numbers.
  init(_ paths: [JSONPath], samples: [[UInt8]]) {
    self.init(paths.map(Field.path), samples: samples)
  }

  /// A column for every member of the samples, in the order of their appearance.
  ///
  /// - Parameter leading: the fields to begin with, if a sample has them.
  init(of samples: [[UInt8]], leading: [JSONPath] = []) {
    var names: [String] = []
    var known: Set<StoreName> = []
    var hasOthers = false
    for sample in samples {
      guard let members = Self.members(of: sample) else {
        hasOthers = true
        continue
      }
      for member in members where known.insert(StoreName(member.name)).inserted {
        names.append(member.name)
      }
    }
    var fields: [Field] = []
    for path in leading {
      let text = path.description
      if path.names.count > 1 {
        fields.append(.path(path))
      } else if let index = names.firstIndex(where: { $0.isSameName(as: text) }) {
        fields.append(.member(names.remove(at: index)))
      }
    }
    fields += names.map(Field.member)
    if hasOthers { fields.append(.whole) }
    self.init(fields, samples: samples)
  }

  private init(_ fields: [Field], samples: [[UInt8]]) {
    self.fields = fields
    let values = samples.map { Self.values(of: $0, fields) }
    columns = fields.indices.map { index in
      let present = values.compactMap { $0[index] }
      let isRight = !present.isEmpty && present.allSatisfy(\.isNumber)
      return Table.Column(head: Self.head(of: fields[index]), isRight: isRight)
    }
  }

  private static func head(of field: Field) -> String {
    switch field {
    case .path(let path): JSONText.shown(path.description)
    case .member(let name): JSONText.shown(name)
    case .whole: "object"
    }
  }

  /// The cells of an object.
  ///
  /// - Parameters:
  ///   - absent: the cell of a field that the object has not.
  ///   - limit: the most characters of a cell; nil for no limit.
  func cells(of object: [UInt8], absent: String = "", limit: Int? = nil) -> [String] {
    Self.values(of: object, fields).map { value in
      guard let text = value?.text else { return absent }
      guard let limit, text.prefix(limit + 1).count > limit else { return text }
      return text.prefix(limit - 1) + "…"
    }
  }

  /// Whether no column shows anything of an object, or a member has no column.
  func omits(_ object: [UInt8]) -> Bool {
    guard let members = Self.members(of: object) else {
      return !fields.contains { if case .whole = $0 { true } else { false } }
    }
    return members.contains { member in
      !fields.contains {
        switch $0 {
        case .member(let name): name.isSameName(as: member.name)
        case .path(let path): path.names.first == Array(member.name.utf8)
        case .whole: false
        }
      }
    }
  }

  // MARK: - Values

  /// A value for a person.
  private struct Value {
    var text: String
    var isNumber: Bool

    /// A scalar's text, an array or object as it is written.
    init(_ json: UnsafeRawBufferPointer) {
      isNumber = json.first.map { $0 == UInt8(ascii: "-") || $0 &- UInt8(ascii: "0") < 10 } ?? false
      var scalar: [UInt8] = []
      text =
        JSONScanner.appendText(ofScalar: json, to: &scalar)
        ? JSONText.shown(key: scalar) : JSONText.shown(Array(json))
    }

    init(whole object: [UInt8]) {
      text = JSONText.shown(object)
      isNumber = false
    }
  }

  private static func values(of object: [UInt8], _ fields: [Field]) -> [Value?] {
    withJSON(of: object) { json in
      guard let json else {
        return fields.map { if case .whole = $0 { Value(whole: object) } else { nil } }
      }
      var members: [StoreName: Value] = [:]
      for member in Self.members(of: json) ?? [] {
        members[StoreName(member.name)] = Value(
          UnsafeRawBufferPointer(rebasing: json[member.value]))
      }
      return fields.map { field in
        switch field {
        case .member(let name): return members[StoreName(name)]
        case .path(let path):
          let found = try? JSONScanner.find(path, in: json)
          return found.map { Value(UnsafeRawBufferPointer(rebasing: json[$0])) }
        case .whole: return nil
        }
      }
    }
  }

  private typealias Member = (name: String, value: Range<Int>)

  private static func members(of object: [UInt8]) -> [Member]? {
    withJSON(of: object) { json in json.flatMap { members(of: $0) } }
  }

  /// The members of a JSON object; nil for anything else.
  private static func members(of json: UnsafeRawBufferPointer) -> [Member]? {
    var scanner = JSONScanner(json)
    guard (try? scanner.enterObject()) != nil else { return nil }
    var members: [Member] = []
    while let member = try? scanner.nextMember() {
      var name: [UInt8] = []
      JSONScanner.appendString(scanner.slice(member.name), to: &name)
      members.append((String(decoding: name, as: UTF8.self), member.value))
    }
    return members
  }

  /// Calls `body` with an object as JSON; with nil if it is not a JSON object.
  private static func withJSON<R>(
    of object: [UInt8], _ body: (UnsafeRawBufferPointer?) -> R
  ) -> R {
    var json: [UInt8] = []
    let isBinary = object.withUnsafeBytes { BinaryRow.appendJSON(of: $0, to: &json) }
    return (isBinary ? json : object).withUnsafeBytes { bytes in
      let start = bytes.first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
      let isObject = start == UInt8(ascii: "{") && JSONScanner.isValid(bytes)
      return body(isObject ? bytes : nil)
    }
  }
}
