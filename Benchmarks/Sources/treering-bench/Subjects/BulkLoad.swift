// Loading a whole table, v100: in key order, and in random order in batches of 1,000, with the
// usual caches and with 64 MiB; not durable, but synced once at the end.

internal import BenchmarkHarness
internal import BenchmarkResults

let bulkLoad = [
  Subject(name: "BulkLoad") { context in
    let data = context.sortedRows
    try loadLine(context, "bulk load in key order", data, bar: .absolute(1_000_000)) { engine in
      try engine.session().load(data.sorted)
      try engine.sync()
    }
  },
  Subject(name: "SortedLoad") { context in
    let data = context.sortedRows
    try loadLine(context, "load of sorted rows", data, bar: .absolute(1_000_000)) { engine in
      try engine.session().loadSorted(data.sorted)
      try engine.sync()
    }
  },
  Subject(name: "RandomLoad") { context in
    try loadLine(
      context, "load in random order", context.rows, copiesPages: true, bar: .absolute(400_000)
    ) {
      try Context.loadInRandomOrder($0, context.rows)
    }
  },
  // The memory budget of TreeRing, the cache of peers; LMDB has none of its own.
  Subject(name: "RandomLoad64") { context in
    try loadLine(
      context, "load in random order, 64 MiB", context.rows, cacheByteCount: 64 << 20,
      copiesPages: true
    ) {
      try Context.loadInRandomOrder($0, context.rows)
    }
  },
]

private func loadLine(
  _ context: Context, _ name: String, _ data: Dataset, cacheByteCount: Int? = nil,
  copiesPages: Bool = false, bar: Bar? = nil, load: (any Engine) throws -> Void
) throws {
  let measurement = Measurement("BulkLoad", name, unit: "rows/s", .higher)
  try context.eachRun(
    of: [measurement], isDurable: false, data: data, cacheByteCount: cacheByteCount,
    limit: LogAlone.self,
    before: {
      if copiesPages {
        let copies = Clocks.pageCopiesPerSecond(among: data.logicalByteCount)
        measurement.add(EngineName.copy, copies)
      }
    }
  ) { store in
    let seconds = try Clocks.wallSeconds { try load(store.engine) }
    measurement.add(store.title, Double(data.count) / seconds)
    try measurement.check(store.engine.contents(), of: store.title)
  }
  try context.report.add(measurement, bar: bar)
}
