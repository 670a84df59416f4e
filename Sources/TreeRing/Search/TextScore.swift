// The score of a document, “BM25” with the parameters of SQLite's FTS5:
//
//   Σ idf · f · (k + 1) / (f + k · (1 − b + b · length / mean length))    k = 1.2, b = 0.75
//   idf = ln((documents − matching + ½) / (matching + ½)), at least 10⁻⁶
//
// where f is the weighted frequency of a phrase in the document. The logarithm is computed here, by
// additions and divisions alone, so that hits have the same order on every system.

/// The numbers of one search that scores depend on.
struct TextScore {
  /// The number of documents and their mean length.
  let documentCount: Int
  let meanLength: Double
  private let k = 1.2
  private let b = 0.75

  init(documentCount: Int, termTotal: UInt64) {
    self.documentCount = documentCount
    meanLength = documentCount == 0 ? 1 : max(1e-9, Double(termTotal) / Double(documentCount))
  }

  /// The factor of a phrase that so many documents contain.
  func factor(matching count: Int) -> Double {
    let ratio = (Double(documentCount - count) + 0.5) / (Double(count) + 0.5)
    return max(1e-6, Self.logarithm(ratio))
  }

  /// The contribution of a phrase, without its factor.
  @inline(__always)
  func part(frequency: UInt64, length: UInt64) -> Double {
    let frequency = Double(frequency)
    return frequency * (k + 1) / (frequency + k * (1 - b + b * Double(length) / meanLength))
  }

  /// The natural logarithm of a positive number, to some units in the last place.
  static func logarithm(_ value: Double) -> Double {
    guard value > 0 else { return -.infinity }
    var (mantissa, exponent) = (value.significand, Double(value.exponent))
    if mantissa > 1.414213562373095 {
      mantissa /= 2
      exponent += 1
    }
    // ln m = 2 artanh((m − 1) / (m + 1)).
    let ratio = (mantissa - 1) / (mantissa + 1)
    let square = ratio * ratio
    var (sum, power, divisor) = (0.0, ratio, 1.0)
    for _ in 0..<16 {
      sum += power / divisor
      power *= square
      divisor += 2
    }
    return exponent * 0.6931471805599453 + 2 * sum
  }
}

/// The best documents so far: a heap, the worst of them first.
struct BestDocuments {
  struct Entry: Comparable {
    var score: Double
    var document: TextDocument

    /// Whether it comes after another one in the list of hits.
    static func < (a: Entry, b: Entry) -> Bool {
      a.score == b.score ? a.document > b.document : a.score < b.score
    }
  }

  let limit: Int
  private var heap: [Entry] = []

  init(limit: Int) { self.limit = limit }

  /// The score that another document needs at least.
  var threshold: Double { heap.count < limit ? -.infinity : heap[0].score }

  @inline(__always)
  mutating func add(_ document: TextDocument, _ score: Double) {
    if heap.count == limit, score < heap[0].score { return }
    insert(Entry(score: score, document: document))
  }

  private mutating func insert(_ entry: Entry) {
    if heap.count < limit {
      heap.append(entry)
      var place = heap.count - 1
      while place > 0, heap[place] < heap[(place - 1) / 2] {
        heap.swapAt(place, (place - 1) / 2)
        place = (place - 1) / 2
      }
      return
    }
    guard limit > 0, heap[0] < entry else { return }
    heap[0] = entry
    var place = 0
    while true {
      var least = place
      for child in [2 * place + 1, 2 * place + 2] where child < heap.count {
        if heap[child] < heap[least] { least = child }
      }
      if least == place { return }
      heap.swapAt(place, least)
      place = least
    }
  }

  /// The documents, the best first.
  var sorted: [Entry] { heap.sorted(by: >) }
}
