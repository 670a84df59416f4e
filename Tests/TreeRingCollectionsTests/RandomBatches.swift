// Random batches for consumers, and the naive model of their effect.

import TestSupport

@testable import TreeRingCollections

/// A row with an identity, a value and a section.
struct Item: Hashable, Sendable {
  var id: Int
  var value = 0
  var title = ""
}

/// A batch, and its result in a naive model of a list.
struct RandomBatch {
  var transactions: [ListTransaction<Item>] = []
  var result: [Item] = []
  /// Rows that got a value from an update or a move.
  var valued: Set<Int> = []

  /// - Parameters:
  ///   - titles: The titles for rows; the rows are sorted by title if there are any.
  init(
    on old: [Item], nextID: inout Int, titles: [String] = [], isSorted: Bool = false,
    using random: inout SeededGenerator
  ) {
    func title() -> String { titles.randomElement(using: &random) ?? "" }
    var kept: [Item] = []
    var movers: [Item] = []
    let rate = [2, 4, 10].randomElement(using: &random) ?? 4
    for item in old {
      var item = item
      switch Int.random(in: 0..<(3 * rate), using: &random) {
      case 0: continue
      case 1:
        item.value += Int.random(in: 0...1, using: &random)
        if Bool.random(using: &random) { item.title = title() }
        valued.insert(item.id)
        movers.append(item)
      case 2:
        item.value += Int.random(in: 0...1, using: &random)
        if Bool.random(using: &random) { item.title = title() }
        valued.insert(item.id)
        kept.append(item)
      default: kept.append(item)
      }
    }
    var comers = movers
    for _ in 0..<Int.random(in: 0...(2 + old.count / rate), using: &random) {
      comers.append(Item(id: nextID, title: title()))
      nextID += 1
    }
    result = kept
    for comer in comers {
      let place = Int.random(in: 0...result.count, using: &random)
      result.insert(comer, at: place)
    }
    if isSorted {
      result.sort { ($0.title, $0.id) < ($1.title, $1.id) }
    }
    transactions = Self.list(from: old, to: result, valued, movers: Set(movers.map(\.id)))
    transactions.shuffle(using: &random)
  }

  /// One transaction per row. Rows that pass others without being movers become movers too.
  private static func list(
    from old: [Item], to new: [Item], _ valued: Set<Int>, movers: Set<Int>
  ) -> [ListTransaction<Item>] {
    let oldIndex = Dictionary(uniqueKeysWithValues: old.enumerated().map { ($1.id, $0) })
    let newIndex = Dictionary(uniqueKeysWithValues: new.enumerated().map { ($1.id, $0) })
    var movers = movers
    var last = -1
    for item in new where !movers.contains(item.id) {
      guard let index = oldIndex[item.id] else { continue }
      if index < last { movers.insert(item.id) } else { last = index }
    }
    var list: [ListTransaction<Item>] = []
    for (index, item) in old.enumerated() where newIndex[item.id] == nil {
      list.append(.delete(index: index))
    }
    for (place, item) in new.enumerated() {
      guard let index = oldIndex[item.id] else {
        list.append(.insert(item, newIndex: place))
        continue
      }
      if movers.contains(item.id) {
        list.append(.move(item, index: index, newIndex: place))
      } else if valued.contains(item.id) {
        list.append(.update(item, index: index))
      }
    }
    return list
  }
}

/// The rows in runs of equal titles.
func runs(_ items: [Item]) -> [[Item]] {
  items.reduce(into: []) { runs, item in
    if runs.last?.last?.title == item.title {
      runs[runs.count - 1].append(item)
    } else {
      runs.append([item])
    }
  }
}

/// The length of a longest increasing subsequence, by the textbook algorithm.
func longestIncreasing(_ values: [Int]) -> Int {
  var tails: [Int] = []
  for value in values {
    if let place = tails.firstIndex(where: { $0 >= value }) {
      tails[place] = value
    } else {
      tails.append(value)
    }
  }
  return tails.count
}
