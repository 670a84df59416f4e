// Single-row commits of random keys, v100: durable with 1, 8 and 64 writers, and not durable with
// one.

internal import BenchmarkHarness
internal import BenchmarkResults

let commits = [
  Subject(name: "Commits1") {
    try commitLine($0, writers: 1, small: 40, full: 3000, bar: .syncLoop(0.75))
  },
  Subject(name: "Commits8") {
    try commitLine($0, writers: 8, small: 160, full: 8000, bar: .absolute(12_000))
  },
  Subject(name: "Commits64") {
    try commitLine($0, writers: 64, small: 320, full: 32_000, bar: .absolute(40_000))
  },
  Subject(name: "CommitsNotDurable") {
    try commitLine(
      $0, writers: 1, small: 2000, full: 100_000, isDurable: false, bar: .absolute(200_000))
  },
]

private func commitLine(
  _ context: Context, writers: Int, small: Int, full: Int, isDurable: Bool = true, bar: Bar
) throws {
  let perRun = context.pick(small: small, full: full)
  let who = writers == 1 ? "1 writer" : "\(writers) writers"
  let measurement = Measurement(
    "Commits", isDurable ? "durable commits, \(who)" : "commits, durability none, \(who)",
    unit: "commits/s", .higher)
  let data = context.rows
  let perWriter = perRun / writers
  func syncLoop() throws {
    guard isDurable else { return }
    let folder = try context.folder()
    measurement.line.syncLoop.append(
      try Clocks.syncedWritesPerSecond(
        in: folder, size: 200, count: context.pick(small: 20, full: 1000)))
    if writers > 1 {
      let rate = try Clocks.syncedWritesPerSecond(
        in: folder, size: 200, count: perRun, threads: writers)
      measurement.line.sharedSyncLoop = (measurement.line.sharedSyncLoop ?? []) + [rate]
    }
    try context.remove(folder)
  }
  try context.eachRun(
    of: [measurement], isDurable: isDurable, data: data,
    limit: isDurable ? nil : LogAlone.self, before: syncLoop
  ) { store in
    let engine = store.engine
    let seconds = try onThreads(writers) { writer in
      let session = try engine.session()
      let first = writer * perWriter
      for row in first..<first + perWriter { try session.put([row], version: 0) }
    }
    measurement.add(store.title, Double(perWriter * writers) / seconds)
    try measurement.check(engine.contents(), of: store.title)
  }
  try context.report.add(measurement, bar: bar)
}
