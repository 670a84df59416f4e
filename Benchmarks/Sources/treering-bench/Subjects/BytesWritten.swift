// The bytes that reach write calls for each durable commit of one 300-byte value.

internal import BenchmarkHarness
internal import BenchmarkResults

let bytesWritten = Subject(name: "BytesWritten") { context in
  let measurement = Measurement(
    "BytesWritten", "bytes written per 300-byte durable commit", unit: "bytes", .lower)
  let commits = context.pick(small: 100, full: 2000)
  let data = Dataset(count: commits * context.runs, kind: .v300)
  let stores = try context.openAll(for: [measurement], isDurable: true, data: data)
  for run in 0..<context.runs {
    for store in stores {
      try context.attempt(store.title, [measurement]) {
        let session = try store.engine.session()
        let before = Clocks.writtenByteCount
        for row in run * commits..<(run + 1) * commits { try session.put([row], version: 0) }
        let written = Clocks.writtenByteCount - before
        if written > 0 { measurement.add(store.title, Double(written) / Double(commits)) }
      }
    }
  }
  try context.finish(stores, [measurement]) { store, scan in
    try measurement.check(scan.digest, of: store.title)
  }
  try context.report.add(measurement, bar: .absolute(600))
}
