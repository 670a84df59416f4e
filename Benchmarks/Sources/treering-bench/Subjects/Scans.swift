// Reading a whole warm store in key order.

internal import BenchmarkHarness
internal import BenchmarkResults

let scans = Subject(name: "Scans") { context in
  let measurement = Measurement("Scans", "full scan in key order, CPU", unit: "rows/s", .higher)
  let stores = try context.loadedStores(for: [measurement])
  for _ in 0..<context.runs {
    for store in stores {
      try context.attempt(store.title, [measurement]) {
        let session = try store.engine.session()
        var scan = Scan()
        let seconds = try Clocks.threadSeconds { scan = try session.scan() }
        measurement.add(store.title, Double(scan.count) / seconds)
        try measurement.check(scan.digest, of: store.title)
      }
    }
  }
  try context.report.add(measurement, bar: .absolute(8_000_000))
}
