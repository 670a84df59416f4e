// Opening an engine's folder and reading one row: after a clean close, and on a copy of the folder
// as a kill leaves it, with commits since. All engines open for durable commits. OpenTime measures
// TreeRing with more rows.

internal import BenchmarkHarness
internal import BenchmarkResults

let opening = Subject(name: "Opening") { context in
  let clean = Measurement(
    "Opening", "open to first get after a clean close", unit: "ms", .lower)
  let killed = Measurement("Opening", "open to first get after a kill", unit: "ms", .lower)
  let lines = [clean, killed]
  let stored = context.engines.filter { $0.name != EngineName.none }
  for _ in 0..<context.runs {
    for type in stored {
      try context.attempt(type.name, lines) { try run(clean, killed, type, context) }
    }
  }
  for line in lines { try context.report.add(line) }
}

/// Opens a new store after a clean close and after a kill.
private func run(
  _ clean: Measurement, _ killed: Measurement, _ type: any Engine.Type, _ context: Context
) throws {
  let data = context.rows
  let store = try context.open(type, isDurable: false, data: data)
  defer { try? context.remove(store.folder) }
  try Context.loadInRandomOrder(store.engine, data)
  try store.engine.close()
  var random = Random(seed: 31)
  try measure(clean, type, store.folder, data, row: random.rows(1, below: data.count)[0])
  let options = EngineOptions(folder: store.folder, isDurable: false)
  let engine = try type.init(options, data: data)
  do {
    let session = try engine.session()
    for _ in 0..<20 { try session.put(random.rows(100, below: data.count)[...], version: 1) }
  }
  try engine.sync()
  let copy = try context.killedCopy(of: store.folder)
  try engine.close()
  defer { try? context.remove(copy) }
  try measure(killed, type, copy, data, row: random.rows(1, below: data.count)[0])
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
