// Conditions on fields of rows, against their definition in plain Swift.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Row filters") struct RowFilterTests {
  /// The value of a field of a random row.
  private enum Value: Hashable {
    case absent, null, truth(Bool), number(Int, written: String), text(String), list

    static func random(_ random: inout SeededGenerator) -> Value {
      switch Int.random(in: 0..<9, using: &random) {
      case 0: return .absent
      case 1: return .null
      case 2: return .truth(.random(using: &random))
      case 3: return .list
      case 4, 5, 6:
        let number = Int.random(in: -12...12, using: &random)
        return .number(number, written: Bool.random(using: &random) ? "\(number)" : "\(number).0")
      default: return .text(texts.randomElement(using: &random) ?? "")
      }
    }

    static let texts = ["", "a", "ab", "abc", "b", "7", "-3", "true", "é\"", "z\u{1F600}"]

    var json: String? {
      switch self {
      case .absent: nil
      case .null: "null"
      case .truth(let value): "\(value)"
      case .number(_, let written): written
      case .text(let text): JSONScanner.quoted(text)
      case .list: "[1]"
      }
    }

    /// The text of a scalar.
    var text: String? {
      switch self {
      case .absent, .list: nil
      case .text(let text): text
      default: json
      }
    }
  }

  private static let relations = ["=", "!=", "^=", "<", "<=", ">", ">="]

  /// Whether a value fulfils a condition with a value that is typed in quotes or not.
  private func holds(_ value: Value, _ relation: String, _ text: String, isString: Bool) -> Bool {
    switch relation {
    case "=": return value.text == text
    case "!=": return value.text != text
    case "^=": return value.text.map { $0.utf8.starts(with: text.utf8) } ?? false
    default: break
    }
    let order: Int
    switch value {
    case .number(let number, _):
      guard !isString, let other = Int(text) else { return false }
      order = (number - other).signum()
    case .truth(let truth):
      guard !isString, let other = Bool(text) else { return false }
      order = (truth ? 1 : 0) - (other ? 1 : 0)
    case .text(let own):
      guard isString || Int(text) == nil && Bool(text) == nil else { return false }
      let (a, b) = (own.unicodeScalars, text.unicodeScalars)
      order = a.lexicographicallyPrecedes(b) ? -1 : b.lexicographicallyPrecedes(a) ? 1 : 0
    default: return false
    }
    switch relation {
    case "<": return order < 0
    case "<=": return order <= 0
    case ">": return order > 0
    default: return order >= 0
    }
  }

  @Test("A filter agrees with the definition of its conditions", arguments: seeds(1...20))
  func agreesWithModel(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<300 {
      let values = [Value.random(&random), Value.random(&random)]
      let members = zip(["a", "b.c"], values).compactMap { name, value in
        value.json.map { name == "a" ? "\"a\":\($0)" : "\"b\":{\"c\":\($0)}" }
      }
      let object = "{\(members.joined(separator: ","))}"
      var conditions: [String] = []
      var isExpected = true
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let field = Int.random(in: 0..<2, using: &random)
        let relation = Self.relations.randomElement(using: &random) ?? "="
        let isOrder = relation.first == "<" || relation.first == ">"
        let text =
          Bool.random(using: &random)
          ? Value.texts.randomElement(using: &random) ?? ""
          : "\(Int.random(in: -12...12, using: &random))"
        // Equalities take texts as they are.
        let isString = isOrder && Bool.random(using: &random)
        let typed = isString ? JSONScanner.quoted(text) : text
        conditions.append(["a", "b.c"][field] + relation + typed)
        if !holds(values[field], relation, text, isString: isString) { isExpected = false }
      }
      let filter = try RowFilter(conditions)
      let fits = Array(object.utf8).withUnsafeBytes(filter.fits)
      #expect(fits == isExpected, "seed \(seed): \(conditions) of \(object)")
    }
  }

  private struct Sample: Codable {
    var name: String?
    var number: Double?
    var isNew: Bool?
  }

  @Test("A binary row fits as the JSON that stands for it", arguments: seeds(1...3))
  func binaryRows(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let (json, binary) = (RowCoder<Sample>.json(), RowCoder<Sample>.binary())
    let filters = try [
      ["number<3"], ["number>=-1.5", "name^=a"], ["name!=ab"], ["isNew=true"], ["isNew>false"],
      ["name=a,ab"], ["name<b", "number!=2"],
    ].map { try RowFilter($0) }
    for _ in 0..<100 {
      let sample = Sample(
        name: ["a", "ab", "b", nil].randomElement(using: &random) ?? nil,
        number: Bool.random(using: &random)
          ? Double(Int.random(in: -8...8, using: &random)) / 2 : nil,
        isNew: [true, false, nil].randomElement(using: &random) ?? nil)
      for filter in filters {
        let fits = try json.encode(sample).withUnsafeBytes(filter.fits)
        #expect(try binary.encode(sample).withUnsafeBytes(filter.fits) == fits, "\(sample)")
      }
    }
  }

  @Test("Only a JSON object fits", arguments: ["", "1", "[{\"a\":1}]", "{\"a\":1", "{\"a\":1}x"])
  func otherObjects(text: String) throws {
    let filter = try RowFilter(["b!=2"])
    #expect(!Array(text.utf8).withUnsafeBytes(filter.fits))
    #expect(Array("{\"a\":1}".utf8).withUnsafeBytes(filter.fits))
  }

  @Test(
    "Malformed conditions are refused",
    arguments: ["", "a", "=1", "!=1", "<1", "a..b=1", "a<[1", "a>null"])
  func malformed(condition: String) {
    #expect(error { try RowFilter([condition]) }?.code == .invalidInput)
  }

  @Test(
    "An index takes equalities only", arguments: ["a!=1", "a<1", "a<=1", "a>1", "a>=1", "a^=b"])
  func indexConditions(condition: String) throws {
    #expect(error { try FieldFilter(of: "i", where: [condition]) }?.code == .invalidInput)
    #expect(
      try FieldFilter(of: "i", where: ["a=b=c,d"]).conditions.map(\.values) == [["b=c", "d"]])
  }
}
