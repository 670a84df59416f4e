// Evaluates expressions. An operation on values of wrong types is a fault, and a rule with a fault
// is false. The number of steps of a request is bounded.

internal import TreeRingFirebase
internal import TreeRingLive

/// The reason why an expression has no value.
struct RuleFault: Error, Hashable {
  let text: String
}

/// The evaluation of the rules of one request.
final class RuleEvaluator {
  /// The values of variables.
  struct Scope {
    var auth: JSONValue
    /// Milliseconds since 1970.
    var now: Double
    var root: RuleData
    var data: RuleData
    var newData: RuleData?
    var query: JSONValue = .object([])
    var captures: [String: String] = [:]
  }

  private var stepCount = 0
  /// The most steps of a request; a character compared with a pattern counts for each state.
  private static let largestStepCount = 2_000_000
  /// The most bytes of a text that a rule makes.
  private static let largestText = 1 << 20

  /// Whether a rule holds. A fault counts as false.
  func holds(_ rule: RuleExpression, _ scope: Scope) throws -> Bool {
    do {
      if case .bool(let value) = try value(rule, scope) { return value }
      return false
    } catch is RuleFault {
      return false
    }
  }

  private func count(_ steps: Int = 1) throws(RuleFault) {
    stepCount += steps
    if stepCount > Self.largestStepCount { throw RuleFault(text: "The rules take too many steps.") }
  }

  func value(_ expression: RuleExpression, _ scope: Scope) throws -> RuleValue {
    try count()
    switch expression {
    case .literal(let scalar): return RuleValue(scalar)
    case .pattern(let pattern): return .pattern(pattern)
    case .variable(let variable): return try self.variable(variable, scope)
    case .capture(let name): return scope.captures[name].map { .text($0) } ?? .null
    case .list(let elements): return .list(try elements.map { try value($0, scope) })
    case .member(let object, let name): return try member(try value(object, scope), name)
    case .element(let object, let index):
      guard case .text(let name) = try value(index, scope) else {
        throw RuleFault(text: "A member's name must be a text.")
      }
      return try member(try value(object, scope), name)
    case .call(let object, let method, let arguments):
      let receiver = try value(object, scope)
      return try call(receiver, method, try arguments.map { try value($0, scope) })
    case .not(let operand): return .bool(!(try bool(operand, scope)))
    case .negated(let operand): return .number(-(try number(try value(operand, scope))))
    case .binary(.and, let a, let b): return .bool(try bool(a, scope) && bool(b, scope))
    case .binary(.or, let a, let b): return .bool(try bool(a, scope) || bool(b, scope))
    case .binary(let operation, let a, let b):
      return try combine(operation, try value(a, scope), try value(b, scope))
    case .conditional(let condition, let a, let b):
      return try value(try bool(condition, scope) ? a : b, scope)
    }
  }

  private func variable(_ variable: RuleExpression.Variable, _ scope: Scope) throws -> RuleValue {
    switch variable {
    case .auth: return RuleValue(scope.auth)
    case .now: return .number(scope.now)
    case .root: return .data(scope.root)
    case .data: return .data(scope.data)
    case .query: return RuleValue(scope.query)
    case .newData:
      guard let newData = scope.newData else { throw RuleFault(text: "Nothing is written.") }
      return .data(newData)
    }
  }

  private func bool(_ expression: RuleExpression, _ scope: Scope) throws -> Bool {
    guard case .bool(let value) = try value(expression, scope) else {
      throw RuleFault(text: "A truth value is needed.")
    }
    return value
  }

  private func number(_ value: RuleValue) throws(RuleFault) -> Double {
    guard case .number(let number) = value else { throw RuleFault(text: "A number is needed.") }
    return number
  }

  // MARK: - Operators

