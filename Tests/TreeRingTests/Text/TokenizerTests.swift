// The tokenizer, scalar by scalar, against the rules that Unicode's own properties state.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("The tokenizer") struct TokenizerTests {
  private func terms(_ text: String, _ stemmer: TextStemmer? = nil) -> [String] {
    TextTokenizer(stemmer: stemmer).tokens(of: text).map {
      String(decoding: $0.term, as: UTF8.self)
    }
  }

  private func positions(_ text: String) -> [Int] {
    TextTokenizer().tokens(of: text).map(\.position)
  }

  /// The scalars that Unicode 14 has, which the tables are made from.
  private static let scalars: [Unicode.Scalar] = (0...0x10FFFF).compactMap { number in
    guard let scalar = Unicode.Scalar(UInt32(number)), let age = scalar.properties.age,
      age.major < 14 || age == (14, 0)
    else { return nil }
    return scalar
  }

  @Test("ASCII is cut at everything but letters and digits, and its letters are small")
  func ascii() {
    for byte in UInt8(1)..<128 {
      let letter = Character(Unicode.Scalar(byte))
      let isWord = letter.isLetter || letter.isNumber
      #expect(terms("a\(letter)b") == (isWord ? ["a\(letter.lowercased())b"] : ["a", "b"]))
    }
    #expect(terms("it's 3.14—Ünïcode_x") == ["it", "s", "3", "14", "unicode", "x"])
    #expect(positions("a, b—c") == [0, 1, 2])
  }

  @Test("A scalar is in a word if it is a letter, a number or a mark") func classes() {
    var count = 0
    for scalar in Self.scalars {
      let category = scalar.properties.generalCategory
      let isWord =
        switch category {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
          .decimalNumber, .letterNumber, .otherNumber, .nonspacingMark, .spacingMark,
          .enclosingMark, .privateUse:
          true
        default: false
        }
      let found = UnicodeTables.shared.class(of: scalar.value)
      // Soft hyphens and joiners are ignored inside words, too.
      if !isWord, found == .ignored, category == .format { continue }
      if (found != .separator) != isWord { Issue.record("U+\(scalar.value): \(found)") }
      count += 1
    }
    #expect(count > 280_000)
  }

  @Test("Folding a folded scalar changes nothing, and folds to words alone or to what they frame")
  func folding() {
    let tables = UnicodeTables.shared
    for scalar in Self.scalars where tables.class(of: scalar.value) != .separator {
      tables.forEachFolded(of: scalar.value) { part in
        var again: [UInt32] = []
        tables.forEachFolded(of: part) { again.append($0) }
        if again != [part] { Issue.record("U+\(scalar.value) folds to U+\(part), \(again)") }
      }
    }
  }

  @Test("Case, and composed or decomposed spelling, make no difference") func equivalence() {
    for scalar in Self.scalars
    where UnicodeTables.shared.class(of: scalar.value) != .separator {
      let text = "x" + String(Character(scalar))
      let folded = terms(text)
      var others = [
        text.decomposedStringWithCanonicalMapping, text.precomposedStringWithCanonicalMapping,
        "x" + scalar.properties.lowercaseMapping,
      ]
      // An iota below a letter of Greek is a letter behind its capital. Some capitals are younger.
      let capital = scalar.properties.uppercaseMapping
      if capital.unicodeScalars.count == 1, let age = capital.unicodeScalars.first?.properties.age,
        age.major < 14 || age == (14, 0), scalar.value != 0x345
      {
        others.append("x" + capital)
      }
      for other in others where terms(other) != folded {
        Issue.record("U+\(String(scalar.value, radix: 16)): \(folded), \(other) \(terms(other))")
      }
    }
  }

  @Test("Diacritics are folded; letters with strokes too; marks of other scripts stay")
  func diacritics() {
    #expect(
      terms("Æsop Łódź Straße İstanbul ΆΛΦΑ Ёлка") == [
        "aesop", "lodz", "strasse", "istanbul", "αλφα", "елка",
      ])
    #expect(terms("ﬁne ① ｆｕｌｌ x²") == ["fine", "1", "full", "x2"])
    #expect(terms("हिन्दी") == ["हिन्दी"])
    #expect(terms("co\u{AD}operate wo\u{200D}rd") == ["cooperate", "word"])
  }

  @Test("Characters of Chinese, Japanese, Korean and Thai are terms of their own")
  func singles() {
    #expect(terms("沙丘Dune") == ["沙", "丘", "dune"])
    #expect(positions("沙丘Dune") == [0, 1, 2])
    // Singles apart are no phrase.
    #expect(positions("沙 丘，了") == [0, 2, 4])
    #expect(positions("沙 x 丘") == [0, 1, 2])
    #expect(terms("ガ").count == 1 && terms("ガ") == terms("ｶﾞ") && terms("ガ") != terms("カ"))
    #expect(terms("한국").count == 2)
    #expect(terms("ภาษา").count == 4)
  }

  @Test("Bytes that are no UTF-8 separate words, and ranges are those of the text") func bytes() {
    let text: [UInt8] = [0x61, 0xFF, 0x62, 0xC3, 0x20, 0xE6, 0xB2, 0x99, 0xED, 0xA0, 0x80, 0x63]
    let found = text.withUnsafeBytes { TextTokenizer().tokens(of: $0) }
    #expect(found.map(\.range) == [0..<1, 2..<3, 5..<8, 11..<12])
    var random = SeededGenerator(seed: 1)
    for _ in 0..<2000 {
      let bytes = (0..<40).map { _ in UInt8.random(in: 0...255, using: &random) }
      bytes.withUnsafeBytes { raw in
        var last = 0
        for token in TextTokenizer().tokens(of: raw) {
          #expect(token.range.lowerBound >= last || token.range.lowerBound == last)
          #expect(!token.term.isEmpty && token.term.count <= TextTokenizer.termByteCount)
          #expect(!token.term.contains(0))
          last = token.range.lowerBound
        }
      }
    }
  }

  @Test("A long word is cut at the bound of a scalar") func longWords() {
    let found = terms(String(repeating: "é", count: 10) + String(repeating: "ж", count: 100))
    #expect(found == [String(repeating: "e", count: 10) + String(repeating: "ж", count: 43)])
  }

  @Test("English stems are those that the algorithm's author published") func stems() {
    let pairs = [
      "consign consign", "consigned consign", "consignment consign", "consistency consist",
      "consolation consol", "consolingly consol", "knack knack", "knackeries knackeri",
      "knavish knavish", "kneading knead", "knightly knight", "knots knot", "knowledge knowledg",
      "generate generat", "generically generic", "generous generous", "communism communism",
      "arsenal arsenal", "skis ski", "skies sky", "dying die", "ties tie", "cries cri", "gas gas",
      "this this", "gaps gap", "kiwis kiwi", "hopping hop", "hoping hope", "hissed hiss",
      "luxuriated luxuri", "agreed agre", "feed feed", "succeed succeed", "inning inning",
      "happy happi", "say say", "by by", "cry cri", "relational relat", "rational ration",
      "formalize formal", "electricity electr", "hopeful hope", "goodness good",
      "adjustment adjust", "adoption adopt", "controll control", "roll roll", "cease ceas",
      "rate rate", "probate probat", "yield yield", "youth youth", "boyish boyish",
      "analogies analog", "vietnamization vietnam", "sensibility sensibl", "news news",
    ]
    for pair in pairs {
      let words = pair.split(separator: " ").map(String.init)
      #expect(terms(words[0], .english) == [words[1]], "\(words[0])")
    }
    #expect(terms("Running x1s été", .english) == ["run", "x1s", "ete"])
  }
}
