// The interface as the tests of a user see it, without `@testable`: every value that a delegate or
// an observer receives can be made, and another type can take a consumer's part.

import Testing
import TreeRing
import TreeRingCollections
import TreeRingMappings

/// A consumer that records the transactions it receives.
private final class RecordingConsumer: BatchConsumer {
  typealias Changes = Never
  private(set) var items: [Int] = []
  private(set) var transactions: [ListTransaction<Int>] = []

  func willChange() {}
  func consume(_ transactions: some Sequence<ListTransaction<Int>>) {
    self.transactions += transactions
  }
  func didChange(returnChanges: Bool) throws(TreeRingError) -> Never? { nil }
  func reset(with models: some Sequence<Int>, notifying: Bool) { items = Array(models) }
  var numberOfItems: Int { items.count }
  func object(at index: Int) -> Int? { items.indices.contains(index) ? items[index] : nil }
}

/// A model of a collection.
private struct Note: ValueModel { var identifier: String }

@Suite struct PublicInterfaceTests {
  @Test func anotherTypeMayTakeAConsumersPart() throws {
    let consumer = RecordingConsumer()
    consumer.willChange()
    consumer.add(1, at: 0)
    consumer.update(2, at: 0)
    consumer.remove(at: 1)
    consumer.move(3, from: 2, to: 1)
    try consumer.didChange()
    let expected: [ListTransaction<Int>] = [
      .insert(1, newIndex: 0), .update(2, index: 0), .delete(index: 1),
      .move(3, index: 2, newIndex: 1),
    ]
    #expect(consumer.transactions == expected)
    try consumer.reset(applying: [7, 9].transactionsForCurrentState)
    #expect(consumer.indexOfItem { $0 == 9 } == 1)
    #expect(consumer.transactionsForCurrentState.count == 2)
  }

  @Test func anEmptyLiteralEmptiesEveryConsumer() throws {
    func check(_ consumer: some BatchConsumer<Int>) throws {
      consumer.reset(with: [1, 2])
      consumer.reset(with: [])
      #expect(consumer.numberOfItems == 0)
      consumer.reset(with: [1], notifying: true)
      consumer.reset(with: [], notifying: true)
      #expect(consumer.numberOfItems == 0)
      try consumer.reset(applying: [.insert(1, newIndex: 0)])
      try consumer.reset(applying: [])
      #expect(consumer.numberOfItems == 0)
    }
    try check(RecordingConsumer())
    // Calls of a consumer's own methods are resolved apart from those of the protocol.
    let plain = PlainConsumer<Int>()
    try check(plain)
    plain.reset(with: [])
    try plain.reset(applying: [])
    let sectioned = SectionedConsumer<Int, Bool>(title: { $0 > 1 })
    try check(sectioned)
    sectioned.reset(with: [])
    try sectioned.reset(applying: [])
    #expect(plain.items.isEmpty && sectioned.items.isEmpty)
  }

  @Test func aFilterIsSetAndRemovedByCallsOfTheirOwn() {
    let collection = LiveCollection<Note>(source: MemorySource<String>()) { Note(identifier: $0) }
    collection.set(Note(identifier: "a"))
    collection.setFilter { $0.identifier != "a" }
    #expect(collection.shown.isEmpty && collection.all.count == 1)
    collection.removeFilter()
    #expect(collection.shown.count == 1)
  }

  @Test func theChangesOfAListCanBeMade() {
    let move = IndexMove(from: 2, to: 0)
    let changes = ListChanges(
      oldCount: 3, newCount: 3, deletes: [1], inserts: [2], moves: [move], updates: [move])
    #expect(changes.count == 4 && changes.moves == [move])
    let change = CollectionChange(
      changes: changes, removed: ["b"], added: ["d"], moved: ["c"], updated: ["c"])
    #expect(change.added == ["d"])
    let outcome = LoadOutcome(rows: 3, hasMore: true)
    #expect(outcome.error == nil && outcome.hasMore)
  }

  @Test func theChangesOfSectionsCanBeMadeInAnyOrder() {
    let path = RowPath(section: 0, row: 1)
    let move = PathMove(from: path, to: RowPath(section: 1, row: 0))
    let changes = SectionedChanges(
      sectionDeletes: [4, 2], sectionInserts: [3],
      sectionReloads: [IndexMove(from: 1, to: 1), IndexMove(from: 0, to: 0)],
      rowDeletes: [path, RowPath(section: 0, row: 0)], rowInserts: [path], rowMoves: [move],
      rowUpdates: [move])
    #expect(changes.count == 10)
    #expect(changes.sectionDeletes == [2, 4] && changes.sectionReloads.map(\.from) == [0, 1])
    #expect(changes.rowDeletes == [RowPath(section: 0, row: 0), path])
  }

  @Test func theRowsOfTransactionsCanBeMade() {
    let id = RowID(bucket: "books", key: "dune")
    #expect(TrackedRow(id: id, row: 7).row == 7)
    let row = ChangedRow(row: id, group: "sci-fi", parts: .object)
    #expect(row.parts == .object && !row.movesWithSection)
  }
}