  private func combine(
    _ operation: RuleExpression.Operation, _ a: RuleValue, _ b: RuleValue
  ) throws(RuleFault) -> RuleValue {
    switch operation {
    case .equal: return .bool(try Self.isEqual(a, b))
    case .unequal: return .bool(!(try Self.isEqual(a, b)))
    case .less: return .bool(try Self.precedes(a, b))
    case .lessOrEqual: return .bool(!(try Self.precedes(b, a)))
    case .greater: return .bool(try Self.precedes(b, a))
    case .greaterOrEqual: return .bool(!(try Self.precedes(a, b)))
    case .plus:
      if case .number(let x) = a, case .number(let y) = b { return .number(x + y) }
      let text = try Self.addend(a) + Self.addend(b)
      if text.utf8.count > Self.largestText { throw RuleFault(text: "A text is too long.") }
      return .text(text)
    case .minus: return .number(try number(a) - number(b))
    case .times: return .number(try number(a) * number(b))
    case .divided: return .number(try number(a) / number(b))
    case .remainder:
      return .number(try number(a).truncatingRemainder(dividingBy: try number(b)))
    case .and, .or: throw RuleFault(text: "A truth value is needed.")
    }
  }

  /// The scalar of a value; nil if it is none.
  private static func scalar(_ value: RuleValue) -> FirebaseScalar? {
    switch value {
    case .null: .null
    case .bool(let value): .bool(value)
    case .number(let value): .number(value)
    case .text(let value): .text(value)
    default: nil
    }
  }

  private static func isEqual(_ a: RuleValue, _ b: RuleValue) throws(RuleFault) -> Bool {
    if let x = scalar(a), let y = scalar(b) { return x == y }
    // Objects differ from all scalars; two of them are not compared.
    if scalar(a) != nil || scalar(b) != nil { return false }
    throw RuleFault(text: "Objects cannot be compared.")
  }

  private static func precedes(_ a: RuleValue, _ b: RuleValue) throws(RuleFault) -> Bool {
    switch (a, b) {
    case (.number(let x), .number(let y)): return x < y
    case (.text(let x), .text(let y)): return x.utf16.lexicographicallyPrecedes(y.utf16)
    default: throw RuleFault(text: "Only two numbers or two texts have an order.")
    }
  }

  private static func addend(_ value: RuleValue) throws(RuleFault) -> String {
    switch value {
    case .text(let text): return text
    case .number(let number): return FirebaseScalar.number(number).json
    default: throw RuleFault(text: "Only numbers and texts can be added.")
    }
  }

  // MARK: - Members

  private func member(_ value: RuleValue, _ name: String) throws -> RuleValue {
    switch value {
    case .null: return .null
    case .text(let text) where name == "length": return .number(Double(text.utf16.count))
    case .object(.array(let elements)):
      if name == "length" { return .number(Double(elements.count)) }
      guard let index = Int(name), elements.indices.contains(index) else { return .null }
      return RuleValue(elements[index])
    case .object(let object): return object.members?[name].map { RuleValue($0) } ?? .null
    case .children(let data):
      guard let child = data.child(name) else { return .null }
      return try self.value(of: child)
    default: throw RuleFault(text: "There is no member “\(name)”.")
    }
  }

  private func value(of data: RuleData) throws -> RuleValue {
    if let scalar = try data.scalar() { return RuleValue(scalar) }
    return try data.exists ? .children(data) : .null
  }

  private func call(
    _ receiver: RuleValue, _ method: RuleMethod, _ arguments: [RuleValue]
  ) throws -> RuleValue {
    switch receiver {
    case .data(let data) where method.receiver == .data:
      return try call(data, method, arguments)
    case .text(let text) where method.receiver == .text:
      return try call(text, method, arguments)
    default: throw RuleFault(text: "The value has no method “\(method.rawValue)”.")
    }
  }

