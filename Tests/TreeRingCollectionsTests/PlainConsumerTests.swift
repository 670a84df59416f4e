import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingCollections

/// Records its calls and replays them on its own copy.
final class PlainRecorder: PlainConsumerDelegate {
  weak var consumer: PlainConsumer<Item>?
  var calls: [String] = []
  var updates: [(Item, Int)] = []
  var removals: [Int] = []
  var insertions: [(Item, Int)] = []
  var old: [Item] = []
  var defers = false
  var blocks: [() -> Void] = []
  var atEnd: (() -> Void)?

  func clear() {
    calls = []
    updates = []
    removals = []
    insertions = []
  }
  func consumerWillChange() {
    calls.append("begin")
    old = consumer?.items ?? []
  }
  func consumerDidUpdate(_ model: Item, at index: Int) {
    calls.append("update \(index)")
    updates.append((model, index))
  }
  func consumerDidRemove(at index: Int) {
    calls.append("remove \(index)")
    removals.append(index)
  }
  func consumerDidInsert(_ model: Item, at index: Int) {
    calls.append("insert \(index)")
    insertions.append((model, index))
    #expect(consumer?.object(at: index) == model)
  }
  func consumerDidChange() {
    calls.append("end")
    atEnd?()
  }
  func consumer(perform batch: @escaping () -> Void) {
    if defers { blocks.append(batch) } else { batch() }
  }

  /// The result of the calls, applied to the old list in their order.
  var replayed: [Item] {
    var list = old
    for (model, index) in updates { list[index] = model }
    for index in removals { list.remove(at: index) }
    for (model, index) in insertions { list.insert(model, at: index) }
    return list
  }
}

@Suite struct PlainConsumerTests {
  @Test(arguments: seeds(1...300)) func randomBatchesAgreeWithTheNaiveList(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var nextID = 0
    let checksEquality = seed % 3 == 0
    let consumer = PlainConsumer<Item>(isEqual: checksEquality ? { $0 == $1 } : nil)
    let recorder = PlainRecorder()
    recorder.consumer = consumer
    consumer.delegate = recorder
    var old: [Item] = []
    for _ in 0..<12 {
      let batch = RandomBatch(on: old, nextID: &nextID, using: &random)
      recorder.clear()
      consumer.willChange()
      consumer.consume(batch.transactions)
      let changes = try #require(try consumer.didChange(returnChanges: true))
      #expect(consumer.items == batch.result, "seed \(seed)")
      #expect(recorder.replayed == batch.result, "seed \(seed)")
      #expect(recorder.old == old)
      #expect(consumer.core.table.count == consumer.numberOfItems, "a value is kept, seed \(seed)")
      #expect(recorder.updates.map(\.1) == recorder.updates.map(\.1).sorted())
      #expect(recorder.removals == recorder.removals.sorted(by: >))
      #expect(recorder.insertions.map(\.1) == recorder.insertions.map(\.1).sorted())
      try checkMinimal(changes, batch, old, checksEquality: checksEquality, seed)
      old = batch.result
    }
  }

  @Test(arguments: seeds(1...100)) func randomBatchesAgreeWithTheNaiveListThatCarriesOver(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    var nextID = 0
    // The title belongs to the view and survives every received value.
    let consumer = RecurrentConsumer<Item>(isEqual: { $0 == $1 }) { old, new in
      Item(id: new.id, value: new.value, title: old.title)
    }
    let recorder = PlainRecorder()
    recorder.consumer = consumer
    consumer.delegate = recorder
    var old: [Item] = []
    for _ in 0..<12 {
      var batch = RandomBatch(on: old, nextID: &nextID, titles: ["a", "b"], using: &random)
      let titles = Dictionary(uniqueKeysWithValues: old.map { ($0.id, $0.title) })
      for index in batch.result.indices {
        batch.result[index].title = titles[batch.result[index].id] ?? batch.result[index].title
      }
      recorder.clear()
      consumer.willChange()
      consumer.consume(batch.transactions)
      let changes = try #require(try consumer.didChange(returnChanges: true))
      #expect(consumer.items == batch.result, "seed \(seed)")
      #expect(recorder.replayed == batch.result, "seed \(seed)")
      #expect(consumer.core.table.count == consumer.numberOfItems, "a value is kept, seed \(seed)")
      try checkMinimal(changes, batch, old, checksEquality: true, seed)
      old = batch.result
    }
  }

