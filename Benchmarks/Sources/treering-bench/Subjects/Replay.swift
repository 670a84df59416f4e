// Opening a store without its page file: replays the whole log into trees.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import TreeRing

let replay = Subject(name: "Replay") { context in
  let data = context.rows
  let rows = Measurement("Replay", "replay of the log, v100", unit: "rows/s", .higher)
  let bytes = Measurement("Replay", "replay of the log, v100, payload", unit: "MB/s", .higher)
  for _ in 0..<context.runs {
    let written = try context.open(TreeRingEngine.self, isDurable: false, data: data)
    let folder = written.folder
    defer { try? context.remove(folder) }
    try Context.loadInRandomOrder(written.engine, data)
    try written.engine.close()
    try context.removePages(of: folder)
    var store: Store?
    let seconds = try Clocks.wallSeconds { store = try Store(at: folder) }
    guard let store else { continue }
    rows.add(TreeRingEngine.name, Double(data.count) / seconds)
    let statistics = try store.statistics()
    bytes.add(TreeRingEngine.name, Double(statistics.payloadByteCount) / 1e6 / seconds)
    try store.close()
    let again = try TreeRingEngine(EngineOptions(folder: folder, isDurable: false), data: data)
    try rows.check(try again.session().scan().digest, of: TreeRingEngine.name)
    try again.close()
  }
  try context.report.add(rows, bar: .absolute(700_000))
  try context.report.add(bytes)
}
