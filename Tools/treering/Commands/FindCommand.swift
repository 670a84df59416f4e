// `treering find`: a search of a text index.

import ArgumentParser
import TreeRing
import TreeRingLive
import TreeRingLog

struct FindCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "find",
    abstract: "Prints the best hits of a search in a text index; exit code 1 if there are none.",
    discussion: """
      A search is words, "phrases in quotes", beginnings of words (arra*), AND, OR, NOT, \
      parentheses, NEAR(sand worm, 5) and FIELD:word. Words are compared without case and \
      diacritics. All words of a search must occur.
      """)

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The text index.", transform: NegativeNumber.shown)
  var index: String
  @Argument(help: "The search.", transform: NegativeNumber.shown)
  var query: String
  @Option(help: "The most hits.") var limit = 20
  @Option(help: "The point in history to search at.", transform: Point.parse) var at: Point?

  func run(_ output: Output) throws {
    let query: TextQuery
    do throws(TreeRingError) {
      query = try TextQuery(self.query)
    } catch {
      throw Failure(.usage, error.message)
    }
    let text = try openForReading().snapshot(at: at).text(index)
    let hits = try text.find(query, limit: max(0, limit))
    let table = Table(output, [.right("score"), .left("key"), .left("text")])
    for hit in hits {
      let row = try text.row(of: hit)
      let matches = try text.matches(of: query, in: row)
      if output.isJSON {
        try output.object { $0.hit(row, score: hit.score, matches) }
      } else {
        let snippets = matches.map { $0.snippet(from: "[", to: "]") }
        try table.row(
          Self.shown(hit.score), JSONText.shown(key: hit.id.key.bytes),
          snippets.joined(separator: " | "))
      }
    }
    try table.finish()
    if hits.isEmpty { throw Failure(.no, "Nothing is found in \(index).") }
  }

  /// A score with three decimals.
  private static func shown(_ score: Double) -> String {
    let thousandths = Int((min(score, 1e12) * 1000).rounded())
    let rest = String(thousandths % 1000)
    return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
  }
}
