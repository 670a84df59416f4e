// The matching of old sections with new ones, compared with every other choice.

import TestSupport
import Testing

@testable import TreeRingCollections
@testable import TreeRingMappings

/// The cost of a choice of continuing sections.
private struct Cost: Comparable {
  var sections = 0
  var rows = 0
  static func < (a: Cost, b: Cost) -> Bool { (a.sections, a.rows) < (b.sections, b.rows) }
}

/// All choices of continuing sections.
private struct Choices {
  let old: [[Item]]
  let new: [[Item]]
  /// Pairs that share a row.
  let pairs: Set<[Int]>

  init(_ old: [[Item]], _ new: [[Item]]) {
    self.old = old
    self.new = new
    func home(_ sections: [[Item]]) -> [Int: Int] {
      Dictionary(
        uniqueKeysWithValues: sections.enumerated().flatMap { section, rows in
          rows.map { ($0.id, section) }
        })
    }
    let (from, to) = (home(old), home(new))
    pairs = Set(from.compactMap { id, section in to[id].map { [section, $0] } })
  }

  /// The lowest cost over every way to continue the old sections from `first` on.
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
      // Callbacks have no move: a moved row is a delete and an insert.
      cost.rows += old[f].count + new[t].count - 2 * longestIncreasing(common)
    }
    return cost
  }
}

extension Cost {
  /// The cost of a batch. Callbacks have no move: a moved row is a delete and an insert.
  fileprivate init(_ changes: SectionedChanges) {
    sections =
      changes.sectionReloads.count + changes.sectionDeletes.count + changes.sectionInserts.count
    rows = changes.rowDeletes.count + changes.rowInserts.count + 2 * changes.rowMoves.count
  }
}

@Suite struct SectionMatchingTests {
  @Test(arguments: seeds(1...400)) func noOtherMatchingOfSectionsCostsLess(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var nextID = 0
    let titles = Array(["A", "B", "C"].prefix(Int.random(in: 1...3, using: &random)))
    let consumer = SectionedConsumer<Item, String>(title: \.title)
    var old: [Item] = []
    for _ in 0..<15 {
      let batch = RandomBatch(
        on: old, nextID: &nextID, titles: titles, isSorted: seed % 3 == 0, using: &random)
      if batch.result.count > 14 { break }
      consumer.reset(with: old)
      consumer.willChange()
      consumer.consume(batch.transactions)
      guard let changes = try? consumer.didChange(returnChanges: true) else { continue }
      let choices = Choices(runs(old), runs(batch.result))
      #expect(Cost(changes) == choices.best(), "seed \(seed): \(old) \(batch.result) \(changes)")
      old = batch.result
    }
  }

  private static func items(_ sections: String) -> [Item] {
    sections.split(separator: " ").flatMap { section in
      section.dropFirst().map {
        Item(id: Int(String($0)) ?? 0, title: String(section.prefix(1)))
      }
    }
  }

  private static func changes(_ old: String, _ new: String) throws -> SectionedChanges {
    try changes(items(old), items(new), placingAll: true)
  }

  /// A batch between two lists: it places every common row, or lists only rows that move or differ.
  private static func changes(
    _ old: [Item], _ new: [Item], placingAll: Bool
  ) throws -> SectionedChanges {
    let consumer = SectionedConsumer<Item, String>(title: \.title)
    consumer.reset(with: old)
    let before = Dictionary(uniqueKeysWithValues: old.enumerated().map { ($1.id, $0) })
    let after = Dictionary(uniqueKeysWithValues: new.enumerated().map { ($1.id, $0) })
    let plain = PlainConsumer<Item>(identity: { $0.id })
    plain.reset(with: old)
    plain.willChange()
    for (index, item) in old.enumerated() where after[item.id] == nil { plain.remove(at: index) }
    for (index, item) in new.enumerated() {
      if let place = before[item.id] {
        plain.move(item, from: place, to: index)
      } else {
        plain.add(item, at: index)
      }
    }
    let list = try #require(try plain.didChange(returnChanges: true))
    let moves =
      placingAll
      ? new.compactMap { item in
        before[item.id].map { IndexMove(from: $0, to: after[item.id] ?? 0) }
      } : list.moves
    consumer.willChange()
    for index in list.deletes { consumer.remove(at: index) }
    for index in list.inserts { consumer.add(new[index], at: index) }
    for move in moves { consumer.move(new[move.to], from: move.from, to: move.to) }
    let placed = Set(moves.map(\.from))
    for (index, item) in old.enumerated() where !placed.contains(index) {
      if let place = after[item.id], new[place] != item { consumer.update(new[place], at: index) }
    }
    return try #require(try consumer.didChange(returnChanges: true))
  }

