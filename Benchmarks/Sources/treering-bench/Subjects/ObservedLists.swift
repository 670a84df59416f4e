// The time of a commit until an observer on another thread knows the change of a list: the stream
// of changes of a mapping, and GRDB's ValueObservation, which fetches all rows again and compares
// them with the rows before. A single change is a move; ten insert, delete, move and update. The
// time begins before the commit, since the observer may know the change before the commit returns.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import Foundation
internal import TreeRing
internal import TreeRingMappings

#if canImport(PeerGRDB)
  internal import PeerGRDB
#endif

let observedLists = Subject(name: "ObservedLists") { context in
  for count in context.pick(small: [1_000], full: [1_000, 10_000, 100_000]) {
    let lines = [1, 10].map { changes in
      Measurement(
        "ObservedLists",
        "observer of \(count) ordered rows knows a commit of "
          + (changes == 1 ? "1 change" : "\(changes) changes"),
        unit: "ms",
        .lower)
    }
    for _ in 0..<context.runs { try run(context, lines, count: count) }
    for line in lines { try context.report.add(line) }
  }
}

/// Changes a new list of each engine several times.
private func run(_ context: Context, _ lines: [Measurement], count: Int) throws {
  var model = ChangingRows(count: count)
  let folder = try context.folder()
  defer { try? context.remove(folder) }
  let own = try StreamedList(folder: folder, rows: model.rows)
  #if canImport(PeerGRDB)
    let peerFolder = try context.folder()
    defer { try? context.remove(peerFolder) }
    var peer: GRDBObservedList?
    try context.attempt(GRDBEngine.name, lines) {
      peer = try GRDBObservedList(folder: peerFolder, rows: model.rows)
    }
  #endif
  for round in 0..<6 {
    for (line, changes) in zip(lines, [1, 10]) {
      let change = model.change(changes)
      let seconds = try own.change(change)
      // The first changes find cold caches.
      if round > 0 { line.add(TreeRingEngine.name, seconds * 1000) }
      #if canImport(PeerGRDB)
        try context.attempt(GRDBEngine.name, lines) {
          guard let peer else { return }
          let seconds = try peer.change(upserting: change.upserted, deleting: change.deleted)
          if round > 0 { line.add(GRDBEngine.name, seconds * 1000) }
        }
      #endif
    }
  }
  let expected = model.ids
  try lines[0].check(digest(of: try own.ids()), of: TreeRingEngine.name)
  guard try own.ids() == expected else { throw WrongResult("TreeRing: another list") }
  try own.close()
  #if canImport(PeerGRDB)
    try context.attempt(GRDBEngine.name, lines) {
      guard let peer else { return }
      guard peer.ids == expected else { throw WrongResult("GRDB: another list") }
      try peer.close()
    }
  #endif
}

private func digest(of ids: [Int]) -> UInt64 { ids.reduce(0) { mix($0 ^ UInt64($1)) } }

/// The rows of a list and their random changes.
private struct ChangingRows {
  private(set) var rows: [PlacedRow] = []
  private var random = Random(seed: 29)
  private var created = 0

  init(count: Int) { rows = (0..<count).map { _ in new() } }

  /// The ids in the list's order. O(n log n).
  var ids: [Int] { rows.sorted { $0.place < $1.place }.map { $0.id } }

  private mutating func place() -> Int64 { Int64(random.next() >> 12) }

  private mutating func new() -> PlacedRow {
    defer { created += 1 }
    return PlacedRow(id: created, place: place())
  }

  /// Changes to different rows.
  mutating func change(_ count: Int) -> (upserted: [PlacedRow], deleted: [Int]) {
    var upserted: [PlacedRow] = []
    var deleted: [Int] = []
    var touched: Set<Int> = []
    for number in 0..<count {
      let kind = count == 1 ? 2 : number % 4
      if kind == 0 {
        let row = new()
        rows.append(row)
        upserted.append(row)
        touched.insert(row.id)
        continue
      }
      var at = 0
      repeat {
        at = Int(random.next() % UInt64(rows.count))
      } while touched.contains(rows[at].id)
      touched.insert(rows[at].id)
      if kind == 1 {
        deleted.append(rows[at].id)
        rows.swapAt(at, rows.count - 1)
        rows.removeLast()
      } else {
        if kind == 2 { rows[at].place = place() }
        rows[at].version += 1
        upserted.append(rows[at])
      }
    }
    return (upserted, deleted)
  }
}

/// A list in a store, whose changes a task receives.
private final class StreamedList {
  private let store: Store
  private let bucket = Bucket.bytes("rows")
  private let arrived = DispatchSemaphore(value: 0)
  private let task: Task<Void, any Error>
  private static let mappings = Mappings(of: "order", groups: ["all"])

  init(folder: String, rows: [PlacedRow]) throws {
    store = try Store(at: folder, options: StoreOptions(durability: .unsynced))
    try store.define("order", FieldIndex(bucket: "rows", group: "g", order: [.init("n")]))
    let bucket = bucket
    try store.write { tx in for row in rows { try Self.put(row, in: bucket, tx) } }
    let changes = store.changes(of: Self.mappings, limit: 100_000)
    let arrived = arrived
    task = Task.detached { for try await _ in changes { arrived.signal() } }
    try wait()
  }

  private static func put(_ row: PlacedRow, in bucket: Bucket<[UInt8]>, _ tx: Transaction) throws {
    let text = "{\"g\":\"all\",\"n\":\(row.place),\"version\":\(row.version)}"
    try tx.put(Array(text.utf8), for: Key(String(row.id)), in: bucket)
  }

  private func wait() throws {
    guard arrived.wait(timeout: .now() + 60) == .success else {
      throw BenchmarkError("TreeRing: no change arrived for a minute")
    }
  }

  /// Commits changes and waits until their changeset is known. Returns the seconds that both take.
  func change(_ change: (upserted: [PlacedRow], deleted: [Int])) throws -> Double {
    try Clocks.wallSeconds {
      try store.write { tx in
        for row in change.upserted { try Self.put(row, in: bucket, tx) }
        for id in change.deleted { try tx.delete(Key(String(id)), in: bucket) }
      }
      try wait()
    }
  }

  /// The ids in the list's order.
  func ids() throws -> [Int] {
    let group = try store.snapshot().index("order").group("all")
    return try (0..<group.count).map { position in
      guard let id = try group.id(at: position) else { throw WrongResult("TreeRing: no row") }
      return Int(id.key.description) ?? -1
    }
  }

  func close() throws {
    task.cancel()
    try store.close()
  }
}
