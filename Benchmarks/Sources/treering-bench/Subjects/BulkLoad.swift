// Loading a whole table, v100: in key order, and in random order in batches of 1,000; not durable,
// but synced once at the end.

internal import BenchmarkHarness

let bulkLoad = [
  Subject(name: "BulkLoad") { context in
    let data = context.sortedRows
    try loadLine(context, "bulk load in key order", data, bar: 1_000_000) { engine in
      try engine.session().load(data.sorted)
      try engine.sync()
    }
  },
  Subject(name: "SortedLoad") { context in
    let data = context.sortedRows
    try loadLine(context, "load of sorted rows", data, bar: 1_000_000) { engine in
      try engine.session().loadSorted(data.sorted)
      try engine.sync()
    }
  },
  Subject(name: "RandomLoad") { context in
    try loadLine(context, "load in random order", context.rows, bar: 400_000) { engine in
      try Context.loadInRandomOrder(engine, context.rows)
    }
  },
]

private func loadLine(
  _ context: Context, _ name: String, _ data: Dataset, bar: Double,
  load: (any Engine) throws -> Void
) throws {
  let measurement = Measurement("BulkLoad", name, unit: "rows/s", .higher)
  for _ in 0..<context.runs {
    for type in context.engines {
      let (engine, folder) = try context.open(type, isDurable: false, data: data)
      let seconds = try Clocks.wallSeconds { try load(engine) }
      measurement.add(type.name, Double(data.count) / seconds)
      let scan = try engine.session().scan()
      try measurement.check(scan.digest &+ UInt64(scan.count), of: type.name)
      try engine.close()
      try context.remove(folder)
    }
  }
  context.report.add(measurement, bar: .absolute(bar))
}