  @Test func aSectionContinuesWithoutARowThatLeavesIt() throws {
    let changes = try Self.changes("a01", "a1 b0")
    #expect(changes.sectionInserts == [1] && changes.rowDeletes == [RowPath(section: 0, row: 0)])
    #expect(changes.sectionReloads.isEmpty && changes.sectionDeletes.isEmpty)
  }

  @Test func ofSectionsThatPassEachOtherTheFewestGoAndCome() throws {
    let changes = try Self.changes("A123 B4 C5", "B4 C5 A123")
    #expect(changes.sectionDeletes == [0] && changes.sectionInserts == [2])
    // Also if no change is next to the passed sections.
    let long = try Self.changes(
      Self.items("A12 B3 C4 D5 E6"), Self.items("B3 C4 D5 E6 A12"), placingAll: false)
    #expect(long.sectionDeletes == [0] && long.sectionInserts == [4])
    // One more row than in the passed sections does not outweigh those sections.
    let heavy = try Self.changes(
      Self.items("A1234 B5 C6"), Self.items("B5 C6 A1234"), placingAll: false)
    #expect(heavy.sectionDeletes == [0] && heavy.sectionInserts == [2])
    for batch in [changes, long, heavy] { #expect(Cost(batch) == Cost(sections: 2)) }
  }

  /// Every list of at most four rows in three titles, with every other list of its rows and new
  /// ones; all pairs in a sweep, otherwise every 61st.
  @Test func everyPairOfSmallListsIsMinimal() throws {
    let titles = ["A", "B", "C"]
    func lists(of ids: [Int]) -> [[Item]] {
      ids.reduce(into: [[]]) { lists, id in
        lists = lists.flatMap { list in titles.map { list + [Item(id: id, title: $0)] } }
      }
    }
    func orders(_ ids: [Int]) -> [[Int]] {
      ids.isEmpty ? [[]] : ids.flatMap { id in orders(ids.filter { $0 != id }).map { [id] + $0 } }
    }
    var pairs = 0
    var checked = 0
    for oldCount in 0...4 {
      let common = Array(0..<oldCount)
      let kept = (0..<(1 << oldCount)).map { bits in common.filter { bits & (1 << $0) != 0 } }
      let news = kept.flatMap { kept in
        (0...(4 - oldCount)).flatMap { orders(kept + (0..<$0).map { 4 + $0 }) }
      }
      for old in lists(of: common) where old.first.map({ $0.title == "A" }) ?? true {
        for new in news.flatMap(lists) {
          pairs += 1
          if !isSweep, pairs % 61 != 0 { continue }
          let best = Choices(runs(old), runs(new)).best()
          for placingAll in [true, false] {
            guard let changes = try? Self.changes(old, new, placingAll: placingAll) else {
              continue
            }
            checked += 1
            #expect(Cost(changes) == best, "\(old) to \(new): \(changes)")
          }
          let counter = CallCounter()
          let consumer = SectionedConsumer<Item, String>(title: \.title, identity: { $0.id })
          consumer.reset(with: old)
          consumer.delegate = counter
          consumer.reset(with: new, notifying: true)
          #expect(counter.cost == best, "a reset, \(old) to \(new)")
        }
      }
    }
    print("sections: \(pairs) pairs of lists, \(checked) batches")
    #expect(checked > 1_000)
  }
}

/// Counts a consumer's calls.
private final class CallCounter: SectionedConsumerDelegate {
  var cost = Cost()
  func consumerDidUpdate(_ model: Item, at path: RowPath) {}
  func consumerDidReload(section: Int) { cost.sections += 1 }
  func consumerDidRemove(section: Int) { cost.sections += 1 }
  func consumerDidInsert(section: Int) { cost.sections += 1 }
  func consumerDidRemove(at path: RowPath) { cost.rows += 1 }
  func consumerDidInsert(_ model: Item, at path: RowPath) { cost.rows += 1 }
}
