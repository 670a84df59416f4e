// The time in which lists that follow a store process one commit that inserts, deletes, moves and
// updates a quarter of 100 rows each, among many. The lists are a tracker with its own order, which
// keeps every row, and a live collection that shows all rows.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import Synchronization
internal import TreeRing
internal import TreeRingCollections

let liveLists = Subject(name: "LiveLists") { context in
  let count = context.pick(small: 5000, full: 1_000_000)
  try trackerLine(context, count)
  try collectionLine(context, count)
}

private struct Entry: ValueModel, Equatable {
  var identifier: String
  var rank: Int
}

/// Rows of eight bytes each, which hold the rank.
private let entries = Bucket(
  "entries",
  coder: RowCoder<Int>(
    encode: { value in withUnsafeBytes(of: value.bigEndian) { Array($0) } },
    decode: { bytes, _ in Int(bigEndian: bytes.loadUnaligned(as: Int.self)) }))

private func key(_ number: Int) -> Key { Key("\(100_000_000 + number)") }

/// The rows of a list and the edits of successive commits.
private struct Edits {
  var random = Random(seed: 9)
  var numbers: [Int]
  var next: Int

  init(count: Int) {
    numbers = Array(0..<count)
    next = count
  }

  private mutating func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

  /// Edits of 100 rows: number and rank; the rank is nil for a deleted row.
  mutating func take() -> [(number: Int, rank: Int?)] {
    var edits: [(number: Int, rank: Int?)] = []
    for turn in 0..<100 {
      let place = below(numbers.count)
      let number = numbers[place]
      switch turn % 4 {
      case 0: edits.append((number, number * 1000 + 1))
      case 1: edits.append((number, below(next) * 1000 + 7))
      case 2:
        edits.append((number, nil))
        numbers[place] = numbers[numbers.count - 1]
        numbers.removeLast()
      default:
        numbers.append(next)
        edits.append((next, below(next) * 1000 + 9))
        next += 1
      }
    }
    return edits
  }
}

private func trackerLine(_ context: Context, _ count: Int) throws {
  let line = Measurement(
    "LiveLists", "commit of 100 changes, tracker of \(Report.format(Double(count))) rows, CPU",
    unit: "ms", .lower)
  let store = try Store.inMemory()
  for start in stride(from: 0, to: count, by: 10_000) {
    try store.write { tx in
      for number in start..<min(start + 10_000, count) {
        try tx.put(number * 1000, for: key(number), in: entries)
      }
    }
  }
  var tracker = try Tracker(
    of: TrackerRequest(entries).sorted { $0.row < $1.row }, in: store)
  var edits = Edits(count: count)
  var digest: UInt64 = 0
  for _ in 0..<context.runs {
    let taken = edits.take()
    try store.write { tx in
      for edit in taken {
        if let rank = edit.rank {
          try tx.put(rank, for: key(edit.number), in: entries)
        } else {
          try tx.delete(key(edit.number), in: entries)
        }
      }
    }
    var batch: [ListTransaction<TrackedRow<Int>>] = []
    line.add(
      TreeRingEngine.name,
      1000 * (try Clocks.threadSeconds { batch = try tracker.advance() }))
    digest = mix(digest ^ UInt64(batch.count))
    for row in tracker.rows { digest = mix(digest ^ UInt64(row.row)) }
  }
  try line.check(digest, of: TreeRingEngine.name)
  try context.report.add(line)
}

private func collectionLine(_ context: Context, _ count: Int) throws {
  let line = Measurement(
    "LiveLists",
    "100 changes, live collection of \(Report.format(Double(count))) models, CPU", unit: "ms",
    .lower)
  // Queues the events of a commit, to run them together.
  let waiting = Mutex<[@Sendable () -> Void]>([])
  let collection = LiveCollection<Entry>(
    source: MemorySource<Int>(),
    options: CollectionOptions(
      order: .by { $0.rank < $1.rank },
      deliver: { body in waiting.withLock { $0.append(body) } })
  ) { Entry(identifier: "\($0)", rank: $0) }
  func deliver() {
    for body in waiting.withLock({ bodies in
      defer { bodies = [] }
      return bodies
    }) { body() }
  }
  func model(_ number: Int, _ rank: Int) -> Entry {
    Entry(identifier: "\(100_000_000 + number)", rank: rank)
  }
  for number in 0..<count { collection.set(model(number, number * 1000)) }
  deliver()
  var edits = Edits(count: count)
  var digest: UInt64 = 0
  for _ in 0..<context.runs {
    for edit in edits.take() {
      if let rank = edit.rank {
        collection.set(model(edit.number, rank))
      } else {
        collection.remove("\(100_000_000 + edit.number)")
      }
    }
    line.add(TreeRingEngine.name, 1000 * Clocks.threadSeconds { deliver() })
    for model in collection.shown { digest = mix(digest ^ UInt64(model.rank)) }
  }
  try line.check(digest, of: TreeRingEngine.name)
  try context.report.add(line)
}
