// The bytes that reach write calls for each durable commit of one 300-byte value.

internal import BenchmarkHarness
internal import BenchmarkResults

let bytesWritten = Subject(name: "BytesWritten") { context in
  let measurement = Measurement(
    "BytesWritten", "bytes written per 300-byte durable commit", unit: "bytes", .lower)
  let commits = context.pick(small: 100, full: 2000)
  let data = Dataset(count: commits, kind: .v300)
  try context.eachRun(of: [measurement], isDurable: true, data: data) { store in
    let session = try store.engine.session()
    let before = Clocks.writtenByteCount
    for row in 0..<commits { try session.put([row], version: 0) }
    let written = Clocks.writtenByteCount - before
    if written > 0 { measurement.add(store.title, Double(written) / Double(commits)) }
    try measurement.check(session.scan().digest, of: store.title)
  }
  try context.report.add(measurement, bar: .absolute(600))
}
