// Reading a whole warm store in key order, in figures without background work.

internal import BenchmarkHarness
internal import BenchmarkResults

let scans = Subject(name: "Scans") { context in
  let measurement = Measurement("Scans", "full scan in key order, CPU", unit: "rows/s", .higher)
  try context.eachRun(of: [measurement], isDurable: false, data: context.rows) { store in
    try context.loadForReading(store.engine)
    let session = try store.engine.session()
    // The first scan finds cold caches.
    _ = try session.scan()
    var scan = Scan()
    let seconds = try Clocks.threadSeconds { scan = try session.scan() }
    measurement.add(store.title, Double(scan.count) / seconds)
    try measurement.check(scan.digest, of: store.title)
  }
  try context.report.add(measurement, bar: .absolute(8_000_000))
}
