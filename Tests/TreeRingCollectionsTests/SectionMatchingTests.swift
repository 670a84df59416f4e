// Which section continues as which, against every other choice there is.

import TestSupport
import Testing
import TreeRingMappings

@testable import TreeRingCollections

/// What a choice of continuing sections costs.
private struct Cost: Comparable {
  var sections = 0
  var rows = 0
  static func < (a: Cost, b: Cost) -> Bool { (a.sections, a.rows) < (b.sections, b.rows) }
}

/// All choices of continuing sections.
private struct Choices {
  let old: [[Item]]
  let new: [[Item]]
  /// Pairs that share a row which stays.
  let pairs: Set<[Int]>

  /// - Parameter staying: The rows that stay in the list.
  init(_ old: [[Item]], _ new: [[Item]], staying: Set<Int>) {
    self.old = old
    self.new = new
    func home(_ sections: [[Item]]) -> [Int: Int] {
      Dictionary(
        uniqueKeysWithValues: sections.enumerated().flatMap { section, rows in
          rows.map { ($0.id, section) }
        })
    }
    let (from, to) = (home(old), home(new))
    pairs = Set(staying.compactMap { id in from[id].flatMap { f in to[id].map { [f, $0] } } })
  }

  /// Tries every way to continue the old sections from `first` on.
  func best(from first: Int = 0, after last: Int = -1, _ chosen: [(Int, Int)] = []) -> Cost {
    guard first < old.count else { return cost(chosen) }
    var best = best(from: first + 1, after: last, chosen)
    for target in new.indices where target > last && pairs.contains([first, target]) {
      best = min(best, self.best(from: first + 1, after: target, chosen + [(first, target)]))
    }
    return best
  }

  private func cost(_ chosen: [(Int, Int)]) -> Cost {
    var cost = Cost(sections: old.count + new.count - 2 * chosen.count)
    for (f, t) in chosen {
      if old[f][0].title != new[t][0].title {
        cost.sections += 1
        continue
      }
      let place = Dictionary(uniqueKeysWithValues: old[f].enumerated().map { ($1.id, $0) })
      let common = new[t].compactMap { place[$0.id] }
      // Callbacks know no move: a row that moves goes and comes.
      cost.rows += old[f].count + new[t].count - 2 * longestIncreasing(common)
    }
    return cost
  }
}

@Suite struct SectionMatchingTests {
  @Test(arguments: seeds(1...400)) func noOtherChoiceOfSectionsIsSmaller(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var nextID = 0
    let titles = Array(["A", "B", "C"].prefix(Int.random(in: 1...3, using: &random)))
    let consumer = SectionedConsumer<Item, String>(title: \.title)
    let plain = PlainConsumer<Item>()
    var old: [Item] = []
    for _ in 0..<15 {
      let batch = RandomBatch(
        on: old, nextID: &nextID, titles: titles, isSorted: seed % 3 == 0, using: &random)
      if batch.result.count > 14 { break }
      plain.reset(with: old)
      plain.willChange()
      plain.consume(batch.transactions)
      let list = try #require(try plain.didChange(returnChanges: true))
      consumer.reset(with: old)
      consumer.willChange()
      consumer.consume(batch.transactions)
      guard let changes = try? consumer.didChange(returnChanges: true) else { continue }
      let leaving = Set(list.deletes + list.moves.map(\.from))
      let staying = old.enumerated().filter { !leaving.contains($0.offset) }.map(\.element.id)
      let choices = Choices(runs(old), runs(batch.result), staying: Set(staying))
      let legacy = LegacySectionedChanges(changes)
      let cost = Cost(
        sections: legacy.sectionReloads.count + legacy.sectionRemovals.count
          + legacy.sectionInsertions.count,
        rows: legacy.rowRemovals.count + legacy.rowInsertions.count)
      #expect(cost == choices.best(), "seed \(seed): \(old) \(batch.result) \(changes)")
      old = batch.result
    }
  }
}
