// Opening an engine's folder and reading one row: after a clean close, and on a copy of the folder
// as a kill leaves it, with commits since. All engines open for durable commits. OpenTime measures
// TreeRing with more rows.

internal import BenchmarkHarness
internal import BenchmarkResults

let opening = Subject(name: "Opening") { context in
  let data = context.rows
  let clean = Measurement(
    "Opening", "open to first get after a clean close", unit: "ms", .lower)
  let killed = Measurement("Opening", "open to first get after a kill", unit: "ms", .lower)
  let lines = [clean, killed]
  for type in context.engines where type.name != EngineName.none {
    try context.attempt(type.name, lines) {
      let store = try context.open(type, isDurable: false, data: data)
      defer { try? context.remove(store.folder) }
      try Context.loadInRandomOrder(store.engine, data)
      try store.engine.close()
      let options = EngineOptions(folder: store.folder, isDurable: false)
      var random = Random(seed: 31)
      for run in 0..<context.runs {
        try measure(clean, type, store.folder, data, row: random.rows(1, below: data.count)[0])
        let engine = try type.init(options, data: data)
        do {
          let session = try engine.session()
          for _ in 0..<20 {
            try session.put(random.rows(100, below: data.count)[...], version: run)
          }
        }
        try engine.sync()
        let copy = try context.killedCopy(of: store.folder)
        try engine.close()
        defer { try? context.remove(copy) }
        try measure(killed, type, copy, data, row: random.rows(1, below: data.count)[0])
      }
    }
  }
  for line in lines { try context.report.add(line) }
}

private func measure(
  _ measurement: Measurement, _ type: any Engine.Type, _ folder: String, _ data: Dataset, row: Int
) throws {
  var opened: (engine: any Engine, digest: UInt64)?
  let seconds = try Clocks.wallSeconds {
    let engine = try type.init(EngineOptions(folder: folder, isDurable: true), data: data)
    let session = try engine.session()
    session.prepare([row])
    opened = (engine, try session.getPrepared())
  }
  measurement.add(type.name, seconds * 1000)
  guard let opened, opened.digest != 0 else { throw WrongResult("\(type.name): an empty row") }
  try opened.engine.close()
}
