// Durable commits of 100 and of 1,000 random rows of JSON.

internal import BenchmarkHarness
internal import BenchmarkResults

let batches = [
  Subject(name: "Batches100") {
    try batchLine($0, rows: 100, batches: $0.pick(small: 10, full: 500), bar: 120_000)
  },
  Subject(name: "Batches1000") {
    try batchLine($0, rows: 1000, batches: $0.pick(small: 3, full: 100), bar: 200_000)
  },
]

private func batchLine(_ context: Context, rows: Int, batches: Int, bar: Double) throws {
  let measurement = Measurement(
    "Batches", "durable batches of \(rows) random rows, JSON", unit: "rows/s", .higher)
  let data = context.jsonRows
  let order = Array(0..<rows * batches)
  try context.eachRun(
    of: [measurement], isDurable: true, data: data, limit: LogAlone.self,
    before: {
      let byteCount = data.logicalByteCount / data.count * order.count
      measurement.add(EngineName.copy, Clocks.pageCopiesPerSecond(among: byteCount))
    }
  ) { store in
    let session = try store.engine.session()
    let seconds = try Clocks.wallSeconds {
      for start in stride(from: 0, to: order.count, by: rows) {
        try session.put(order[start..<start + rows], version: 0)
      }
    }
    measurement.add(store.title, Double(order.count) / seconds)
    try measurement.check(store.engine.contents(), of: store.title)
  }
  try context.report.add(measurement, bar: .absolute(bar))
}
