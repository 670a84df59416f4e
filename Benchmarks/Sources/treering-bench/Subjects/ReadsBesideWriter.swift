// The time of one get, in a new view each time, while another thread commits single rows durably.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import Synchronization

let readsBesideWriter = Subject(name: "ReadsBesideWriter") { context in
  let data = context.rows
  let reads = context.pick(small: 5000, full: 100_000)
  let middle = Measurement(
    "ReadsBesideWriter", "read beside a durable writer, p50", unit: "µs", .lower)
  let slow = Measurement(
    "ReadsBesideWriter", "read beside a durable writer, p99", unit: "µs", .lower)
  let lines = [middle, slow]
  try context.eachRun(of: lines, isDurable: true, data: data) { store in
    try store.engine.session().load(data.sorted)
    let latencies = try latencies(reads, of: store.engine, below: data.count)
    middle.add(store.title, Double(latencies[reads / 2]) / 1000)
    slow.add(store.title, Double(latencies[reads * 99 / 100]) / 1000)
    try middle.check(UInt64(store.engine.session().scan().count), of: store.title)
  }
  try context.report.add(middle, bar: .absolute(1.5))
  try context.report.add(slow)
}

/// The wall-clock nanoseconds of each read, ascending.
private func latencies(
  _ reads: Int, of engine: any Engine, below bound: Int
) throws -> [UInt64] {
  let isDone = Atomic<Bool>(false)
  let result = Mutex<[UInt64]>([])
  _ = try withExtendedLifetime(isDone) {
    try onThreads(2) { thread in
      let session = try engine.session()
      var random = Random(seed: UInt64(thread))
      if thread == 1 {
        while !isDone.load(ordering: .relaxed) {
          try session.put(random.rows(1, below: bound)[...], version: 1)
        }
        return
      }
      defer { isDone.store(true, ordering: .relaxed) }
      let wanted = random.rows(reads, below: bound)
      var taken: [UInt64] = []
      taken.reserveCapacity(reads)
      var sum: UInt64 = 0
      for row in wanted {
        let start = Clocks.wallNanoseconds
        sum &+= try session.getNow(row)
        taken.append(Clocks.wallNanoseconds - start)
      }
      guard sum != 0 else { throw BenchmarkError("nothing was read") }
      taken.sort()
      result.withLock { [taken] in $0 = taken }
    }
  }
  return result.withLock { $0 }
}
