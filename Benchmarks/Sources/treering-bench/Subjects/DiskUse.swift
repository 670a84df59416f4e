// The disk space of a loaded store after it has settled and closed.

internal import BenchmarkHarness
internal import BenchmarkResults

let diskUse = Subject(name: "DiskUse") { context in
  let data = context.rows
  let measurement = Measurement(
    "DiskUse",
    "disk after load and settle (\(Report.format(Double(data.logicalByteCount) / 1e6)) MB logical)",
    unit: "MB", .lower)
  for type in context.engines where type.name != EngineName.none {
    try context.attempt(type.name, [measurement]) {
      let store = try context.open(type, isDurable: false, data: data)
      defer { try? context.remove(store.folder) }
      try Context.loadInRandomOrder(store.engine, data)
      try store.engine.settle()
      let scan = try store.engine.session().scan()
      try measurement.check(scan.digest, of: type.name)
      try store.engine.close()
      measurement.add(type.name, Double(diskByteCount(store.folder)) / 1e6)
    }
  }
  try context.report.add(measurement)
}
