// The groups of an index by fields as values. Such a group is named by the text of the JSON scalar
// that a coder writes for the value. Of most types that is the text of `KeyConvertible`; a date is
// a number in JSON, and data is base 64.

public import TreeRingLog
internal import TreeRingPlatform

extension GroupName {
  /// Creates the name of the group of a value in an index by fields whose rows are written by
  /// ``RowCoder/json(version:)`` or ``RowCoder/binary(version:)``. O(bytes).
  ///
  ///     let monday = try GroupName(field: day)
  ///
  /// Typed handles and readers of an index by fields name groups so by themselves. Of strings,
  /// integers, truth values and UUIDs it is the name that they have everywhere.
  ///
  /// - Throws: `invalidInput` if the value has no JSON.
  public init(field value: some KeyConvertible) throws(TreeRingError) {
    self = try FieldGroups().name(of: value)
  }
}

/// The names of the groups of an index by fields.
struct FieldGroups: Sendable {
  /// Whether a coder of the library writes the rows. Another one may write dates and data in other
  /// ways.
  var isOfLibrary = true

  /// The name of a value's group. A value whose JSON is an object or an array has its key's text.
  /// - Throws: `invalidInput` if the value has no JSON, or one that depends on the coder and that
  ///   is not the library's.
  func name<Value: KeyConvertible>(of value: Value) throws(TreeRingError) -> GroupName {
    guard !Self.isAlike(Value.self), let encodable = value as? any Encodable else {
      return GroupName(bytes: value.keyBytes)
    }
    guard let token = try? encoder.encode(encodable) else {
      throw TreeRingError(
        .invalidInput,
        "The value \(value) names no group of an index by fields: it has no JSON, or the bucket's "
          + "own coder decides on it. Give a GroupName.")
    }
    var text: [UInt8] = []
    let isScalar = token.withUnsafeBytes { JSONScanner.appendText(ofScalar: $0, to: &text) }
    return GroupName(bytes: isScalar ? text : value.keyBytes)
  }

  /// The value whose group has a name; nil if there is none.
  func value<Value: KeyConvertible>(of name: GroupName) -> Value? {
    guard !Self.isAlike(Value.self), let type = Value.self as? any Decodable.Type else {
      return Value(keyBytes: name.bytes)
    }
    var quoted: [UInt8] = []
    name.bytes.withUnsafeBytes { JSONScanner.appendQuoted($0, to: &quoted) }
    // The name does not tell a text from another scalar.
    var found = [quoted, name.bytes].map { token in
      (try? JSONDecoder.lenient.decode(type, from: Data(token))) as? Value
    }
    found.append(Value(keyBytes: name.bytes))
    return found.lazy.compactMap(\.self).first { (try? self.name(of: $0)) == name }
  }

  private var encoder: JSONEncoder {
    let encoder = JSONEncoder.lenient
    if isOfLibrary { return encoder }
    encoder.dateEncodingStrategy = .custom { date, _ in throw Self.undecided(date) }
    encoder.dataEncodingStrategy = .custom { data, _ in throw Self.undecided(data) }
    return encoder
  }

  private static func undecided(_ value: Any) -> EncodingError {
    EncodingError.invalidValue(value, .init(codingPath: [], debugDescription: "own coder"))
  }

  /// Whether the values of a type have the same text in JSON as in keys, or are names already.
  private static func isAlike(_ type: Any.Type) -> Bool {
    type == GroupName.self || type == String.self || type == UUID.self || type == Bool.self
      || type is any FixedWidthInteger.Type
  }
}

extension IndexRecord {
  /// Whether its groups are the values of a field, or those of the index that it filters are.
  var isByFields: Bool {
    var source = self
    while let parent = source.parent { source = parent }
    switch source.definition.withoutRule {
    case .fields, .summed: return true
    case .removed, .code, .summedCode, .manual, .reference, .expiry, .events, .text, .unique,
      .selected, .filtered:
      return false
    }
  }
}
