// Load, get and scan with more and more rows: the points of curves.

internal import BenchmarkHarness
internal import BenchmarkResults

let rowGrowth = Subject(name: "RowGrowth") { context in
  let sizes = context.pick(
    small: [1_000, 10_000], full: [10_000, 100_000, 1_000_000, 10_000_000])
  for count in sizes where count <= context.largest {
    let data = Dataset(count: count, kind: .v100)
    func line(_ curve: String, unit: String, _ direction: Direction) -> Measurement {
      let measurement = Measurement(
        "RowGrowth", "\(curve), \(count) rows", unit: unit, direction)
      measurement.line.curve = curve
      measurement.line.rows = count
      return measurement
    }
    let load = line("load in random order", unit: "rows/s", .higher)
    let get = line("random get, CPU", unit: "µs", .lower)
    let scan = line("full scan in key order, CPU", unit: "rows/s", .higher)
    let lines = [load, get, scan]
    var random = Random(seed: 37)
    let wanted = random.rows(min(count, 100_000), below: count)
    for _ in 0..<context.runs {
      for type in context.engines {
        try context.attempt(type.name, lines) {
          let store = try context.open(type, isDurable: false, data: data)
          defer { try? context.remove(store.folder) }
          let loading = try Clocks.wallSeconds {
            try Context.loadInRandomOrder(store.engine, data)
          }
          load.add(type.name, Double(count) / loading)
          try read(wanted, store, get, scan)
          try store.engine.close()
        }
      }
    }
    for line in lines { try context.report.add(line) }
  }
}

/// Reads some rows twice, the second time measured, and then all.
private func read(
  _ wanted: [Int], _ store: OpenEngine, _ get: Measurement, _ scan: Measurement
) throws {
  let session = try store.engine.session()
  session.prepare(wanted)
  _ = try session.getPrepared()
  var sum: UInt64 = 0
  let getting = try Clocks.threadSeconds { sum = try session.getPrepared() }
  get.add(store.title, getting / Double(wanted.count) * 1e6)
  try get.check(sum, of: store.title)
  var result = Scan()
  let scanning = try Clocks.threadSeconds { result = try session.scan() }
  scan.add(store.title, Double(result.count) / scanning)
  try scan.check(result.digest &+ UInt64(result.count), of: store.title)
}
