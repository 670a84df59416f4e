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
  var sums: [(engine: String, sum: ([Int]) throws -> Int)] = []

  let bucket = Bucket<Shipment>("shipments")
  let folder = try context.folder()
  let store = try Store(at: folder, options: StoreOptions(durability: .none))
  try store.write { tx in
    for (id, row) in rows.enumerated() { try tx.put(row, for: Key(String(id)), in: bucket) }
  }
  sums.append(
    (
      TreeRingEngine.name,
      { ids in
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
    ))
  sums.append(
    (EngineName.none, { ids in ids.reduce(0) { $0 + Key(String($1)).bytes.count } }))
  #if canImport(PeerGRDB)
    let peerFolder = try context.folder()
    try context.attempt(GRDBEngine.name, [measurement]) {
      let records = try GRDBRecords(folder: peerFolder, rows: rows)
      sums.append((GRDBEngine.name, { try records.sum(of: $0) }))
    }
  #endif
  for _ in 0..<context.runs {
    var random = Random(seed: 3)
    let ids = random.rows(gets, below: count)
    for (engine, sum) in sums {
      try context.attempt(engine, [measurement]) {
        var result = 0
        let seconds = try Clocks.threadSeconds { result = try sum(ids) }
        measurement.add(engine, seconds / Double(gets) * 1e6)
        try measurement.check(UInt64(result), of: engine)
      }
    }
  }
  sums = []
  try store.close()
  try context.remove(folder)
  #if canImport(PeerGRDB)
    try context.remove(peerFolder)
  #endif
  try context.report.add(measurement)
}