  private func checkMinimal(
    _ changes: ListChanges, _ batch: RandomBatch, _ old: [Item], checksEquality: Bool,
    _ seed: UInt64
  ) throws {
    let new = batch.result
    let oldIndex = Dictionary(uniqueKeysWithValues: old.enumerated().map { ($1.id, $0) })
    let common = new.compactMap { oldIndex[$0.id] }
    #expect(changes.deletes.count == old.count - common.count)
    #expect(changes.inserts.count == new.count - common.count)
    #expect(changes.moves.count == common.count - longestIncreasing(common), "seed \(seed)")
    for move in changes.moves { #expect(old[move.from].id == new[move.to].id) }
    let updated = new.enumerated().filter { _, item in
      guard let index = oldIndex[item.id], batch.valued.contains(item.id) || old[index] != item
      else { return false }
      return !checksEquality || old[index] != item
    }
    let reported = Set(changes.updates.map(\.to))
    #expect(reported.isSuperset(of: updated.map(\.offset)), "seed \(seed)")
    for update in changes.updates {
      #expect(old[update.from].id == new[update.to].id)
      if checksEquality { #expect(old[update.from] != new[update.to]) }
    }
    var view = BatchViewModel<Item>()
    view.reload([old])
    var structure = ModelBatch()
    structure.deletedRows = changes.deletes.map { ModelPath(0, $0) }
    structure.insertedRows = changes.inserts.map { ModelPath(0, $0) }
    structure.movedRows = changes.moves.map { (ModelPath(0, $0.from), ModelPath(0, $0.to)) }
    var between = new
    for update in changes.updates { between[update.to] = old[update.from] }
    try view.perform(structure, source: [between])
  }

  @Test func transactionsForCurrentStateReproduceTheList() throws {
    let items = (0..<5).map { Item(id: $0) }
    let consumer = PlainConsumer<Item>()
    consumer.willChange()
    consumer.consume(items.transactionsForCurrentState)
    try consumer.didChange()
    #expect(consumer.items == items)
    let other = PlainConsumer<Item>()
    try other.reset(applying: consumer.transactionsForCurrentState)
    #expect(other.items == items)
    #expect(other.indexOfItem { $0.id == 3 } == 3)
    #expect(other.object(at: 5) == nil && other.object(at: -1) == nil)
  }

  @Test(arguments: RefusedBatch.ofThreeRows) func aContradictoryBatchIsRefusedWhole(
    batch: RefusedBatch
  ) {
    let items = (0..<3).map { Item(id: $0, title: "A") }
    let consumer = PlainConsumer<Item>()
    let recorder = PlainRecorder()
    recorder.consumer = consumer
    consumer.reset(with: items)
    consumer.delegate = recorder
    consumer.willChange()
    consumer.consume(batch.transactions)
    #expect { try consumer.didChange() } throws: { batch.isMet(by: $0) }
    #expect(consumer.items == items)
    #expect(recorder.calls.isEmpty)
    consumer.willChange()
    consumer.add(Item(id: 7), at: 3)
    #expect(throws: Never.self) { try consumer.didChange() }
    #expect(consumer.numberOfItems == 4)
    #expect(consumer.core.table.count == 4)
  }

  @Test func anEqualIndexDoesNotMakeARowStay() throws {
    let consumer = PlainConsumer<Item>()
    consumer.reset(with: (0..<3).map { Item(id: $0) })
    consumer.willChange()
    consumer.remove(at: 0)
    consumer.move(Item(id: 1), from: 1, to: 1)
    let changes = try #require(try consumer.didChange(returnChanges: true))
    #expect(consumer.items.map(\.id) == [2, 1])
    #expect(changes.moves.count == 1)
  }

  @Test func aBatchMayBeginInTheDidChangeOfAnother() throws {
    let consumer = PlainConsumer<Item>()
    let recorder = PlainRecorder()
    recorder.consumer = consumer
    consumer.delegate = recorder
    recorder.atEnd = { [weak consumer, weak recorder] in
      recorder?.atEnd = nil
      consumer?.willChange()
      consumer?.add(Item(id: 2), at: 1)
      #expect(throws: Never.self) { try consumer?.didChange() }
    }
    consumer.willChange()
    consumer.add(Item(id: 1), at: 0)
    try consumer.didChange()
    #expect(consumer.items.map(\.id) == [1, 2])
    #expect(recorder.calls == ["begin", "insert 0", "end", "begin", "insert 1", "end"])
  }

  @Test func aDelegateMayRunBatchesLater() throws {
    let consumer = PlainConsumer<Item>()
    let recorder = PlainRecorder()
    recorder.consumer = consumer
    recorder.defers = true
    consumer.delegate = recorder
    for id in 0..<3 {
      consumer.willChange()
      consumer.add(Item(id: id), at: id)
      try consumer.didChange()
    }
    #expect(consumer.numberOfItems == 0)
    recorder.blocks[1]()
    #expect(consumer.items.map(\.id) == [0, 1])
    recorder.blocks[0]()
    recorder.blocks[2]()
    #expect(consumer.items.map(\.id) == [0, 1, 2])
    #expect(consumer.core.table.count == 3)
    #expect(
      recorder.calls == [
        "begin", "insert 0", "end", "begin", "insert 1", "end", "begin", "insert 2", "end",
      ])
  }

  @Test(arguments: seeds(1...100)) func aNotifyingResetIsOneMinimalBatch(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var nextID = 0
    let consumer = PlainConsumer<Item>(isEqual: { $0 == $1 }, identity: { $0.id })
    let recorder = PlainRecorder()
    recorder.consumer = consumer
    let old = RandomBatch(on: [], nextID: &nextID, using: &random).result
    let middle = RandomBatch(on: old, nextID: &nextID, using: &random).result
    let new = RandomBatch(on: middle, nextID: &nextID, using: &random).result
    consumer.reset(with: old)
    consumer.delegate = recorder
    consumer.reset(with: new, notifying: true)
    #expect(recorder.replayed == new, "seed \(seed)")
    #expect(consumer.items == new)
    recorder.clear()
    consumer.reset(with: old)
    #expect(recorder.calls.isEmpty)
    #expect(consumer.items == old)
    #expect(consumer.core.table.count == old.count)
  }

  @Test func carriedOverValuesSurviveUpdatesAndMoves() throws {
    let consumer = RecurrentConsumer<Item>(isEqual: { $0 == $1 }) { old, new in
      Item(id: new.id, value: old.value, title: new.title)
    }
    consumer.reset(with: [Item(id: 1, value: 123), Item(id: 2, value: 456)])
    consumer.willChange()
    consumer.update(Item(id: 1, value: 9), at: 0)
    consumer.move(Item(id: 2, value: 9, title: "x"), from: 1, to: 0)
    let changes = try #require(try consumer.didChange(returnChanges: true))
    #expect(consumer.items == [Item(id: 2, value: 456, title: "x"), Item(id: 1, value: 123)])
    // The update changes nothing once the number has been carried over.
    #expect(changes.updates == [IndexMove(from: 1, to: 0)])
  }
}
