// Parses an expression, and checks names and types as far as they are known without data.
//
//   conditional  =  or [ ? conditional : conditional ]
//   or … product, by precedence: ||  &&  == !=  < <= > >=  + -  * / %
//   unary        =  ! unary | - unary | postfix
//   postfix      =  primary { . name [ ( … ) ] | [ conditional ] }

internal import TreeRingFirebase

/// The parser of an expression.
struct RuleParser {
  private typealias Typed = (expression: RuleExpression, type: RuleType)

  private let tokens: [RuleToken]
  private var position = 0
  private var depth = 0
  /// The number of operators and members so far. Each may lie a level deeper than the last one.
  private var operatorCount = 0
  /// The captures in scope.
  private let captures: Set<String>
  /// Whether the rule may use `newData`; otherwise it may use `query`.
  private let isWrite: Bool

  /// The greatest length of an expression.
  static let largestByteCount = 64 << 10
  private static let largestDepth = 100
  private static let largestOperatorCount = 1_000

  /// Parses the expression of a rule.
  ///
  /// - Parameters:
  ///   - captures: The captures in scope, with their dollar signs.
  ///   - isWrite: Whether the rule concerns writes.
  static func parse(
    _ text: String, captures: Set<String>, isWrite: Bool
  ) throws(RuleError) -> RuleExpression {
    if text.utf8.count > largestByteCount {
      throw RuleError(offset: 0, text: "The expression exceeds \(largestByteCount) bytes.")
    }
    var parser = RuleParser(
      tokens: try RuleLexer.tokens(text), captures: captures, isWrite: isWrite)
    let (expression, type) = try parser.conditional()
    guard parser.token.kind == .end else {
      throw parser.error("The expression should end here.")
    }
    guard type == .bool || type == .any else {
      throw RuleError(offset: 0, text: "A rule is true or false; this is of the type \(type).")
    }
    return expression
  }

  private init(tokens: [RuleToken], captures: Set<String>, isWrite: Bool) {
    self.tokens = tokens
    self.captures = captures
    self.isWrite = isWrite
  }

  // MARK: - Tokens

  private var token: RuleToken { tokens[min(position, tokens.count - 1)] }

  private func error(_ text: String) -> RuleError {
    RuleError(offset: token.offset, text: text)
  }

  private mutating func take(_ symbol: String) -> Bool {
    guard token.kind == .symbol(symbol) else { return false }
    position += 1
    return true
  }

  private mutating func expect(_ symbol: String) throws(RuleError) {
    if !take(symbol) { throw error("“\(symbol)” is missing here.") }
  }

  private func check(_ typed: Typed, is type: RuleType, at offset: Int) throws(RuleError) {
    if typed.type != type, typed.type != .any {
      throw RuleError(
        offset: offset, text: "The type \(type) is needed here, and this is \(typed.type).")
    }
  }

  // MARK: - Operators

  private mutating func conditional() throws(RuleError) -> Typed {
    depth += 1
    defer { depth -= 1 }
    if depth > Self.largestDepth { throw error("The expression is nested too deep.") }
    let offset = token.offset
    let condition = try binary(0)
    guard take("?") else { return condition }
    try check(condition, is: .bool, at: offset)
    let first = try conditional()
    try expect(":")
    let second = try conditional()
    return (
      .conditional(condition.expression, first.expression, second.expression),
      first.type == second.type ? first.type : .any
    )
  }

  private static let levels: [[(symbol: String, operation: RuleExpression.Operation)]] = [
    [("||", .or)],
    [("&&", .and)],
    [("===", .equal), ("!==", .unequal), ("==", .equal), ("!=", .unequal)],
    [("<=", .lessOrEqual), (">=", .greaterOrEqual), ("<", .less), (">", .greater)],
    [("+", .plus), ("-", .minus)],
    [("*", .times), ("/", .divided), ("%", .remainder)],
  ]

  private mutating func binary(_ level: Int) throws(RuleError) -> Typed {
    guard level < Self.levels.count else { return try unary() }
    let start = token.offset
    var left = try binary(level + 1)
    while case .symbol(let symbol) = token.kind,
      let found = Self.levels[level].first(where: { $0.symbol == symbol })
    {
      position += 1
      try countOperator()
      let offset = token.offset
      let right = try binary(level + 1)
      let type = try result(found.operation, left, right, at: (start, offset))
      left = (.binary(found.operation, left.expression, right.expression), type)
    }
    return left
  }

  private mutating func countOperator() throws(RuleError) {
    operatorCount += 1
    if operatorCount > Self.largestOperatorCount {
      throw error("The expression has more than \(Self.largestOperatorCount) operators.")
    }
  }

