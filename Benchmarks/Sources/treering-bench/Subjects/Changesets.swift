// How long an observer of one large group takes to find the minimal changeset of a commit that
// inserts, deletes, moves and updates a quarter of its rows each. The standard library compares the
// two whole lists, as anything must that knows nothing of what was written.

internal import BenchmarkHarness
internal import TreeRing
internal import TreeRingMappings

let changesets = Subject(name: "Changesets") { context in
  try changesetLines(
    context, rows: context.pick(small: 1000, full: 10_000), of: [(10, 0.05)])
  try changesetLines(
    context, rows: context.pick(small: 5000, full: 1_000_000),
    of: [(1, 0.05), (10, 0.15), (1000, 5)])
}

private let library = "standard library"

private func changesetLines(
  _ context: Context, rows: Int, of cases: [(changes: Int, bar: Double)]
) throws {
  var list = try ObservedList(rows: rows)
  for (changes, bar) in cases {
    let count = Report.format(Double(rows))
    let own = Measurement(
      "Changesets", "changeset of \(changes) rows of \(count), CPU", unit: "ms", .lower)
    var digest: UInt64 = 0
    for _ in 0..<context.runs {
      // Listing all rows has emptied the caches; a list on screen is looked at often.
      for _ in 0..<10 {
        let (change, seconds) = try list.change(changes)
        own.add(TreeRingEngine.name, seconds * 1000)
        digest = mix(digest ^ UInt64(change.rows.count))
      }
      let between = list.ordered
      let (change, _) = try list.change(changes)
      let after = list.ordered
      var moves = 0
      let compared = Clocks.threadSeconds {
        let difference = after.difference(from: between).inferringMoves()
        for case .insert(_, _, .some) in difference { moves += 1 }
      }
      own.add(library, compared * 1000)
      guard change.rows.moves.count <= moves else {
        throw BenchmarkError("\(change.rows.moves.count) moves where \(moves) would do")
      }
    }
    try own.check(digest, of: TreeRingEngine.name)
    if let median = own.line.median(library) {
      own.line.remark = "\(library) \(Report.format(median))"
    }
    context.report.add(own, bar: .absolute(bar))
  }
}

/// A store with one group, its observer, and a plain list of the same rows.
private struct ObservedList {
  private let store: Store
  private var observer: MappingObserver
  private let bucket = Bucket.bytes("rows")
  /// The rows and what they are ordered by.
  private var orders: [Int: UInt64] = [:]
  private var present: [Int] = []
  private var nextRow = 0
  private var random = Random(seed: 11)
  private var isSorted = false
  private var sorted: [Int] = []

  /// The rows in the group's order.
  var ordered: [Int] {
    mutating get {
      if !isSorted {
        sorted = present.sorted { (orders[$0] ?? 0, $0) < (orders[$1] ?? 0, $1) }
        isSorted = true
      }
      return sorted
    }
  }

  init(rows: Int) throws {
    store = try Store.inMemory(options: StoreOptions(durability: .none))
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

  private mutating func put(_ row: Int, _ tx: Transaction, remark: Int = 0) throws {
    let text = "{\"g\":\"all\",\"n\":\(orders[row] ?? 0),\"remark\":\(remark)}"
    try tx.put(Array(text.utf8), for: key(row), in: bucket)
  }

  private mutating func insert(_ tx: Transaction) throws {
    orders[nextRow] = random.next() >> 12
    present.append(nextRow)
    try put(nextRow, tx)
    nextRow += 1
  }

  /// Commits changes to that many rows and lets the observer find them.
  mutating func change(_ count: Int) throws -> (change: Change, seconds: Double) {
    try store.write { tx in
      for number in 0..<count {
        let place = Int(random.next() % UInt64(present.count))
        let row = present[place]
        // One change is a move, the hardest to find.
        switch count == 1 ? 2 : number % 4 {
        case 0: try insert(tx)
        case 1:
          try tx.delete(key(row), in: "rows")
          present.swapAt(place, present.count - 1)
          present.removeLast()
          orders[row] = nil
        case 2:
          orders[row] = random.next() >> 12
          try put(row, tx)
        default: try put(row, tx, remark: Int(random.next() % 1000))
        }
      }
    }
    var change: Change?
    let seconds = try Clocks.threadSeconds { change = try observer.advance() }
    isSorted = false
    guard let change, !change.isReset else { throw BenchmarkError("the observer was reset") }
    return (change, seconds)
  }
}
