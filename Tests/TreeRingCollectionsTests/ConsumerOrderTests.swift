// The order of delegate calls, the values that delegates read during them, and errors of the
// program.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingCollections
@testable import TreeRingMappings

private func items(_ titles: String) -> [Item] {
  titles.enumerated().map { Item(id: $0, title: String($1)) }
}

/// Records its calls and the counts that it reads during them.
private final class Recorder: PlainConsumerDelegate, SectionedConsumerDelegate {
  var calls: [String] = []
  var count: () -> Int = { 0 }
  var counts: [Int] = []
  var atEnd: (() -> Void)?
  var defers = false
  var blocks: [() -> Void] = []

  private func note(_ call: String) {
    calls.append(call)
    counts.append(count())
  }
  func consumerWillChange() { note("begin") }
  func consumerDidUpdate(_ model: Item, at index: Int) { note("update \(index)") }
  func consumerDidRemove(at index: Int) { note("remove \(index)") }
  func consumerDidInsert(_ model: Item, at index: Int) { note("insert \(index)") }
  func consumerDidUpdate(_ model: Item, at path: RowPath) { note("update \(path)") }
  func consumerDidReload(section: Int) { note("reload section \(section)") }
  func consumerDidRemove(section: Int) { note("remove section \(section)") }
  func consumerDidInsert(section: Int) { note("insert section \(section)") }
  func consumerDidRemove(at path: RowPath) { note("remove \(path)") }
  func consumerDidInsert(_ model: Item, at path: RowPath) { note("insert \(path)") }
  func consumerDidChange() {
    note("end")
    atEnd?()
  }
  func consumer(perform batch: @escaping () -> Void) {
    if defers { blocks.append(batch) } else { batch() }
  }
}

@Suite struct ConsumerOrderTests {
  private static let plainCalls = [
    "begin", "update 1", "update 4", "remove 6", "remove 3", "remove 0", "insert 2", "insert 3",
    "end",
  ]

  /// Updates at 1 and 4, deletes at 3 and 0, inserts at 2, a move from 6 to 3, in no order.
  private func fill(_ consumer: some BatchConsumer<Item>) {
    consumer.add(Item(id: 20), at: 2)
    consumer.update(Item(id: 4, value: 1), at: 4)
    consumer.remove(at: 0)
    consumer.move(Item(id: 6, value: 1), from: 6, to: 3)
    consumer.remove(at: 3)
    consumer.update(Item(id: 1, value: 1), at: 1)
  }

  @Test func plainAndRecurrentConsumersReportUpdatesThenRemovalsThenInsertions() throws {
    let plain = PlainConsumer<Item>()
    let recurrent = RecurrentConsumer<Item> { old, new in Item(id: old.id, value: new.value) }
    for consumer in [plain, recurrent] {
      let recorder = Recorder()
      recorder.count = { [weak consumer] in consumer?.numberOfItems ?? 0 }
      consumer.reset(with: (0..<8).map { Item(id: $0) })
      consumer.delegate = recorder
      consumer.willChange()
      fill(consumer)
      // No change applies before the end.
      #expect(consumer.items == (0..<8).map { Item(id: $0) })
      #expect(recorder.calls.isEmpty)
      let changes = try #require(try consumer.didChange(returnChanges: true))
      #expect(recorder.calls == Self.plainCalls)
      #expect(recorder.counts == [8] + Array(repeating: 7, count: 8))
      // The native changes contain the move.
      #expect(changes.moves == [IndexMove(from: 6, to: 3)])
      #expect(consumer.items.map(\.id) == [1, 2, 20, 6, 4, 5, 7])
    }
  }