  private func result(
    _ operation: RuleExpression.Operation, _ left: Typed, _ right: Typed,
    at offsets: (left: Int, right: Int)
  ) throws(RuleError) -> RuleType {
    switch operation {
    case .or, .and:
      try check(left, is: .bool, at: offsets.left)
      try check(right, is: .bool, at: offsets.right)
      return .bool
    case .equal, .unequal, .less, .lessOrEqual, .greater, .greaterOrEqual:
      for (side, offset) in [(left, offsets.left), (right, offsets.right)]
      where [.data, .list, .pattern].contains(side.type) {
        throw RuleError(
          offset: offset,
          text: "The type \(side.type) cannot be compared. The value of a snapshot is val().")
      }
      return .bool
    case .plus:
      for (side, offset) in [(left, offsets.left), (right, offsets.right)]
      where ![.any, .number, .text].contains(side.type) {
        throw RuleError(offset: offset, text: "The type \(side.type) cannot be added.")
      }
      return left.type == .text || right.type == .text
        ? .text : left.type == .number && right.type == .number ? .number : .any
    case .minus, .times, .divided, .remainder:
      try check(left, is: .number, at: offsets.left)
      try check(right, is: .number, at: offsets.right)
      return .number
    }
  }

  private mutating func unary() throws(RuleError) -> Typed {
    depth += 1
    defer { depth -= 1 }
    if depth > Self.largestDepth { throw error("The expression is nested too deep.") }
    if take("!") {
      let offset = token.offset
      let operand = try unary()
      try check(operand, is: .bool, at: offset)
      return (.not(operand.expression), .bool)
    }
    if take("-") {
      let offset = token.offset
      let operand = try unary()
      try check(operand, is: .number, at: offset)
      return (.negated(operand.expression), .number)
    }
    return try postfix()
  }

  // MARK: - Members

  private mutating func postfix() throws(RuleError) -> Typed {
    var value = try primary()
    while true {
      let offset = token.offset
      if take(".") {
        try countOperator()
        guard case .name(let name) = token.kind else { throw error("A name is missing here.") }
        position += 1
        value =
          token.kind == .symbol("(")
          ? try call(value, name, at: offset + 1) : try member(value, name, at: offset + 1)
      } else if take("[") {
        try countOperator()
        guard value.type == .any else {
          throw RuleError(offset: offset, text: "The type \(value.type) has no members.")
        }
        let index = try conditional()
        try expect("]")
        value = (.element(value.expression, index.expression), .any)
      } else {
        return value
      }
    }
  }

  private func member(_ value: Typed, _ name: String, at offset: Int) throws(RuleError) -> Typed {
    switch value.type {
    case .any: return (.member(value.expression, name), .any)
    case .text where name == "length": return (.member(value.expression, name), .number)
    default:
      throw RuleError(
        offset: offset, text: "The type \(value.type) has no property “\(name)”.")
    }
  }

  private mutating func call(
    _ value: Typed, _ name: String, at offset: Int
  ) throws(RuleError) -> Typed {
    guard let method = RuleMethod(rawValue: name),
      value.type == method.receiver || value.type == .any
    else {
      throw RuleError(offset: offset, text: "The type \(value.type) has no method “\(name)”.")
    }
    try expect("(")
    var arguments: [RuleExpression] = []
    while token.kind != .symbol(")") {
      if !arguments.isEmpty { try expect(",") }
      let start = token.offset
      let argument = try conditional()
      if arguments.count < method.parameters.count {
        try check(argument, is: method.parameters[arguments.count], at: start)
      }
      arguments.append(argument.expression)
    }
    try expect(")")
    let isOptional = method == .hasChildren && arguments.isEmpty
    guard arguments.count == method.parameters.count || isOptional else {
      throw RuleError(
        offset: offset, text: "“\(name)” takes \(method.parameters.count) arguments.")
    }
    return (.call(value.expression, method, arguments), method.result)
  }

  private mutating func primary() throws(RuleError) -> Typed {
    let token = token
    position += 1
    switch token.kind {
    case .number(let number): return (.literal(.number(number)), .number)
    case .text(let text): return (.literal(.text(text)), .text)
    case .pattern(let source, let ignoresCase):
      do throws(PatternError) {
        return (
          .pattern(try RulePattern(source, ignoresCase: ignoresCase)), .pattern
        )
      } catch {
        throw RuleError(offset: token.offset, text: error.text)
      }
    case .name(let name): return try self.name(name, at: token.offset)
    case .symbol("("):
      let inner = try conditional()
      try expect(")")
      return inner
    case .symbol("["):
      var elements: [RuleExpression] = []
      while self.token.kind != .symbol("]") {
        if !elements.isEmpty { try expect(",") }
        elements.append(try conditional().expression)
      }
      try expect("]")
      return (.list(elements), .list)
    default:
      throw RuleError(offset: token.offset, text: "A value is missing here.")
    }
  }

  private func name(_ name: String, at offset: Int) throws(RuleError) -> Typed {
    switch name {
    case "true": return (.literal(.bool(true)), .bool)
    case "false": return (.literal(.bool(false)), .bool)
    case "null": return (.literal(.null), .null)
    default: break
    }
    if name.hasPrefix("$") {
      guard captures.contains(name) else {
        throw RuleError(offset: offset, text: "No path above has the capture “\(name)”.")
      }
      return (.capture(name), .text)
    }
    guard let variable = RuleExpression.Variable(rawValue: name) else {
      throw RuleError(offset: offset, text: "There is no variable “\(name)”.")
    }
    if variable == (isWrite ? .query : .newData) {
      throw RuleError(offset: offset, text: "“\(name)” has no meaning in this rule.")
    }
    switch variable {
    case .now: return (.variable(variable), .number)
    case .root, .data, .newData: return (.variable(variable), .data)
    case .auth, .query: return (.variable(variable), .any)
    }
  }
}
