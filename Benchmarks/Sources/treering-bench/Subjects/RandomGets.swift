// Gets of random keys from a warm store, in figures without background work: thread CPU time with
// one reader, and the cost of a second concurrent reader.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import Synchronization

let randomGets = Subject(name: "RandomGets") { context in
  let gets = context.pick(small: 20_000, full: 1_000_000)
  let one = Measurement("RandomGets", "random get, 1 reader, CPU", unit: "µs", .lower)
  let two = Measurement(
    "RandomGets", "random gets, 2 readers, CPU scaling", unit: "× 1 reader", .higher)
  try context.eachRun(
    of: [one, two], isDurable: false, data: context.rows,
    before: {
      let read = Clocks.dependentReadNanoseconds(byteCount: context.rows.logicalByteCount)
      one.add(EngineName.read, read / 1000)
    }
  ) { store in
    let engine = store.engine
    try context.loadForReading(engine)
    let alone = try readers(1, of: engine, gets: gets, below: context.rows.count)
    one.add(store.title, alone.seconds / Double(gets) * 1e6)
    try one.check(alone.sum, of: store.title)
    let both = try readers(2, of: engine, gets: gets, below: context.rows.count)
    two.add(store.title, 2 * alone.seconds / (both.seconds / 2))
    try two.check(both.sum, of: store.title)
  }
  try context.report.add(one, bar: .absolute(1.0))
  try context.report.add(two, bar: .absolute(1.8))
}

/// Runs readers concurrently.
/// - Returns: the CPU seconds of all readers, and the sum of their results.
private func readers(
  _ count: Int, of engine: any Engine, gets: Int, below bound: Int
) throws -> (seconds: Double, sum: UInt64) {
  let total = Mutex<(seconds: Double, sum: UInt64)>((0, 0))
  _ = try onThreads(count) { reader in
    let session = try engine.session()
    var random = Random(seed: UInt64(reader))
    let wanted = random.rows(gets, below: bound)
    session.prepare(Array(wanted.prefix(gets / 10)))
    _ = try session.getPrepared()
    session.prepare(wanted)
    var sum: UInt64 = 0
    let seconds = try Clocks.threadSeconds { sum = try session.getPrepared() }
    total.withLock { $0 = ($0.seconds + seconds, $0.sum &+ sum) }
  }
  return total.withLock { $0 }
}
