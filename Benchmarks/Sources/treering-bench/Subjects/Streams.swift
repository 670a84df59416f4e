// Streams of events: durable appends of 64 writers, each to streams of its own, and the delay
// from the return of an append to its event in a subscription.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import Foundation
internal import Synchronization
internal import TreeRing
internal import TreeRingStreams

let streams = [
  Subject(name: "StreamAppends") { context in
    let total = context.pick(small: 640, full: 64_000)
    for (streamCount, ids) in [(64, false), (10_000, false), (64, true)] {
      let name =
        "durable appends, 64 writers, \(streamCount) streams" + (ids ? ", with ids" : "")
      let measurement = Measurement("StreamAppends", name, unit: "events/s", .higher)
      for run in 1...context.runs {
        let rate = try appendRate(context, total, streamCount, ids: ids, seed: UInt64(run))
        measurement.add(TreeRingEngine.name, rate)
      }
      try measurement.check(UInt64(total), of: TreeRingEngine.name)
      try context.report.add(measurement, bar: .absolute(30_000))
    }
  },
  Subject(name: "SubscriptionLag") { context in
    let count = context.pick(small: 50, full: 5_000)
    func line(_ name: String) -> Measurement {
      Measurement(
        "SubscriptionLag", "from durable to received by a subscription, \(name)", unit: "ms",
        .lower)
    }
    let (middle, slow) = (line("p50"), line("p99"))
    for _ in 1...context.runs {
      let folder = try context.folder()
      let store = try Store(at: folder)
      let lags = try lags(count, in: store)
      try store.close()
      try context.remove(folder)
      middle.add(TreeRingEngine.name, lags.percentile(0.5) / 1e6)
      slow.add(TreeRingEngine.name, lags.percentile(0.99) / 1e6)
    }
    for measurement in [middle, slow] {
      try measurement.check(UInt64(count), of: TreeRingEngine.name)
    }
    try context.report.add(middle)
    try context.report.add(slow, bar: .absolute(1))
  },
]

/// An event of about 100 bytes.
private func event(_ number: Int, hasID: Bool) -> NewEvent {
  let json = #"{"item":"\#(mix(UInt64(number)))","note":"\#(note)"}"#
  return NewEvent(type: "OrderPlaced", data: Array(json.utf8), id: hasID ? UUID() : nil)
}

/// The text that fills an event; made once, since that is no part of an append.
private let note = String(repeating: "n", count: 60)

/// Events per second of 64 threads, each of which appends to its own share of the streams under the
/// expected revision.
private func appendRate(
  _ context: Context, _ total: Int, _ streamCount: Int, ids: Bool, seed: UInt64
) throws -> Double {
  let writers = 64
  let folder = try context.folder()
  defer { try? context.remove(folder) }
  let store = try Store(at: folder)
  let seconds = try onThreads(writers) { writer in
    let names = stride(from: writer, to: streamCount, by: writers).map { "order-\($0)" }
    var revisions = [UInt64?](repeating: nil, count: names.count)
    for number in 0..<total / writers {
      let index = Int(mix(seed &+ UInt64(number)) % UInt64(names.count))
      let expected = revisions[index].map { ExpectedRevision.exactly($0) } ?? .absent
      revisions[index] = try store.stream(names[index]).append(
        event(number, hasID: ids), expecting: expected, durability: .full
      ).revision
    }
  }
  guard try store.category("order").count == total else {
    throw BenchmarkError("the category has not all events")
  }
  try store.close()
  return Double(total) / seconds
}

/// Appends an event per millisecond. Returns the nanoseconds from each append's return to the
/// event's arrival in a subscription.
private func lags(_ count: Int, in store: Store) throws -> [UInt64] {
  let seen = Mutex<[UInt64]>([])
  let done = DispatchSemaphore(value: 0)
  let stream = store.stream("order-1")
  let task = Task {
    defer { done.signal() }
    var taken: [UInt64] = []
    for try await event in stream.subscribe() {
      taken.append(Clocks.wallNanoseconds)
      guard event.revision == UInt64(taken.count - 1) else { return }
      if taken.count == count { break }
    }
    seen.withLock { [taken] in $0 = taken }
  }
  var appended: [UInt64] = []
  for number in 0..<count {
    try stream.append(event(number, hasID: false), durability: .full)
    appended.append(Clocks.wallNanoseconds)
    usleep(1000)
  }
  done.wait()
  task.cancel()
  let received = seen.withLock { $0 }
  guard received.count == count else { throw BenchmarkError("the subscription lost events") }
  // An event may arrive before the append has returned.
  return zip(appended, received).map { $1 > $0 ? $1 - $0 : 0 }
}
