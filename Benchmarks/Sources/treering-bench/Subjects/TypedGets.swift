// Gets of rows that are decoded to a type: TreeRing's coder of Codable types, and GRDB's records.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import TreeRing

#if canImport(PeerGRDB)
  internal import PeerGRDB
#endif

let typedGets = Subject(name: "TypedGets") { context in
  let count = context.pick(small: 2_000, full: 100_000)
  let gets = context.pick(small: 2_000, full: 100_000)
  let measurement = Measurement(
    "TypedGets", "typed get of a Codable row of 7 fields, CPU", unit: "µs", .lower)
  let rows = (0..<count).map { Shipment($0) }
  var random = Random(seed: 3)
  let ids = random.rows(gets, below: count)
  func measure(_ engine: String, _ sum: ([Int]) throws -> Int) throws {
    var result = 0
    let seconds = try Clocks.threadSeconds { result = try sum(ids) }
    measurement.add(engine, seconds / Double(gets) * 1e6)
    try measurement.check(UInt64(result), of: engine)
  }
  for _ in 0..<context.runs {
    try withStore(context, rows) { try measure(TreeRingEngine.name, $0) }
    // The same sum over rows that need neither a key nor decoding.
    try measure(EngineName.none) { ids in
      ids.reduce(0) { $0 + rows[$1].weight + rows[$1].destination.utf8.count }
    }
    #if canImport(PeerGRDB)
      try context.attempt(GRDBEngine.name, [measurement]) {
        let folder = try context.folder()
        defer { try? context.remove(folder) }
        let records = try GRDBRecords(folder: folder, rows: rows)
        try measure(GRDBEngine.name) { try records.sum(of: $0) }
      }
    #endif
  }
  try context.report.add(measurement)
}

/// Calls `body` with a sum over rows of a new store.
private func withStore(
  _ context: Context, _ rows: [Shipment], _ body: (([Int]) throws -> Int) throws -> Void
) throws {
  let bucket = Bucket<Shipment>("shipments")
  let folder = try context.folder()
  defer { try? context.remove(folder) }
  let store = try Store(at: folder, options: StoreOptions(durability: .unsynced))
  try store.write { tx in
    for (id, row) in rows.enumerated() { try tx.put(row, for: Key(String(id)), in: bucket) }
  }
  try body { ids in
    let snapshot = try store.snapshot()
    var sum = 0
    for id in ids {
      guard let row = try snapshot.get(Key(String(id)), in: bucket) else {
        throw WrongResult("TreeRing: no row")
      }
      sum += row.weight + row.destination.utf8.count
    }
    return sum
  }
  try store.close()
}
