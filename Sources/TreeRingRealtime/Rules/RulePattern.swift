// Regular expressions of rules: + * ? {n,m} . | ( ) [ ] ^ $ and the classes \d \w \s \b with their
// opposites. All possibilities are followed at once (Thompson's construction), so the time is the
// product of the lengths of text and pattern whatever they are.

/// A compiled pattern.
struct RulePattern: Hashable, Sendable {
  /// A set of characters.
  struct CharacterClass: Hashable, Sendable {
    var ranges: [ClosedRange<UInt32>] = []
    var isNegated = false

    func contains(_ value: UInt32) -> Bool {
      ranges.contains { $0.contains(value) } != isNegated
    }
  }

  fileprivate enum Step: Hashable, Sendable {
    /// A character of a set, then a step.
    case one(CharacterClass, Int)
    case assertion(PatternParser.Assertion, Int)
    case split(Int, Int)
    case match
  }

  fileprivate var steps: [Step] = []
  fileprivate var start = 0
  private var partCount = 0
  private let ignoresCase: Bool
  /// The most steps of a pattern, with all repetitions written out.
  fileprivate static let largestStepCount = 2_000

  /// Compiles a pattern.
  init(_ source: String, ignoresCase: Bool) throws(PatternError) {
    self.ignoresCase = ignoresCase
    var parser = PatternParser(Array(source.unicodeScalars.map(\.value)))
    let tree = try parser.whole()
    steps = [.match]
    start = try add(tree, before: 0)
  }

  /// Adds the steps of a part that leads to a step. Returns the part's first one.
  private mutating func add(
    _ part: PatternParser.Part, before next: Int
  ) throws(PatternError) -> Int {
    // Repetitions of nothing make no steps.
    partCount += 1
    guard steps.count < Self.largestStepCount, partCount < 4 * Self.largestStepCount else {
      throw PatternError(text: "The pattern is too large.")
    }
    switch part {
    case .empty: return next
    case .one(var set):
      if ignoresCase { set.ranges = set.ranges.flatMap(Self.bothCases) }
      steps.append(.one(set, next))
    case .assertion(let assertion): steps.append(.assertion(assertion, next))
    case .sequence(let parts):
      var next = next
      for part in parts.reversed() { next = try add(part, before: next) }
      return next
    case .either(let first, let second):
      let (a, b) = (try add(first, before: next), try add(second, before: next))
      steps.append(.split(a, b))
    case .repeated(let inner, let least, let most):
      return try add(inner, least, most, before: next)
    }
    return steps.count - 1
  }

  private mutating func add(
    _ inner: PatternParser.Part, _ least: Int, _ most: Int?, before next: Int
  ) throws(PatternError) -> Int {
    var next = next
    if let most {
      let end = next
      for _ in 0..<most - least {
        let body = try add(inner, before: next)
        steps.append(.split(body, end))
        next = steps.count - 1
      }
    } else {
      let loop = steps.count
      steps.append(.match)
      let body = try add(inner, before: loop)
      steps[loop] = .split(body, next)
      next = loop
    }
    for _ in 0..<least { next = try add(inner, before: next) }
    return next
  }

  private static func bothCases(_ range: ClosedRange<UInt32>) -> [ClosedRange<UInt32>] {
    var ranges = [range]
    let (upper, lower): (ClosedRange<UInt32>, ClosedRange<UInt32>) = (0x41...0x5A, 0x61...0x7A)
    let small = range.clamped(to: lower), large = range.clamped(to: upper)
    if small.overlaps(range) { ranges.append(small.lowerBound - 32...small.upperBound - 32) }
    if large.overlaps(range) { ranges.append(large.lowerBound + 32...large.upperBound + 32) }
    return ranges
  }
}

extension RulePattern {
  /// Whether the pattern matches a part of the text.
  ///
  /// - Parameter count: Called with the number of steps for each character.
  func matches(_ text: String, count: (Int) throws(RuleFault) -> Void) throws(RuleFault) -> Bool {
    let characters = text.unicodeScalars.map(\.value)
    var current: Set<Int> = []
    for index in 0...characters.count {
      if follow(start, characters, index, &current) { return true }
      try count(current.count + 1)
      guard index < characters.count else { break }
      var next: Set<Int> = []
      for state in current {
        guard case .one(let set, let after) = steps[state], set.contains(characters[index])
        else { continue }
        if follow(after, characters, index + 1, &next) { return true }
      }
      current = next
    }
    return false
  }

  /// Adds the states that are reached without a character. Returns whether the match is one.
  private func follow(
    _ state: Int, _ characters: [UInt32], _ index: Int, _ states: inout Set<Int>
  ) -> Bool {
    var open = [state]
    var isMatch = false
    while let state = open.popLast() {
      guard states.insert(state).inserted else { continue }
      switch steps[state] {
      case .match: isMatch = true
      case .assertion(let assertion, let next):
        if passes(assertion, characters, index) { open.append(next) }
      case .split(let a, let b): open += [b, a]
      case .one: break
      }
    }
    return isMatch
  }

  private func passes(
    _ assertion: PatternParser.Assertion, _ characters: [UInt32], _ index: Int
  ) -> Bool {
    func isWord(_ index: Int) -> Bool {
      characters.indices.contains(index) && PatternParser.word.contains(characters[index])
    }
    switch assertion {
    case .begin: return index == 0
    case .end: return index == characters.count
    case .boundary(let isOne): return (isWord(index - 1) != isWord(index)) == isOne
    }
  }
}

/// An error in a pattern.
struct PatternError: Error, Hashable {
  let text: String
}
