// Stems of the languages of libstemmer: samples, the forms of writing that give one stem, and the
// letters against Unicode's own properties.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Stems") struct StemmerTests {
  private func terms(_ text: String, _ stemmer: TextStemmer?) -> [String] {
    TextTokenizer(stemmer: stemmer).tokens(of: text).map {
      String(decoding: $0.term, as: UTF8.self)
    }
  }

  /// Stems of `stemwords` of libstemmer 2.2.0, folded.
  private static let samples: [(TextStemmer, String, String)] = [
    (.danish, "bøgerne bøger huset husene undervisningen", "bog bog hus hus undervisning"),
    (.dutch, "boeken boekje lichamelijke opglimmende huizen", "boek boekj licham opglimm huiz"),
    (.finnish, "kirjojen kirjassa taloissa ystävänsä", "kirj kirj talo ystav"),
    (.french, "continuellement élèves élève chevaux finissons", "continuel elev elev cheval fin"),
    (.german, "häuser haus katzen bücher straße", "haus haus katz buch strass"),
    (.hungarian, "könyvekkel könyvek házakban babáiról", "konyv konyv haz baba"),
    (.italian, "pronunciamento libri libro perché", "pronunc libr libr perc"),
    (.norwegian, "bøkene bøker havnedistriktene", "bok bok havnedistrikt"),
    (.portuguese, "corações coração livros quilométricas", "coraco coraca livr quilometr"),
    (.romanian, "cărțile cărţi abruptă copiilor", "cart cart abrupt cop"),
    (.russian, "книги книгами важнейшими ёлки елки", "книг книг важн елк елк"),
    (.spanish, "chicos chicas canciones canción cheques", "chic chic cancion cancion chequ"),
    (.swedish, "böckerna böcker jaktkarlarne klostergården", "bock bock jaktkarl klostergard"),
  ]

  @Test("Every language has the stems of libstemmer 2.2.0")
  func stems() {
    for (language, text, stems) in Self.samples {
      #expect(terms(text, language).joined(separator: " ") == stems, "\(language)")
    }
    #expect(Set(Self.samples.map(\.0)).union([.english]) == Set(TextStemmer.allCases))
  }

  @Test("Case, composition and invisible scalars do not change a stem")
  func forms() {
    for (language, text, _) in Self.samples {
      let stems = terms(text, language)
      #expect(terms(text.uppercased(), language) == stems, "\(language)")
      #expect(terms(text.decomposedStringWithCanonicalMapping, language) == stems, "\(language)")
      let hyphenated = text.split(separator: " ").map { word in
        word.prefix(2) + "\u{AD}" + word.dropFirst(2)
      }
      #expect(terms(hyphenated.joined(separator: " "), language) == stems, "\(language)")
    }
  }

  @Test("A word with letters of another script, or longer than a term, stays whole")
  func whole() {
    for language in TextStemmer.allCases where language != .english {
      for text in ["βιβλία", "ქართული", "aβ", String(repeating: "aa", count: 60)] {
        #expect(terms(text, language) == terms(text, nil), "\(language)")
      }
      #expect(terms("日本 123", language) == terms("日本 123", nil))
    }
  }

  @Test("Random bytes give each language terms within the limit", arguments: seeds(1...20))
  func randomBytes(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let letters = Array("aeiouyäöüßéçñøåățşйёeиntrsl \u{301}\u{308}".unicodeScalars)
    for language in TextStemmer.allCases {
      var scalars = String.UnicodeScalarView()
      for _ in 0..<400 {
        scalars.append(letters[Int.random(in: 0..<letters.count, using: &random)])
      }
      var bytes = Array(String(scalars).utf8)
      for _ in 0..<Int.random(in: 0..<4, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(
          in: 0...255, using: &random)
      }
      bytes.withUnsafeBytes { text in
        _ = TextTokenizer(stemmer: language).forEach(in: text) { token in
          #expect(token.term.count <= TextTokenizer.termByteCount, "seed \(seed), \(language)")
          #expect(String(validating: token.term, as: UTF8.self) != nil, "seed \(seed), \(language)")
        }
      }
    }
  }

  @Test("Letters are small as Unicode has them, and fold as they did")
  func lowercase() {
    // İ has a mark in Unicode; ſ has a capital alone; Romanian letters are those of the algorithm.
    let differing: Set<UInt32> = [0x130, 0x17F, 0x218, 0x219, 0x21A, 0x21B]
    var count = 0
    for number in UInt32(0)..<0x3000 {
      guard let letter = LanguageLetters.lowercase(number),
        let scalar = Unicode.Scalar(number)
      else { continue }
      count += 1
      if !differing.contains(number) {
        let mapping = scalar.properties.lowercaseMapping.unicodeScalars
        #expect(mapping.map(\.value) == [letter], "U+\(String(number, radix: 16))")
      }
      func folded(_ scalar: UInt32) -> [UInt32] {
        var parts: [UInt32] = []
        UnicodeTables.shared.forEachFolded(of: scalar) { parts.append($0) }
        return parts
      }
      #expect(folded(letter) == folded(number), "U+\(String(number, radix: 16))")
    }
    #expect(count > 350)
  }

  @Test("Letters and marks are joined as Unicode composes them")
  func composition() throws {
    var count = 0
    for letter in UInt32(0x61)...0x45F where LanguageLetters.lowercase(letter) == letter {
      for mark in UInt32(0x300)...0x345 {
        guard let joined = LanguageLetters.join(letter, mark) else { continue }
        let (base, next) = (
          try #require(Unicode.Scalar(letter)), try #require(Unicode.Scalar(mark))
        )
        let composed = (String(base) + String(next)).precomposedStringWithCanonicalMapping
        let scalars = composed.unicodeScalars.compactMap { LanguageLetters.lowercase($0.value) }
        #expect(scalars == [joined], "\(composed)")
        count += 1
      }
    }
    #expect(count == 38)
  }
}
