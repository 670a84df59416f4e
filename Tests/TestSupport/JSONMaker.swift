// Random JSON texts, valid and spoilt, from a seed.

package struct JSONMaker {
  package var random: SeededGenerator

  package init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  package mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

  package mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: 0..<elements.count, using: &random)]
  }

  package mutating func space() -> String {
    chance(4) ? pick([" ", "\n", "\t", "\r\n", "  "]) : ""
  }

  package mutating func string() -> String {
    var text = "\""
    for _ in 0..<Int.random(in: 0...12, using: &random) {
      text += pick([
        "a", "Z", "7", " ", "é", "日", "🦊", "\\n", "\\\"", "\\\\", "\\/", "\\u00e9", "\\u0000",
        "\\ud83e\\udd8a", "\u{7F}", "longer plain text",
      ])
    }
    return text + "\""
  }

  package mutating func number() -> String {
    var text = chance(3) ? "-" : ""
    text += pick(["0", "7", "42", "1234567890123456789", "10", "100"])
    if chance(3) { text += pick([".0", ".5", ".25", ".000100", ".1234567890123456789"]) }
    if chance(4) { text += pick(["e1", "E+2", "e-3", "e0", "E10"]) }
    return text
  }

  package mutating func value(depth: Int = 0) -> String {
    if depth < 4, chance(3) { return object(depth: depth) }
    if depth < 4, chance(5) {
      let elements = (0..<Int.random(in: 0...4, using: &random)).map { _ in
        space() + value(depth: depth + 1) + space()
      }
      return "[" + (elements.isEmpty ? space() : elements.joined(separator: ",")) + "]"
    }
    return pick([string(), number(), number(), "true", "false", "null"])
  }

  package mutating func object(depth: Int = 0) -> String {
    var members: [String] = []
    for index in 0..<Int.random(in: 0...6, using: &random) {
      let name = chance(4) ? "\"\\u0061\(index)\"" : "\"a\(index)\""
      members.append(space() + name + space() + ":" + space() + value(depth: depth + 1) + space())
    }
    return "{" + (members.isEmpty ? space() : members.joined(separator: ",")) + "}"
  }

  /// The text with a few bytes changed, removed or inserted.
  package mutating func spoilt(_ text: String) -> [UInt8] {
    var bytes = Array(text.utf8)
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let byte =
        chance(2) ? pick(Array("{}[]\",:\\u0e-. truefalsn".utf8)) : UInt8(random.next() & 0xFF)
      let index = Int.random(in: 0...bytes.count, using: &random)
      switch Int.random(in: 0...3, using: &random) {
      case 0: bytes.insert(byte, at: index)
      case 1: if index < bytes.count { bytes[index] = byte }
      case 2: if index < bytes.count { bytes.remove(at: index) }
      default: bytes.removeLast(bytes.count - index)
      }
    }
    return bytes
  }
}
