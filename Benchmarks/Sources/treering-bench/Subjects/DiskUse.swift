// The disk space of a loaded store after it has settled and closed.

internal import BenchmarkHarness
internal import BenchmarkResults

let diskUse = Subject(name: "DiskUse") { context in
  let data = context.rows
  let measurement = Measurement(
    "DiskUse",
    "disk after load and settle (\(Report.format(Double(data.logicalByteCount) / 1e6)) MB logical)",
    unit: "MB", .lower)
  let stored = context.engines.filter { $0.name != EngineName.none }
  for _ in 0..<context.pick(small: 1, full: context.runs) {
    for type in stored {
      try context.attempt(type.name, [measurement]) {
        let store = try context.open(type, isDurable: false, data: data)
        defer { try? context.remove(store.folder) }
        try Context.loadInRandomOrder(store.engine, data)
        try store.engine.settle()
        try measurement.check(store.engine.session().scan().digest, of: type.name)
        try store.engine.close()
        measurement.add(type.name, Double(diskByteCount(store.folder)) / 1e6)
      }
    }
  }
  try context.report.add(measurement)
}
