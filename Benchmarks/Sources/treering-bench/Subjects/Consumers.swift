// The time in which a consumer processes one batch of 100 changes in a long list: a quarter each of
// updates, moves, deletes and inserts. The list is plain, carries values over, or has many or few
// sections. Each has a delegate, as on screen.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import TreeRingCollections
internal import TreeRingMappings

let consumers = Subject(name: "Consumers") { context in
  let rows = context.pick(small: 5000, full: 1_000_000)
  let plain = PlainConsumer<Int>()
  let recurrent = RecurrentConsumer<Int>(carryingOver: { _, new in new })
  // Rows are a thousand apart. That gives sections of a hundred rows, or fifty sections in all.
  let sectioned = SectionedConsumer<Int, Int>(title: { $0 / 100_000 })
  let few = SectionedConsumer<Int, Int>(title: { $0 / (rows * 20) })
  let delegate = Listener()
  plain.delegate = delegate
  recurrent.delegate = delegate
  sectioned.delegate = delegate
  few.delegate = delegate
  try consumerLine(context, "plain", rows, plain)
  try consumerLine(context, "carrying over", rows, recurrent)
  try consumerLine(context, "sectioned", rows, sectioned)
  try consumerLine(context, "in 50 sections", rows, few)
}

/// A delegate that counts its calls.
private final class Listener: PlainConsumerDelegate, SectionedConsumerDelegate {
  var calls = 0
  func consumerDidUpdate(_ model: Int, at index: Int) { calls += 1 }
  func consumerDidRemove(at index: Int) { calls += 1 }
  func consumerDidInsert(_ model: Int, at index: Int) { calls += 1 }
  func consumerDidUpdate(_ model: Int, at path: RowPath) { calls += 1 }
  func consumerDidReload(section: Int) { calls += 1 }
  func consumerDidRemove(section: Int) { calls += 1 }
  func consumerDidInsert(section: Int) { calls += 1 }
  func consumerDidRemove(at path: RowPath) { calls += 1 }
  func consumerDidInsert(_ model: Int, at path: RowPath) { calls += 1 }
}

private func consumerLine(
  _ context: Context, _ kind: String, _ rows: Int, _ consumer: some BatchConsumer<Int>
) throws {
  let line = Measurement(
    "Consumers", "100 changes of \(Report.format(Double(rows))) rows, \(kind), CPU", unit: "ms",
    .lower)
  consumer.willChange()
  consumer.consume((0..<rows).map { $0 * 1000 }.transactionsForCurrentState)
  try consumer.didChange()
  var random = Random(seed: 5)
  var digest: UInt64 = 0
  for _ in 0..<context.runs {
    let values = consumer.items
    var places: Set<Int> = []
    while places.count < 104 { places.insert(Int(random.next() % UInt64(values.count))) }
    let ordered = places.sorted()
    let seconds = try Clocks.threadSeconds {
      consumer.willChange()
      change(consumer, values, ordered)
      try consumer.didChange()
    }
    line.add(TreeRingEngine.name, seconds * 1000)
    for value in consumer.items { digest = mix(digest ^ UInt64(value)) }
  }
  try line.check(digest, of: TreeRingEngine.name)
  try context.report.add(line, bar: .absolute(1))
}

/// Of every eight rows, two are updated, two trade positions, two are deleted, and two are followed
/// by an inserted row.
private func change(_ consumer: some BatchConsumer<Int>, _ values: [Int], _ places: [Int]) {
  for start in stride(from: 0, to: places.count, by: 8) {
    let eight = Array(places[start..<start + 8])
    consumer.update(values[eight[0]] + 1, at: eight[0])
    consumer.update(values[eight[4]] + 1, at: eight[4])
    consumer.move(values[eight[5]] + 1, from: eight[1], to: eight[5])
    consumer.move(values[eight[1]] + 1, from: eight[5], to: eight[1])
    // A delete before each insert keeps the positions before and after equal elsewhere.
    for (gone, come) in [(eight[2], eight[3]), (eight[6], eight[7])] {
      consumer.remove(at: gone)
      consumer.add(values[come] + 2, at: come)
    }
  }
}
