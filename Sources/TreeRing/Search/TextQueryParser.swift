// Parses the typed form of a search.
//
//   query    = and (OR and)*
//   and      = not (AND not)*
//   not      = words (NOT words)*
//   words    = item item*
//   item     = "(" query ")" | FIELD ":" item | NEAR "(" phrase* ["," number] ")" | phrase
//   phrase   = (WORD | '"' text '"') ["*"]         a quote in a text is written twice

internal import TreeRingLog

/// The parser of one query.
struct TextQueryParser {
  private enum Token: Equatable {
    case word(String)
    case text(String)
    case symbol(UInt8)
    case end
  }

  /// The maximum depth of parentheses and fields.
  private static let depthLimit = 64

  private let bytes: [UInt8]
  private var position = 0
  private var token = Token.end
  /// The offset of the present token, and whether no space came before it.
  private var start = 0
  private var isAdjacent = false
  private var depth = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  mutating func parse() throws(TreeRingError) -> TextQuery {
    try advance()
    if token == .end { return .or([]) }
    let query = try parseOr()
    if token != .end { throw error("“)” closes nothing") }
    return query
  }

  private func error(_ what: String) -> TreeRingError {
    TreeRingError(
      .invalidInput, "The search cannot be read: \(what). Write words, or text in quotes.",
      offset: UInt64(start))
  }

  // MARK: - Grammar

  private mutating func parseOr() throws(TreeRingError) -> TextQuery {
    var parts = [try parseAnd()]
    while token == .word("OR") {
      try advance()
      parts.append(try parseAnd())
    }
    return parts.count == 1 ? parts[0] : .or(parts)
  }

  private mutating func parseAnd() throws(TreeRingError) -> TextQuery {
    var parts = [try parseNot()]
    while token == .word("AND") {
      try advance()
      parts.append(try parseNot())
    }
    return parts.count == 1 ? parts[0] : .and(parts)
  }

  private mutating func parseNot() throws(TreeRingError) -> TextQuery {
    let wanted = try parseWords()
    // One condition for all of them, so that many do not nest deeply.
    var unwanted: [TextQuery] = []
    while token == .word("NOT") {
      try advance()
      unwanted.append(try parseWords())
    }
    if unwanted.isEmpty { return wanted }
    return .not(wanted, unwanted.count == 1 ? unwanted[0] : .or(unwanted))
  }

  private mutating func parseWords() throws(TreeRingError) -> TextQuery {
    var parts = [try parseItem()]
    while beginsItem { parts.append(try parseItem()) }
    return parts.count == 1 ? parts[0] : .and(parts)
  }

  private var isOperator: Bool {
    token == .word("AND") || token == .word("OR") || token == .word("NOT")
  }

  private var beginsItem: Bool {
    switch token {
    case .word: !isOperator
    case .text: true
    case .symbol(let symbol): symbol != UInt8(ascii: ")")
    case .end: false
    }
  }

  private mutating func parseItem() throws(TreeRingError) -> TextQuery {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.depthLimit else { throw error("it is nested too deeply") }
    switch token {
    case .end: throw error("it ends where words are expected")
    case .symbol(UInt8(ascii: "(")):
      try advance()
      let query = try parseOr()
      try expect(")", "a “(” is not closed")
      return query
    case .symbol(let symbol):
      throw error("“\(Character(Unicode.Scalar(symbol)))” stands where words are expected")
    case .text(let text):
      try advance()
      return try ending(text)
    case .word(let word):
      if isOperator { throw error("\(word) stands where words are expected") }
      try advance()
      if token == .symbol(UInt8(ascii: ":")), isAdjacent {
        try advance()
        return .field(word, try parseItem())
      }
      if word == "NEAR", token == .symbol(UInt8(ascii: "(")), isAdjacent { return try parseNear() }
      return try ending(word)
    }
  }

  /// A phrase, or a prefix if a star follows directly.
  private mutating func ending(_ text: String) throws(TreeRingError) -> TextQuery {
    guard token == .symbol(UInt8(ascii: "*")), isAdjacent else { return .phrase(text) }
    try advance()
    return .prefix(text)
  }

  private mutating func parseNear() throws(TreeRingError) -> TextQuery {
    try advance()
    var phrases: [String] = []
    var distance = 10
    while true {
      switch token {
      case .word(let text), .text(let text):
        phrases.append(text)
        try advance()
        continue
      case .symbol(UInt8(ascii: ",")):
        if phrases.isEmpty { throw error("NEAR holds no words") }
        try advance()
        guard case .word(let text) = token, let number = Int(text), number >= 0,
          number <= PostingFormat.lastPosition
        else { throw error("after the comma of NEAR stands the number of words between") }
        distance = number
        try advance()
        try expect(")", "NEAR( is not closed")
      case .symbol(UInt8(ascii: ")")):
        if phrases.isEmpty { throw error("NEAR holds no words") }
        try advance()
      case .end: throw error("NEAR( is not closed")
      case .symbol: throw error("NEAR holds words and phrases, and a number after a comma")
      }
      return .near(phrases, within: distance)
    }
  }

  private mutating func expect(_ symbol: Character, _ what: String) throws(TreeRingError) {
    guard let byte = symbol.asciiValue, token == .symbol(byte) else { throw error(what) }
    try advance()
  }

  // MARK: - Tokens

  private static let symbols = Set("()\":*,".utf8)

  /// Reads the next token.
  private mutating func advance() throws(TreeRingError) {
    let before = position
    while position < bytes.count, bytes[position] <= 0x20 { position += 1 }
    isAdjacent = position == before
    start = position
    guard position < bytes.count else {
      token = .end
      return
    }
    if bytes[position] == UInt8(ascii: "\"") { return try readText() }
    if Self.symbols.contains(bytes[position]) {
      token = .symbol(bytes[position])
      position += 1
      return
    }
    while position < bytes.count, bytes[position] > 0x20, !Self.symbols.contains(bytes[position]) {
      position += 1
    }
    token = .word(String(decoding: bytes[start..<position], as: UTF8.self))
  }

  private mutating func readText() throws(TreeRingError) {
    var text: [UInt8] = []
    position += 1
    while true {
      guard position < bytes.count else { throw error("a quote is not closed") }
      let byte = bytes[position]
      position += 1
      if byte == UInt8(ascii: "\"") {
        guard position < bytes.count, bytes[position] == byte else { break }
        position += 1
      }
      text.append(byte)
    }
    token = .text(String(decoding: text, as: UTF8.self))
  }
}
