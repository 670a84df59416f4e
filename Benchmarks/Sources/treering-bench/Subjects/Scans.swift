// Reading a whole warm store in key order.

internal import BenchmarkHarness

let scans = Subject(name: "Scans") { context in
  let stores = try context.loadedStores()
  let measurement = Measurement("Scans", "full scan in key order, CPU", unit: "rows/s", .higher)
  for _ in 0..<context.runs {
    for store in stores {
      let session = try store.engine.session()
      var scan = Scan()
      let seconds = try Clocks.threadSeconds { scan = try session.scan() }
      measurement.add(store.engine.title, Double(scan.count) / seconds)
      try measurement.check(scan.digest, of: store.engine.title)
    }
  }
  context.report.add(measurement, bar: .absolute(8_000_000))
}