  @Test func sectionedConsumersReportUpdatesThenSectionsThenRemovalsAndInsertions() throws {
    let consumer = SectionedConsumer<Item, String>(title: \.title)
    let recorder = Recorder()
    recorder.count = { [weak consumer] in consumer?.sectionsCount ?? 0 }
    consumer.reset(with: items("AAABBCCDDDEE"))
    consumer.delegate = recorder
    consumer.willChange()
    // A: one row updated, one deleted. B: retitled. C: deleted. D: one row deleted, one inserted,
    // one updated. X, Y: new.
    for (index, title) in [(1, "A"), (3, "b"), (4, "b"), (9, "D")] {
      consumer.update(Item(id: index, value: 1, title: title), at: index)
    }
    for index in [0, 5, 6, 7] { consumer.remove(at: index) }
    consumer.add(Item(id: 20, title: "0"), at: 0)
    consumer.add(Item(id: 21, title: "D"), at: 5)
    consumer.add(Item(id: 22, title: "Y"), at: 10)
    #expect(consumer.items == items("AAABBCCDDDEE"))
    try consumer.didChange()
    #expect(consumer.items.map(\.title).joined() == "0AAbbDDDEEY")
    #expect(
      recorder.calls == [
        "begin", "update [0, 1]", "update [3, 2]", "reload section 1", "remove section 2",
        "insert section 0", "insert section 5", "remove [3, 0]", "remove [0, 0]", "insert [3, 0]",
        "end",
      ])
    #expect(recorder.counts.first == 5)
    #expect(recorder.counts.dropFirst().allSatisfy { $0 == 6 })
  }

  @Test func aSectionedDelegateMayRunBatchesLaterAndBeginOneInDidChange() throws {
    let consumer = SectionedConsumer<Item, String>(title: \.title)
    let recorder = Recorder()
    recorder.defers = true
    consumer.delegate = recorder
    for (index, title) in ["A", "B"].enumerated() {
      consumer.willChange()
      consumer.add(Item(id: index, title: title), at: index)
      try consumer.didChange()
    }
    #expect(consumer.sectionsCount == 0)
    recorder.atEnd = { [weak consumer, weak recorder] in
      recorder?.atEnd = nil
      recorder?.defers = false
      // Reads still show the first batch; writes continue from the last one.
      #expect(consumer?.numberOfItems == 1)
      consumer?.willChange()
      consumer?.add(Item(id: 2, title: "B"), at: 2)
      #expect(throws: Never.self) { try consumer?.didChange() }
    }
    recorder.blocks[0]()
    #expect(consumer.items.map(\.title) == ["A", "B", "B"])
    recorder.blocks[1]()
    #expect(
      recorder.calls == [
        "begin", "insert section 0", "end", "begin", "insert section 1", "end", "begin",
        "insert [1, 1]", "end",
      ])
  }

  @Test func noConsumerReportsAnUpdateToAnEqualValue() throws {
    let same: (Item, Item) -> Bool = { $0.value == $1.value }
    let recorder = Recorder()
    let plain = PlainConsumer<Item>(isEqual: same)
    let recurrent = RecurrentConsumer<Item>(isEqual: same) { old, new in
      Item(id: new.id, value: max(old.value, new.value))
    }
    for consumer in [plain, recurrent] {
      consumer.reset(with: [Item(id: 0, value: 5), Item(id: 1, value: 5)])
      consumer.delegate = recorder
      consumer.willChange()
      consumer.update(Item(id: 0, value: consumer === plain ? 5 : 3), at: 0)
      consumer.update(Item(id: 1, value: 6), at: 1)
      try consumer.didChange()
      #expect(recorder.calls == ["begin", "update 1", "end"])
      recorder.calls = []
    }
    let sectioned = SectionedConsumer<Item, String>(title: \.title, isEqual: same)
    sectioned.reset(with: items("AA"))
    sectioned.delegate = recorder
    sectioned.willChange()
    sectioned.update(Item(id: 0, title: "A"), at: 0)
    sectioned.update(Item(id: 1, value: 6, title: "A"), at: 1)
    try sectioned.didChange()
    #expect(recorder.calls == ["begin", "update [0, 1]", "end"])
  }

  @Test func aRecurrentConsumerCarriesValuesOverInANotifyingReset() {
    let consumer = RecurrentConsumer<Item>(identity: \.id) { old, new in
      Item(id: new.id, value: old.value, title: new.title)
    }
    consumer.reset(with: [Item(id: 1, value: 7)])
    consumer.reset(with: [Item(id: 2), Item(id: 1, title: "x")], notifying: true)
    #expect(consumer.items == [Item(id: 2), Item(id: 1, value: 7, title: "x")])
  }

  @Test(arguments: RefusedBatch.ofThreeRows + RefusedBatch.ofOneSection)
  func aContradictorySectionedBatchIsRefusedWhole(batch: RefusedBatch) throws {
    let consumer = SectionedConsumer<Item, String>(title: \.title)
    let recorder = Recorder()
    consumer.reset(with: items("AAA"))
    consumer.delegate = recorder
    consumer.willChange()
    consumer.consume(batch.transactions)
    #expect { try consumer.didChange() } throws: { batch.isMet(by: $0) }
    #expect(consumer.items == items("AAA") && consumer.sectionsCount == 1)
    #expect(recorder.calls.isEmpty)
    consumer.willChange()
    consumer.add(Item(id: 9, title: "B"), at: 3)
    try consumer.didChange()
    #expect(recorder.calls == ["begin", "insert section 1", "end"])
  }

  @Test func aResetAcceptsOnlyInsertsIntoAnEmptyList() throws {
    let plain = PlainConsumer<Item>()
    plain.reset(with: items("A"))
    let sectioned = SectionedConsumer<Item, String>(title: \.title)
    sectioned.reset(with: items("A"))
    for wrong in [
      RefusedBatch("index 0 is out of range: 0 rows before", [.delete(index: 0)]),
      RefusedBatch("index 0 is out of range: 0 rows before", [.update(Item(id: 0), index: 0)]),
      RefusedBatch("index 1 is out of range: 1 rows after", [.insert(Item(id: 0), newIndex: 1)]),
      RefusedBatch(
        "two rows come to index 0",
        [.insert(Item(id: 0), newIndex: 0), .insert(Item(id: 1), newIndex: 0)]),
    ] {
      #expect { try plain.reset(applying: wrong.transactions) } throws: { wrong.isMet(by: $0) }
      #expect { try sectioned.reset(applying: wrong.transactions, notifying: true) } throws: {
        wrong.isMet(by: $0)
      }
      #expect(plain.items == items("A") && sectioned.items == items("A"))
    }
    try sectioned.reset(applying: items("AABC").transactionsForCurrentState.reversed())
    #expect(sectioned.items == items("AABC") && sectioned.sectionsCount == 3)
    #expect(sectioned.transactionsForCurrentState == items("AABC").transactionsForCurrentState)
    #expect(sectioned.indexOfItem { $0.title == "B" } == 2)
    #expect(sectioned.object(at: 4) == nil && sectioned.object(at: -1) == nil)
    #expect(sectioned.path(at: 4) == nil && sectioned.numberOfItems(inSection: 3) == 0)
  }

  @Test func writingOutsideABatchTraps() async {
    await #expect(processExitsWith: .failure) { PlainConsumer<Int>().add(1, at: 0) }
    await #expect(processExitsWith: .failure) { PlainConsumer<Int>().consume([]) }
    await #expect(processExitsWith: .failure) {
      let consumer = SectionedConsumer<Int, Int>(title: { $0 })
      consumer.willChange()
      try consumer.didChange()
      consumer.remove(at: 0)
    }
    await #expect(processExitsWith: .failure) { try PlainConsumer<Int>().didChange() }
  }

  @Test func nestingABatchOrResettingInsideOneTraps() async {
    await #expect(processExitsWith: .failure) {
      let consumer = PlainConsumer<Int>()
      consumer.willChange()
      consumer.willChange()
    }
    await #expect(processExitsWith: .failure) {
      let consumer = SectionedConsumer<Int, Int>(title: { $0 })
      consumer.willChange()
      consumer.reset(with: [1])
    }
    await #expect(processExitsWith: .failure) {
      let consumer = PlainConsumer<Item>()
      let hasty = HastyDelegate(consumer)
      consumer.delegate = hasty
      consumer.willChange()
      try consumer.didChange()
    }
  }

  @Test func aBatchBegunWhileAnotherWaitsIsPlannedOnTheStateAfterIt() throws {
    let consumer = PlainConsumer<Item>()
    let recorder = Recorder()
    recorder.defers = true
    consumer.delegate = recorder
    consumer.willChange()
    consumer.consume(items("ab").transactionsForCurrentState)
    try consumer.didChange()
    consumer.willChange()
    consumer.remove(at: 0)
    consumer.add(Item(id: 9), at: 1)
    try consumer.didChange()
    consumer.willChange()
    consumer.update(Item(id: 9, value: 1), at: 1)
    try consumer.didChange()
    #expect(consumer.items.isEmpty)
    recorder.blocks[1]()
    #expect(consumer.items.map(\.id) == [1, 9])
    #expect(consumer.items.map(\.value) == [0, 0])
    consumer.delegate = nil
    consumer.willChange()
    consumer.remove(at: 0)
    try consumer.didChange()
    #expect(consumer.items == [Item(id: 9, value: 1)])
    #expect(consumer.core.table.count == 1)
  }
}

/// Writes before it is allowed.
private final class HastyDelegate: PlainConsumerDelegate {
  let consumer: PlainConsumer<Item>
  var isFirst = true
  init(_ consumer: PlainConsumer<Item>) { self.consumer = consumer }
  func consumerWillChange() {
    guard isFirst else { return }
    isFirst = false
    consumer.willChange()
    try? consumer.didChange()
  }
  func consumerDidUpdate(_ model: Item, at index: Int) {}
  func consumerDidRemove(at index: Int) {}
  func consumerDidInsert(_ model: Item, at index: Int) {}
}
