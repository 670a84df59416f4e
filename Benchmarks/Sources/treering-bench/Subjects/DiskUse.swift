// The disk space of a loaded store after it has settled and closed.

internal import BenchmarkHarness

let diskUse = Subject(name: "DiskUse") { context in
  let data = context.rows
  let measurement = Measurement(
    "DiskUse",
    "disk after load and settle (\(Report.format(Double(data.logicalByteCount) / 1e6)) MB logical)",
    unit: "MB", .lower)
  for type in context.engines {
    let (engine, folder) = try context.open(type, isDurable: false, data: data)
    try Context.loadInRandomOrder(engine, data)
    try engine.settle()
    let scan = try engine.session().scan()
    try measurement.check(scan.digest, of: type.name)
    try engine.close()
    measurement.add(type.name, Double(diskByteCount(folder)) / 1e6)
    try context.remove(folder)
  }
  context.report.add(measurement)
}
