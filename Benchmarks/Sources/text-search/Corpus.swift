// Documents for the comparison of text searches: words by Zipf's law, in sentences of a title and a
// body. The same on every machine.

/// A seeded generator (SplitMix64, Steele, Lea and Flood 2014).
struct Seeded: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// A document's fields.
struct Document {
  var title: String
  var body: String

  var byteCount: Int { title.utf8.count + body.utf8.count }
  var json: [UInt8] { Array(#"{"body":"\#(body)","title":"\#(title)"}"#.utf8) }
}

/// Makes documents.
struct Corpus {
  var random: Seeded
  let vocabulary: [String]
  /// The sums of the words' frequencies.
  private let sums: [Double]

  init(words: Int, seed: UInt64) {
    random = Seeded(seed: seed)
    let (consonants, vowels) = (Array("bcdfghklmnprstvwz"), Array("aeiou"))
    var seen: Set<String> = []
    var vocabulary: [String] = []
    while vocabulary.count < words {
      var word = ""
      // Frequent words are short.
      let syllables = 1 + Int.random(in: 0...(vocabulary.count < 200 ? 1 : 3), using: &random)
      for _ in 0..<syllables {
        word.append(consonants.randomElement(using: &random) ?? "b")
        word.append(vowels.randomElement(using: &random) ?? "a")
      }
      if Bool.random(using: &random) {
        word.append(consonants.randomElement(using: &random) ?? "s")
      }
      if seen.insert(word).inserted { vocabulary.append(word) }
    }
    var sum = 0.0
    sums = (0..<words).map { rank in
      sum += 1 / Double(rank + 3)
      return sum
    }
    self.vocabulary = vocabulary
  }

  mutating func word() -> String {
    let wanted = Double.random(in: 0..<(sums.last ?? 1), using: &random)
    var (low, high) = (0, sums.count - 1)
    while low < high {
      let middle = (low + high) / 2
      if sums[middle] > wanted { high = middle } else { low = middle + 1 }
    }
    return vocabulary[low]
  }

  private mutating func words(_ range: ClosedRange<Int>) -> String {
    var text = ""
    for _ in 0..<Int.random(in: range, using: &random) {
      if !text.isEmpty { text += " " }
      text += word()
    }
    return text
  }

  mutating func document() -> Document {
    Document(title: words(2...8), body: words(40...160))
  }
}
