// The tokens of a rule's expression.

/// An error in an expression, with its place.
struct RuleError: Error, Hashable {
  /// The offset in bytes.
  let offset: Int
  let text: String
}

/// A token and the offset of its first byte.
struct RuleToken: Hashable {
  enum Kind: Hashable {
    case number(Double)
    case text(String)
    /// A variable, a member, `true`, `false` or `null`.
    case name(String)
    case pattern(String, ignoresCase: Bool)
    case symbol(String)
    case end
  }

  let kind: Kind
  let offset: Int
}

/// Splits an expression into tokens.
struct RuleLexer {
  private let bytes: [UInt8]
  private var position = 0
  private var tokens: [RuleToken] = []

  private init(_ text: String) { bytes = Array(text.utf8) }

  /// The tokens of an expression; the last one is the end.
  static func tokens(_ text: String) throws(RuleError) -> [RuleToken] {
    var lexer = RuleLexer(text)
    while try lexer.next() {}
    lexer.tokens.append(RuleToken(kind: .end, offset: lexer.bytes.count))
    return lexer.tokens
  }

  private static let symbols = [
    "===", "!==", "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "%", "?",
    ":", "(", ")", "[", "]", ".", ",",
  ]

  private func byte(_ offset: Int = 0) -> UInt8? {
    position + offset < bytes.count ? bytes[position + offset] : nil
  }

  private mutating func next() throws(RuleError) -> Bool {
    while let byte = byte(), byte <= 0x20 { position += 1 }
    guard let first = byte() else { return false }
    let start = position
    let kind: RuleToken.Kind
    if Self.isDigit(first) {
      kind = try number()
    } else if Self.isNamePart(first) {
      while let byte = byte(), Self.isNamePart(byte) || Self.isDigit(byte) { position += 1 }
      kind = .name(String(decoding: bytes[start..<position], as: UTF8.self))
    } else if first == UInt8(ascii: "'") || first == UInt8(ascii: "\"") {
      kind = .text(try text(first))
    } else if first == UInt8(ascii: "/"), expectsOperand {
      kind = try pattern()
    } else {
      let symbol = Self.symbols.first { bytes[position...].starts(with: $0.utf8) }
      guard let symbol else {
        throw RuleError(offset: start, text: "There is a character that means nothing here.")
      }
      position += symbol.utf8.count
      kind = .symbol(symbol)
    }
    tokens.append(RuleToken(kind: kind, offset: start))
    return true
  }

  /// Whether a slash begins a pattern and is no division.
  private var expectsOperand: Bool {
    switch tokens.last?.kind {
    case .number, .text, .name, .pattern, .symbol(")"), .symbol("]"): false
    default: true
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  private static func isNamePart(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
      true
    default: false
    }
  }

  private mutating func number() throws(RuleError) -> RuleToken.Kind {
    let start = position
    while let byte = byte(), Self.isDigit(byte) { position += 1 }
    if byte() == UInt8(ascii: "."), let next = byte(1), Self.isDigit(next) {
      position += 1
      while let byte = byte(), Self.isDigit(byte) { position += 1 }
    }
    if let byte = byte(), byte | 0x20 == UInt8(ascii: "e") {
      position += 1
      if let sign = self.byte(), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
        position += 1
      }
      while let digit = self.byte(), Self.isDigit(digit) { position += 1 }
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    guard let number = Double(text), number.isFinite else {
      throw RuleError(offset: start, text: "“\(text)” is no number.")
    }
    return .number(number)
  }

  private mutating func text(_ quote: UInt8) throws(RuleError) -> String {
    let start = position
    position += 1
    var output: [UInt8] = []
    while let byte = byte() {
      position += 1
      if byte == quote { return String(decoding: output, as: UTF8.self) }
      guard byte == UInt8(ascii: "\\") else {
        output.append(byte)
        continue
      }
      guard let escaped = self.byte() else { break }
      position += 1
      switch escaped {
      case UInt8(ascii: "n"): output.append(0x0A)
      case UInt8(ascii: "t"): output.append(0x09)
      case UInt8(ascii: "r"): output.append(0x0D)
      default: output.append(escaped)
      }
    }
    throw RuleError(offset: start, text: "A text has no end.")
  }

  private mutating func pattern() throws(RuleError) -> RuleToken.Kind {
    let start = position
    position += 1
    var isInClass = false
    while let byte = byte() {
      switch byte {
      case UInt8(ascii: "\\"): position += 1
      case UInt8(ascii: "["): isInClass = true
      case UInt8(ascii: "]"): isInClass = false
      case UInt8(ascii: "/") where !isInClass:
        let source = String(decoding: bytes[start + 1..<position], as: UTF8.self)
        position += 1
        let ignoresCase = self.byte() == UInt8(ascii: "i")
        if ignoresCase { position += 1 }
        return .pattern(source, ignoresCase: ignoresCase)
      default: break
      }
      position += 1
    }
    throw RuleError(offset: start, text: "A pattern has no end.")
  }
}
