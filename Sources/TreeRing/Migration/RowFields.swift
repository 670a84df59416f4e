// The fields of a row as a migration changes them.

internal import TreeRingLog
internal import TreeRingPlatform

/// The fields of a row: the members of its JSON object, or of the JSON that stands for a binary
/// row.
public struct RowFields: Sendable {
  private var members: [(name: String, value: [UInt8])] = []

  /// - Throws: `invalidInput` if the row is not a JSON object.
  init(json: [UInt8]) throws(TreeRingError) {
    members = try json.withUnsafeBytes { (bytes) throws(TreeRingError) in
      try JSONScanner.validate(bytes)
      var scanner = JSONScanner(bytes)
      try scanner.enterObject()
      var members: [(name: String, value: [UInt8])] = []
      while let member = try scanner.nextMember() {
        var name: [UInt8] = []
        JSONScanner.appendString(scanner.slice(member.name), to: &name)
        let text = String(decoding: name, as: UTF8.self)
        // Of two members of one name the last one counts.
        members.removeAll { $0.name.isSameName(as: text) }
        members.append((text, Array(scanner.slice(member.value))))
      }
      return members
    }
  }

  /// The row's JSON.
  var json: [UInt8] {
    var bytes = Array("{".utf8)
    for (index, member) in members.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      JSONScanner.appendQuoted(member.name, to: &bytes)
      bytes.append(UInt8(ascii: ":"))
      bytes.append(contentsOf: member.value)
    }
    bytes.append(UInt8(ascii: "}"))
    return bytes
  }

  private func index(of name: String) -> Int? {
    members.firstIndex { $0.name.isSameName(as: name) }
  }

  /// The names of the fields, in their order.
  public var names: [String] { members.map(\.name) }

  /// A field's value; nil if there is none of that name, or it is null.
  /// - Throws: `DecodingError` if it is of another type.
  public func get<Value: Decodable>(_ name: String, as type: Value.Type) throws -> Value? {
    guard let index = index(of: name) else { return nil }
    return try JSONDecoder().decode(Value?.self, from: Data(members[index].value))
  }

  /// Sets a field, whether or not there is one of that name.
  /// - Throws: `EncodingError`.
  public mutating func set(_ name: String, _ value: some Encodable) throws {
    let json = Array(try JSONEncoder.lenient.encode(value))
    if let index = index(of: name) {
      members[index].value = json
    } else {
      members.append((name, json))
    }
  }

  /// Sets a field unless there is one of that name with a value other than null.
  /// - Throws: `EncodingError`.
  public mutating func setDefault(_ name: String, _ value: some Encodable) throws {
    if let index = index(of: name), !members[index].value.elementsEqual("null".utf8) { return }
    try set(name, value)
  }

  /// Gives a field another name, in place of a field that has it. Does nothing without the field.
  public mutating func rename(_ name: String, to newName: String) {
    guard index(of: name) != nil, !name.isSameName(as: newName) else { return }
    remove(newName)
    if let index = index(of: name) { members[index].name = newName }
  }

  /// Removes a field, if there is one of that name.
  public mutating func remove(_ name: String) {
    members.removeAll { $0.name.isSameName(as: name) }
  }
}
