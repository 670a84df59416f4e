// The time in which an observer of one large group finds the minimal changeset of a commit, and the
// number of moves it lists. The commit inserts, deletes, moves and updates a quarter of its rows
// each. For comparison: algorithms that compare the two whole lists, which they receive at no cost.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import TreeRing
internal import TreeRingMappings

#if canImport(PeerDifferenceKit)
  internal import PeerDifferenceKit
#endif

let changesets = Subject(name: "Changesets") { context in
  for rows in context.pick(small: [1000, 5000], full: [1000, 10_000, 100_000, 1_000_000]) {
    var list = try ObservedList(rows: rows)
    for changes in [1, 10, 100, 1000] {
      try changesetLines(context, &list, rows: rows, changes: changes)
    }
  }
}

/// The required figures, by rows and changes.
private let bars: [[Int]: Double] = [
  [10_000, 10]: 0.05, [1_000_000, 1]: 0.05, [1_000_000, 10]: 0.15, [1_000_000, 1000]: 5,
]

private var comparisons: [any ListComparison.Type] {
  var all: [any ListComparison.Type] = [
    LibraryComparison.self, HeckelComparison.self, GreedyComparison.self,
  ]
  #if canImport(PeerDifferenceKit)
    all.append(DifferenceKitComparison.self)
  #endif
  return all
}

private func changesetLines(
  _ context: Context, _ list: inout ObservedList, rows: Int, changes: Int
) throws {
  let what = "changeset of \(changes) rows of \(Report.format(Double(rows)))"
  let time = Measurement("Changesets", "\(what), CPU", unit: "ms", .lower)
  let moves = Measurement("Changesets", "\(what), moves", unit: "moves", .lower)
  var digest: UInt64 = 0
  for _ in 0..<context.runs {
    // Listing all rows has emptied the caches; a list on screen is read often.
    for _ in 0..<10 {
      let (change, seconds) = try list.change(changes)
      time.add(TreeRingEngine.name, seconds * 1000)
      digest = mix(digest ^ UInt64(change.changeset.count))
    }
    let before = list.ordered
    let (change, _) = try list.change(changes)
    let pair = ListPair(old: before, new: list.ordered)
    let fewest = pair.fewestMoves()
    guard change.rows.moves.count == fewest else {
      throw BenchmarkError("\(change.rows.moves.count) moves instead of the fewest, \(fewest)")
    }
    moves.add(TreeRingEngine.name, Double(fewest))
    for comparison in comparisons {
      var count = 0
      time.add(
        comparison.name, Clocks.threadSeconds { count = comparison.moveCount(pair) } * 1000)
      moves.add(comparison.name, Double(count))
    }
  }
  try time.check(digest, of: TreeRingEngine.name)
  try context.report.add(time, bar: bars[[rows, changes]].map { .absolute($0) })
  try context.report.add(moves)
}

/// A store with one group, its observer, and a plain list of the same rows.
private struct ObservedList {
  private let store: Store
  private var observer: MappingObserver
  private let bucket = Bucket.bytes("rows")
  /// The sort key of each row, and the version of its content.
  private var orders: [UInt64] = []
  private var versions: [Int] = []
  private var present: [Int] = []
  private var random = Random(seed: 11)

  /// The rows in the group's order. O(n log n).
  var ordered: [ListRow] {
    present.sorted { (orders[$0], $0) < (orders[$1], $1) }
      .map { ListRow(id: $0, version: versions[$0]) }
  }

  init(rows: Int) throws {
    store = try Store.inMemory(options: StoreOptions(durability: .unsynced))
    try store.define("order", FieldIndex(bucket: "rows", group: "g", order: [.init("n")]))
    observer = store.observer(of: Mappings(of: "order", groups: ["all"]), limit: 100_000)
    for start in stride(from: 0, to: rows, by: 1000) {
      try store.write { tx in
        for _ in start..<min(start + 1000, rows) { try insert(tx) }
      }
    }
    _ = try observer.advance()
  }

  private func key(_ row: Int) -> Key { Key(String(row)) }

  private mutating func put(_ row: Int, _ tx: Transaction) throws {
    versions[row] += 1
    let text = "{\"g\":\"all\",\"n\":\(orders[row]),\"version\":\(versions[row])}"
    try tx.put(Array(text.utf8), for: key(row), in: bucket)
  }

  private mutating func insert(_ tx: Transaction) throws {
    let row = orders.count
    orders.append(random.next() >> 12)
    versions.append(0)
    present.append(row)
    try put(row, tx)
  }

  /// Commits changes to `count` rows and lets the observer find them.
  mutating func change(_ count: Int) throws -> (change: Change, seconds: Double) {
    try store.write { tx in
      for number in 0..<count {
        let place = Int(random.next() % UInt64(present.count))
        let row = present[place]
        // A single change is a move, the hardest to find.
        switch count == 1 ? 2 : number % 4 {
        case 0: try insert(tx)
        case 1:
          try tx.delete(key(row), in: "rows")
          present.swapAt(place, present.count - 1)
          present.removeLast()
        case 2:
          orders[row] = random.next() >> 12
          try put(row, tx)
        default: try put(row, tx)
        }
      }
    }
    var change: Change?
    let seconds = try Clocks.threadSeconds { change = try observer.advance() }
    guard let change, !change.isReset else { throw BenchmarkError("the observer was reset") }
    return (change, seconds)
  }
}
