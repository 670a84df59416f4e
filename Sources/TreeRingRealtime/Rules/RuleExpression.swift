// The expressions of rules, their values and their types.

internal import TreeRingFirebase
internal import TreeRingLive

/// A value of an expression.
enum RuleValue {
  case null
  case bool(Bool)
  case number(Double)
  case text(String)
  /// An object or a list in `auth`.
  case object(JSONValue)
  /// A snapshot: `data`, `newData`, `root`, and nodes below or above them.
  case data(RuleData)
  /// The value of a snapshot that has children.
  case children(RuleData)
  case list([RuleValue])
  case pattern(RulePattern)

  init(_ scalar: FirebaseScalar) {
    switch scalar {
    case .null: self = .null
    case .bool(let value): self = .bool(value)
    case .number(let value): self = .number(value)
    case .text(let value): self = .text(value)
    }
  }
}

extension RuleValue {
  /// A value of JSON.
  init(_ value: JSONValue) {
    switch value {
    case .null: self = .null
    case .bool(let value): self = .bool(value)
    case .number(let text): self = Double(text).map { .number($0) } ?? .null
    case .text(let text): self = .text(text)
    case .array, .object: self = .object(value)
    }
  }
}

/// The type of an expression as far as it is known without data.
enum RuleType: String {
  case any, null, bool, number, text, data, list, pattern
}

/// An expression.
indirect enum RuleExpression: Sendable {
  enum Variable: String, CaseIterable { case auth, now, root, data, newData, query }

  enum Operation: String {
    case or = "||"
    case and = "&&"
    case equal = "=="
    case unequal = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case plus = "+"
    case minus = "-"
    case times = "*"
    case divided = "/"
    case remainder = "%"
  }

  case literal(FirebaseScalar)
  case pattern(RulePattern)
  case variable(Variable)
  case capture(String)
  case list([RuleExpression])
  case member(RuleExpression, String)
  case element(RuleExpression, RuleExpression)
  case call(RuleExpression, RuleMethod, [RuleExpression])
  case not(RuleExpression)
  case negated(RuleExpression)
  case binary(Operation, RuleExpression, RuleExpression)
  case conditional(RuleExpression, RuleExpression, RuleExpression)
}

/// A method of snapshots or texts.
enum RuleMethod: String {
  case val, child, parent, hasChild, hasChildren, exists, getPriority
  case isNumber, isString, isBoolean
  case contains, beginsWith, endsWith, replace, toLowerCase, toUpperCase, matches

  /// The type that has the method: snapshots or texts.
  var receiver: RuleType {
    switch self {
    case .val, .child, .parent, .hasChild, .hasChildren, .exists, .getPriority, .isNumber,
      .isString, .isBoolean:
      .data
    default: .text
    }
  }

  /// The types of the arguments.
  var parameters: [RuleType] {
    switch self {
    case .child, .hasChild, .contains, .beginsWith, .endsWith: [.text]
    case .hasChildren: [.list]
    case .replace: [.text, .text]
    case .matches: [.pattern]
    default: []
    }
  }

  /// The type of the result.
  var result: RuleType {
    switch self {
    case .val, .getPriority: .any
    case .child, .parent: .data
    case .replace, .toLowerCase, .toUpperCase: .text
    default: .bool
    }
  }
}