  private func call(
    _ data: RuleData, _ method: RuleMethod, _ arguments: [RuleValue]
  ) throws -> RuleValue {
    func child(_ value: RuleValue?) throws(RuleFault) -> RuleData {
      guard case .text(let path)? = value, let child = data.child(path) else {
        throw RuleFault(text: "A path is needed.")
      }
      return child
    }
    switch method {
    case .val: return try value(of: data)
    case .child: return .data(try child(arguments.first))
    case .parent:
      guard !data.path.isEmpty else { throw RuleFault(text: "The root has no parent.") }
      return .data(RuleData(source: data.source, path: data.path.dropLast()))
    case .hasChild: return .bool(try child(arguments.first).exists)
    case .hasChildren:
      guard case .list(let names)? = arguments.first else {
        return .bool(try data.scalar() == nil && data.exists)
      }
      if names.isEmpty { throw RuleFault(text: "The list of children is empty.") }
      for name in names {
        try count()
        if !(try child(name).exists) { return .bool(false) }
      }
      return .bool(true)
    case .exists: return .bool(try data.exists)
    case .getPriority: return RuleValue(try data.source.priority(at: data.path))
    case .isNumber: if case .number? = try data.scalar() { return .bool(true) }
    case .isString: if case .text? = try data.scalar() { return .bool(true) }
    case .isBoolean: if case .bool? = try data.scalar() { return .bool(true) }
    default: throw RuleFault(text: "A snapshot has no method “\(method.rawValue)”.")
    }
    return .bool(false)
  }

  private func call(
    _ text: String, _ method: RuleMethod, _ arguments: [RuleValue]
  ) throws(RuleFault) -> RuleValue {
    func argument(_ index: Int) throws(RuleFault) -> String {
      guard index < arguments.count, case .text(let text) = arguments[index] else {
        throw RuleFault(text: "A text is needed.")
      }
      return text
    }
    try count(text.utf8.count / 16)
    switch method {
    case .contains:
      let part = try argument(0)
      try count(text.utf8.count / 1024 * part.utf8.count)
      return .bool(RuleText.contains(text, part))
    case .beginsWith: return .bool(text.utf8.starts(with: try argument(0).utf8))
    case .endsWith: return .bool(text.utf8.reversed().starts(with: try argument(0).utf8.reversed()))
    case .replace:
      try count(text.utf8.count / 1024 * (try argument(0).utf8.count))
      let result = RuleText.replacing(
        text, try argument(0), by: try argument(1), limit: Self.largestText)
      guard let result else { throw RuleFault(text: "A text is too long.") }
      return .text(result)
    case .toLowerCase: return .text(text.lowercased())
    case .toUpperCase: return .text(text.uppercased())
    case .matches:
      guard case .pattern(let pattern)? = arguments.first else {
        throw RuleFault(text: "A pattern is needed.")
      }
      return .bool(try pattern.matches(text) { (steps) throws(RuleFault) in try count(steps) })
    default: throw RuleFault(text: "A text has no method “\(method.rawValue)”.")
    }
  }
}

/// Searches in texts, byte by byte: letters that only look the same differ.
enum RuleText {
  static func contains(_ text: String, _ part: String) -> Bool {
    part.isEmpty || find(Array(part.utf8), in: Array(text.utf8), from: 0) != nil
  }

  /// The text with all occurrences of a part replaced; nil if it becomes too long.
  static func replacing(_ text: String, _ part: String, by new: String, limit: Int) -> String? {
    let (bytes, part) = (Array(text.utf8), Array(part.utf8))
    if part.isEmpty { return text }
    var output: [UInt8] = []
    var position = 0
    while let found = find(part, in: bytes, from: position) {
      output += bytes[position..<found]
      output += new.utf8
      if output.count > limit { return nil }
      position = found + part.count
    }
    output += bytes[position...]
    return String(decoding: output, as: UTF8.self)
  }

  private static func find(_ part: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
    var position = start
    while position + part.count <= bytes.count {
      if bytes[position] == part[0], bytes[position...].starts(with: part) { return position }
      position += 1
    }
    return nil
  }
}
