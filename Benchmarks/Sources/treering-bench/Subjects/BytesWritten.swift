// The bytes that reach write calls for each durable commit of one 300-byte value.

internal import BenchmarkHarness

let bytesWritten = Subject(name: "BytesWritten") { context in
  let measurement = Measurement(
    "BytesWritten", "bytes written per 300-byte durable commit", unit: "bytes", .lower)
  let commits = context.pick(small: 100, full: 2000)
  let data = Dataset(count: commits * context.runs, kind: .v300)
  let stores = try context.engines.map { try context.open($0, isDurable: true, data: data) }
  for run in 0..<context.runs {
    for store in stores {
      let session = try store.engine.session()
      let before = Clocks.writtenByteCount
      for row in run * commits..<(run + 1) * commits { try session.put([row], version: 0) }
      let written = Clocks.writtenByteCount - before
      if written > 0 { measurement.add(store.engine.title, Double(written) / Double(commits)) }
    }
  }
  for store in stores {
    let scan = try store.engine.session().scan()
    try measurement.check(scan.digest, of: store.engine.title)
    try store.engine.close()
    try context.remove(store.folder)
  }
  context.report.add(measurement, bar: .absolute(600))
}
