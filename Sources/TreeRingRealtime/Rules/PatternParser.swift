// Reads the text of a regular expression.

/// The parser of a pattern.
struct PatternParser {
  enum Assertion: Hashable { case begin, end, boundary(Bool) }

  indirect enum Part: Hashable {
    case empty
    case one(RulePattern.CharacterClass)
    case assertion(Assertion)
    case sequence([Part])
    case either(Part, Part)
    case repeated(Part, Int, Int?)
  }

  private let text: [UInt32]
  private var position = 0
  private var depth = 0
  private static let largestCount = 1_000
  private static let largestDepth = 50

  init(_ text: [UInt32]) { self.text = text }

  static let digit = RulePattern.CharacterClass(ranges: [0x30...0x39])
  static let word = RulePattern.CharacterClass(
    ranges: [0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A])
  static let space = RulePattern.CharacterClass(
    ranges: [0x09...0x0D, 0x20...0x20, 0xA0...0xA0, 0x2028...0x2029, 0xFEFF...0xFEFF])
  /// Everything but ends of lines.
  private static let any = RulePattern.CharacterClass(
    ranges: [0x0A...0x0A, 0x0D...0x0D, 0x2028...0x2029], isNegated: true)

  mutating func whole() throws(PatternError) -> Part {
    let part = try alternatives()
    if position < text.count { throw PatternError(text: "The pattern has a “)” too many.") }
    return part
  }

  private func ahead(_ character: Character) -> Bool {
    position < text.count && text[position] == character.unicodeScalars.first?.value
  }

  private mutating func take(_ character: Character) -> Bool {
    guard ahead(character) else { return false }
    position += 1
    return true
  }

  private mutating func alternatives() throws(PatternError) -> Part {
    depth += 1
    defer { depth -= 1 }
    if depth > Self.largestDepth {
      throw PatternError(text: "The pattern is nested too deep.")
    }
    var part = try sequence()
    while take("|") { part = .either(part, try sequence()) }
    return part
  }

  private mutating func sequence() throws(PatternError) -> Part {
    var parts: [Part] = []
    while position < text.count, !ahead("|"), !ahead(")") { parts.append(try repeated()) }
    return parts.isEmpty ? .empty : .sequence(parts)
  }

  private mutating func repeated() throws(PatternError) -> Part {
    var part = try atom()
    while true {
      if take("*") {
        part = .repeated(part, 0, nil)
      } else if take("+") {
        part = .repeated(part, 1, nil)
      } else if take("?") {
        part = .repeated(part, 0, 1)
      } else if take("{") {
        let least = try number()
        var most: Int? = least
        if take(",") { most = ahead("}") ? nil : try number() }
        guard take("}"), least <= most ?? least else {
          throw PatternError(text: "A repetition is {n}, {n,} or {n,m}.")
        }
        part = .repeated(part, least, most)
      } else {
        return part
      }
    }
  }

  private mutating func number() throws(PatternError) -> Int {
    var value = 0
    let start = position
    while position < text.count, Self.digit.contains(text[position]) {
      value = value * 10 + Int(text[position] - 0x30)
      position += 1
      if value > Self.largestCount {
        throw PatternError(text: "A repetition exceeds \(Self.largestCount).")
      }
    }
    if position == start { throw PatternError(text: "A repetition is {n}, {n,} or {n,m}.") }
    return value
  }

  private mutating func atom() throws(PatternError) -> Part {
    if take("(") {
      if take("?"), !take(":") {
        throw PatternError(text: "Patterns have no groups that begin with “(?”.")
      }
      let inner = try alternatives()
      guard take(")") else { throw PatternError(text: "A “(” has no end.") }
      return inner
    }
    if take("[") { return .one(try set()) }
    if take("^") { return .assertion(.begin) }
    if take("$") { return .assertion(.end) }
    if take(".") { return .one(Self.any) }
    if take("\\") { return try escape() }
    let value = text[position]
    if "*+?{]}".unicodeScalars.contains(where: { $0.value == value }) {
      throw PatternError(text: "The pattern has a character that needs a backslash.")
    }
    position += 1
    return .one(RulePattern.CharacterClass(ranges: [value...value]))
  }

  private mutating func escape() throws(PatternError) -> Part {
    if take("b") { return .assertion(.boundary(true)) }
    if take("B") { return .assertion(.boundary(false)) }
    return .one(try escapedSet())
  }

  private mutating func escapedSet() throws(PatternError) -> RulePattern.CharacterClass {
    guard position < text.count, let scalar = Unicode.Scalar(text[position]) else {
      throw PatternError(text: "The pattern ends with a backslash.")
    }
    position += 1
    func negated(_ set: RulePattern.CharacterClass) -> RulePattern.CharacterClass {
      RulePattern.CharacterClass(ranges: set.ranges, isNegated: true)
    }
    switch scalar {
    case "d": return Self.digit
    case "D": return negated(Self.digit)
    case "w": return Self.word
    case "W": return negated(Self.word)
    case "s": return Self.space
    case "S": return negated(Self.space)
    case "n": return RulePattern.CharacterClass(ranges: [0x0A...0x0A])
    case "r": return RulePattern.CharacterClass(ranges: [0x0D...0x0D])
    case "t": return RulePattern.CharacterClass(ranges: [0x09...0x09])
    case "0"..."9", "a"..."z", "A"..."Z":
      throw PatternError(text: "Patterns have no escape “\\\(scalar)”.")
    default: return RulePattern.CharacterClass(ranges: [scalar.value...scalar.value])
    }
  }

  private mutating func set() throws(PatternError) -> RulePattern.CharacterClass {
    var set = RulePattern.CharacterClass()
    set.isNegated = take("^")
    while !take("]") {
      guard position < text.count else { throw PatternError(text: "A “[” has no end.") }
      let first = try member()
      guard first.count == 1, let lower = first.first?.lowerBound, ahead("-"),
        position + 1 < text.count, text[position + 1] != 0x5D
      else {
        set.ranges += first
        continue
      }
      position += 1
      guard let upper = try member().first?.upperBound, lower <= upper else {
        throw PatternError(text: "A range of characters ends before it begins.")
      }
      set.ranges.append(lower...upper)
    }
    return set
  }

  private mutating func member() throws(PatternError) -> [ClosedRange<UInt32>] {
    if take("\\") {
      let set = try escapedSet()
      if !set.isNegated { return set.ranges }
      // The opposite of a class as ranges.
      var ranges: [ClosedRange<UInt32>] = []
      var next: UInt32 = 0
      for range in set.ranges {
        if next < range.lowerBound { ranges.append(next...range.lowerBound - 1) }
        next = range.upperBound + 1
      }
      return ranges + [next...0x10FFFF]
    }
    let value = text[position]
    position += 1
    return [value...value]
  }
}
