// Random keys, values and trees by a seed.

extension SeededGenerator {
  package mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: 0..<elements.count, using: &self)]
  }

  package mutating func chance(_ share: Int) -> Bool {
    Int.random(in: 0..<share, using: &self) == 0
  }

  package static let keys = [
    "0", "1", "2", "3", "9", "10", "01", "-1", "-0", "00", "2147483647", "2147483648",
    "-2147483648",
    "99999999999", "a", "A", "ab", "b", "ö", "z", "\u{FF5A}", "😀", "\u{10000}", "-Ky", "_x", "1a",
    "1 2", "x%y",
  ]

  package mutating func key() -> String { pick(Self.keys) }

  package mutating func scalar() -> PlainScalar {
    switch Int.random(in: 0..<8, using: &self) {
    case 0: .bool(false)
    case 1: .bool(true)
    case 2...4: .number(pick([-3.5, -1, 0, 0.5, 1, 2, 1e20]))
    default: .text(pick(["", "a", "b", "ab", "😀", "\u{FF5A}", "ö"]))
    }
  }

  package mutating func priority() -> PlainScalar {
    chance(2)
      ? .null : chance(2) ? .number(Double(Int.random(in: -2...3, using: &self))) : .text("p")
  }

  /// A tree of at most a depth, some of it null.
  package mutating func data(depth: Int = 3) -> PlainData {
    if chance(8) { return .null }
    if depth == 0 || chance(2) { return .leaf(scalar(), priority: priority()) }
    var members: [String: PlainData] = [:]
    for _ in 0..<Int.random(in: 0...3, using: &self) { members[key()] = data(depth: depth - 1) }
    return .object(members, priority: priority())
  }
}
