// Phrases near one another: the meaning of SQLite's FTS5. A group is one occurrence of each phrase,
// all in one field, such that at most so many words lie between the end of the first and the
// beginning of the last. The occurrences that are part of a group count, no others.

internal import TreeRingLog

extension PhraseFinder {
  /// The documents with a group of phrases; for each phrase, with the occurrences that are part of
  /// a group. All lists have the same documents.
  /// - Parameter found: The documents of each phrase, with their places.
  func near(_ found: [ScoredList], _ phrases: [TextPlan.Phrase], within distance: Int)
    -> [ScoredList]
  {
    var results = [ScoredList](repeating: ScoredList(), count: found.count)
    guard
      let lead = found.indices.min(by: { found[$0].documents.count < found[$1].documents.count })
    else { return results }
    var positions = [Int](repeating: 0, count: found.count)
    let spans = phrases.map { ($0.parts.last?.offset ?? 0) + 1 }
    for document in found[lead].documents {
      var isEverywhere = true
      for (index, list) in found.enumerated() {
        positions[index] = list.documents[positions[index]...].partitioningIndex { $0 >= document }
        if positions[index] == list.documents.count { return results }
        isEverywhere = isEverywhere && list.documents[positions[index]] == document
      }
      if !isEverywhere { continue }
      let places = found.indices.map { Array(found[$0].places(at: positions[$0])) }
      let kept = text.format.near(places, spans: spans, within: distance)
      if kept[0].isEmpty { continue }
      for index in found.indices {
        let frequency = kept[index].reduce(UInt64(0)) {
          $0 &+ text.format.weight(of: text.format.field(of: $1))
        }
        results[index].append(
          document, length: found[index].lengths[positions[index]], frequency: frequency,
          places: [], keeping: false)
      }
    }
    return results
  }
}

extension PostingFormat {
  /// The occurrences of each phrase that are part of a group; all empty if there is no group.
  ///
  /// - Parameters:
  ///   - places: The occurrences of each phrase in order of field and position.
  ///   - spans: The number of positions that each phrase takes.
  func near(_ places: [[UInt64]], spans: [Int], within distance: Int) -> [[UInt64]] {
    var kept = [[UInt64]](repeating: [], count: places.count)
    var indexes = [Int](repeating: 0, count: places.count)
    while true {
      // Move every phrase up to where a group with the last one is possible.
      var last: UInt64 = 0
      for index in places.indices {
        guard indexes[index] < places[index].count else { return kept }
        last = max(last, order(of: places[index][indexes[index]]))
      }
      var isGroup = true
      for index in places.indices {
        let reach = UInt64(spans[index] + distance)
        while order(of: places[index][indexes[index]]) + reach < last {
          indexes[index] += 1
          guard indexes[index] < places[index].count else { return kept }
          isGroup = false
        }
        if order(of: places[index][indexes[index]]) > last { isGroup = false }
      }
      if !isGroup { continue }
      // The phrase whose next occurrence comes first moves on.
      var next: (order: UInt64, index: Int)?
      for index in places.indices {
        let place = places[index][indexes[index]]
        if kept[index].last != place { kept[index].append(place) }
        guard indexes[index] + 1 < places[index].count else { continue }
        let order = order(of: places[index][indexes[index] + 1])
        if order < next?.order ?? .max { next = (order, index) }
      }
      guard let next else { return kept }
      indexes[next.index] += 1
    }
  }
}
