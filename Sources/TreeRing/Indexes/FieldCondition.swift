// Conditions on fields of rows as a user types them, the same language wherever there are some:
//
//   FIELD=V[,V…]    the field has one of these texts
//   FIELD!=V[,V…]   it has none of these texts, or is absent
//   FIELD^=V        its text begins with this
//   FIELD<V         its value comes before this in the order of indexes, and is of the same kind
//   FIELD<=V, FIELD>V, FIELD>=V
//
// The text of a field is that of a scalar: the content of a string, any other value as it is
// written. A field whose name contains one of = < > cannot be typed.

internal import TreeRingLog

/// A typed condition: a field, a relation and the text after it.
struct FieldCondition: Sendable {
  /// The relation between the field and the text.
  enum Relation: Sendable {
    case equal, different, beginning, less, atMost, greater, atLeast
  }

  let field: String
  let relation: Relation
  let text: String

  /// Parses a condition.
  /// - Throws: `invalidInput` with a sentence that states the expected form.
  init(_ condition: String) throws(TreeRingError) {
    let bytes = condition.utf8
    let sign = bytes.firstIndex {
      $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: ">")
    }
    guard let sign else { throw Self.malformed(condition) }
    let isFollowed = bytes[sign...].dropFirst().first == UInt8(ascii: "=")
    var end = sign
    var length = 1
    switch bytes[sign] {
    case UInt8(ascii: "<"): (relation, length) = isFollowed ? (.atMost, 2) : (.less, 1)
    case UInt8(ascii: ">"): (relation, length) = isFollowed ? (.atLeast, 2) : (.greater, 1)
    default:
      switch bytes[..<sign].last {
      case UInt8(ascii: "!"): relation = .different
      case UInt8(ascii: "^"): relation = .beginning
      default: relation = .equal
      }
      if relation != .equal { end = bytes.index(before: sign) }
    }
    field = String(condition[..<end])
    text = String(condition[bytes.index(sign, offsetBy: length)...])
    guard !field.isEmpty else { throw Self.malformed(condition) }
  }

  /// The texts between the commas.
  var texts: [String] {
    text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
  }

  private static func malformed(_ condition: String) -> TreeRingError {
    TreeRingError(
      .invalidInput,
      "The condition “\(condition)” names no field; write it FIELD=VALUE[,VALUE…]")
  }
}
