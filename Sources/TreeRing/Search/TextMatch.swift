// The words in a row that a search has found: for highlights and snippets. They are found in the
// row's text, which is cut into words again.

internal import TreeRingLog

/// A text of a row in which a search finds words.
public struct TextMatch: Hashable, Sendable {
  /// The field of the text.
  public let field: String
  /// The whole text.
  public let text: String
  /// The ranges of the words and phrases found, ascending; none touches another.
  public let ranges: [Range<String.Index>]
  /// The ranges of all words, ascending.
  private let words: [Range<String.Index>]

  /// The text with marks around everything found.
  public func highlighted(from start: String = "<b>", to end: String = "</b>") -> String {
    marked(text.startIndex..<text.endIndex, start, end)
  }

  /// A part of the text with at most so many words, which has as many of the words found as
  /// possible; marked. O(words).
  ///
  /// - Parameters:
  ///   - limit: The maximum number of words.
  ///   - start: The mark before what is found.
  ///   - end: The mark behind it.
  ///   - ellipsis: The mark where text is left out.
  public func snippet(
    words limit: Int = 24, from start: String = "<b>", to end: String = "</b>",
    ellipsis: String = "…"
  ) -> String {
    guard limit > 0, let last = words.last, words.count > limit else {
      return highlighted(from: start, to: end)
    }
    let found = words.map { word in ranges.contains { $0.overlaps(word) } ? 1 : 0 }
    var (best, bestSum) = (0, -1)
    var sum = found[..<limit].reduce(0, +)
    for first in 0...(words.count - limit) {
      if first > 0 { sum += found[first + limit - 1] - found[first - 1] }
      if sum > bestSum { (best, bestSum) = (first, sum) }
    }
    if bestSum > 0 {
      // Moves the part so that what it has stands in its middle.
      let part = best..<best + limit
      let before = part.prefix { found[$0] == 0 }.count
      let after = part.reversed().prefix { found[$0] == 0 }.count
      best = max(0, min(words.count - limit, best - (after - before) / 2))
    }
    let isFirst = best == 0
    let lower = isFirst ? text.startIndex : words[best].lowerBound
    let isLast = words[best + limit - 1] == last
    let upper = isLast ? text.endIndex : words[best + limit - 1].upperBound
    return (isFirst ? "" : ellipsis) + marked(lower..<upper, start, end) + (isLast ? "" : ellipsis)
  }

  private func marked(_ part: Range<String.Index>, _ start: String, _ end: String) -> String {
    var result = ""
    var position = part.lowerBound
    for range in ranges where range.overlaps(part) {
      let shown = range.clamped(to: part)
      result += text[position..<shown.lowerBound] + start + text[shown] + end
      position = shown.upperBound
    }
    return result + text[position..<part.upperBound]
  }

  /// The texts of an object in which a search finds words.
  static func all(in object: UnsafeRawBufferPointer, _ plan: TextPlan) -> [TextMatch] {
    let index = plan.text
    var matches: [[TextMatch]] = index.slots.map { _ in [] }
    let wanted = plan.wanted.map { plan.phrases[$0] }
    index.forEachText(of: object) { field, bytes in
      let tokens = index.tokenizer.tokens(of: bytes)
      var spans: [Range<Int>] = []
      for phrase in wanted where phrase.fields >> UInt32(field) & 1 != 0 {
        for start in tokens.indices {
          guard let end = phrase.end(in: tokens, from: start) else { continue }
          spans.append(tokens[start].range.lowerBound..<tokens[end - 1].range.upperBound)
        }
      }
      if spans.isEmpty { return }
      let text = String(decoding: bytes, as: UTF8.self)
      func range(_ bytes: Range<Int>) -> Range<String.Index> {
        let lower = text.utf8.index(text.startIndex, offsetBy: bytes.lowerBound)
        return lower..<text.utf8.index(lower, offsetBy: bytes.count)
      }
      matches[field].append(
        TextMatch(
          field: index.slots[field].name, text: text, ranges: merged(spans).map(range),
          words: tokens.map { range($0.range) }))
    }
    return matches.reversed().flatMap { $0 }
  }

  /// The union of ranges of bytes, ascending.
  private static func merged(_ spans: [Range<Int>]) -> [Range<Int>] {
    var merged: [Range<Int>] = []
    for span in spans.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = merged.last, span.lowerBound <= last.upperBound {
        merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, span.upperBound)
      } else {
        merged.append(span)
      }
    }
    return merged
  }
}

extension TextPlan.Phrase {
  /// The end of the phrase that begins at a term; nil if none does.
  fileprivate func end(in terms: [TextTokenizer.Term], from start: Int) -> Int? {
    var index = start
    for part in parts.indices {
      // A position left out between singles may be that of a word.
      let position = terms[start].position + parts[part].offset - parts[0].offset
      while index < terms.count, terms[index].position < position { index += 1 }
      guard index < terms.count, terms[index].position == position,
        terms[index].term.withUnsafeBytes({ fits(part, $0) })
      else { return nil }
      index += 1
    }
    return index
  }
}
