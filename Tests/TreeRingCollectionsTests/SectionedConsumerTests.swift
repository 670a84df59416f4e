import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingCollections
@testable import TreeRingMappings

/// Checks every call against the promised order.
private final class SectionedRecorder: SectionedConsumerDelegate {
  var calls: [(kind: Int, section: Int, row: Int)] = []
  func consumerDidUpdate(_ model: Item, at path: RowPath) {
    calls.append((0, path.section, path.row))
  }
  func consumerDidReload(section: Int) { calls.append((1, section, 0)) }
  func consumerDidRemove(section: Int) { calls.append((2, -section, 0)) }
  func consumerDidInsert(section: Int) { calls.append((3, section, 0)) }
  func consumerDidRemove(at path: RowPath) { calls.append((4, -path.section, -path.row)) }
  func consumerDidInsert(_ model: Item, at path: RowPath) {
    calls.append((5, path.section, path.row))
  }
}

@Suite struct SectionedConsumerTests {
  @Test(arguments: seeds(1...400)) func randomBatchesAreValidAndShowTheRuns(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var nextID = 0
    let titles = Array(
      ["A", "B", "C", "D", "E", "F"].prefix(Int.random(in: 1...6, using: &random)))
    let isSorted = seed % 2 == 0
    let consumer = SectionedConsumer<Item, String>(title: \.title)
    let recorder = SectionedRecorder()
    consumer.delegate = recorder
    var old: [Item] = []
    for _ in 0..<15 {
      let batch = RandomBatch(
        on: old, nextID: &nextID, titles: titles, isSorted: isSorted, using: &random)
      recorder.calls = []
      consumer.willChange()
      consumer.consume(batch.transactions)
      let changes: SectionedChanges
      do {
        changes = try #require(try consumer.didChange(returnChanges: true))
      } catch let error as TreeRingError {
        #expect(error.code == .invalidInput && !isSorted, "seed \(seed): \(error)")
        #expect(consumer.items == old)
        #expect(consumer.core.table.count == old.count)
        continue
      }
      let sections = runs(batch.result)
      #expect(consumer.core.table.count == batch.result.count, "a value is kept, seed \(seed)")
      checkReads(consumer, sections, seed)
      try checkValid(changes, runs(old), sections, seed)
      checkMinimal(changes, runs(old), sections, seed)
      let order = recorder.calls
      #expect(order.elementsEqual(order.sorted(by: <), by: ==), "seed \(seed)")
      old = batch.result
    }
  }

  private func checkReads(
    _ consumer: SectionedConsumer<Item, String>, _ sections: [[Item]], _ seed: UInt64
  ) {
    #expect(consumer.items == sections.flatMap(\.self), "seed \(seed)")
    #expect(consumer.sectionsCount == sections.count, "seed \(seed)")
    var linear = 0
    for (section, rows) in sections.enumerated() {
      #expect(consumer.numberOfItems(inSection: section) == rows.count, "seed \(seed)")
      #expect(consumer.title(ofSection: section) == rows[0].title)
      for (row, item) in rows.enumerated() {
        let path = RowPath(section: section, row: row)
        #expect(consumer.object(at: path) == item)
        #expect(consumer.linearIndex(at: path) == linear)
        #expect(consumer.path(at: linear) == path)
        linear += 1
      }
      #expect(consumer.object(at: RowPath(section: section, row: rows.count)) == nil)
    }
    #expect(consumer.title(ofSection: sections.count) == nil)
  }

  /// Checks that the batch passes the checks of a view and gives the new sections, with reloads and
  /// updates as the operations they are.
  private func checkValid(
    _ changes: SectionedChanges, _ old: [[Item]], _ new: [[Item]], _ seed: UInt64
  ) throws {
    var batch = ModelBatch()
    batch.deletedSections = changes.sectionDeletes + changes.sectionReloads.map(\.from)
    batch.insertedSections = changes.sectionInserts + changes.sectionReloads.map(\.to)
    batch.deletedRows = changes.rowDeletes.map { ModelPath($0.section, $0.row) }
    batch.insertedRows = changes.rowInserts.map { ModelPath($0.section, $0.row) }
    batch.movedRows = changes.rowMoves.map {
      (ModelPath($0.from.section, $0.from.row), ModelPath($0.to.section, $0.to.row))
    }
    // Titles belong to the sections; values arrive with the updates.
    var view = BatchViewModel<Int>()
    view.reload(old.map { $0.map(\.id) })
    do {
      try view.perform(batch, source: new.map { $0.map(\.id) })
    } catch {
      Issue.record("seed \(seed): \(error)\n\(changes)\n\(old)\n\(new)")
    }
    let updated = Set(changes.rowUpdates.map(\.to))
    let survivors = Self.survivors(changes, old.count, new.count)
    let before = Dictionary(uniqueKeysWithValues: old.flatMap(\.self).map { ($0.id, $0) })
    for (f, t) in survivors {
      #expect(old[f][0].title == new[t][0].title, "seed \(seed)")
      for (row, item) in new[t].enumerated() where !updated.contains(RowPath(section: t, row: row))
      {
        let inserted = changes.rowInserts.contains(RowPath(section: t, row: row))
        #expect(inserted || before[item.id] == item, "seed \(seed)")
      }
    }
  }

  /// The pairs of sections that continue under their title.
  private static func survivors(
    _ changes: SectionedChanges, _ oldCount: Int, _ newCount: Int
  ) -> [(Int, Int)] {
    let gone = Set(changes.sectionDeletes + changes.sectionReloads.map(\.from))
    let come = Set(changes.sectionInserts + changes.sectionReloads.map(\.to))
    return Array(
      zip(
        (0..<oldCount).filter { !gone.contains($0) }, (0..<newCount).filter { !come.contains($0) }))
  }

  /// Checks that no batch with the same continuing sections has fewer row operations.
  private func checkMinimal(
    _ changes: SectionedChanges, _ old: [[Item]], _ new: [[Item]], _ seed: UInt64
  ) {
    let survivors = Self.survivors(changes, old.count, new.count)
    let oldLive = Dictionary(uniqueKeysWithValues: survivors)
    let newLive = Set(survivors.map(\.1))
    func home(_ sections: [[Item]]) -> [Int: RowPath] {
      var home: [Int: RowPath] = [:]
      for (section, rows) in sections.enumerated() {
        for (row, item) in rows.enumerated() {
          home[item.id] = RowPath(section: section, row: row)
        }
      }
      return home
    }
    let (from, to) = (home(old), home(new))
    var expected = 0
    for id in Set(from.keys).union(to.keys) {
      let f = from[id].flatMap { oldLive[$0.section] }
      let t = to[id].flatMap { newLive.contains($0.section) ? $0.section : nil }
      if f != t { expected += 1 }
    }
    for (f, t) in survivors {
      let common = new[t].compactMap { item in
        from[item.id].flatMap { $0.section == f ? $0.row : nil }
      }
      expected += common.count - longestIncreasing(common)
    }
    #expect(
      changes.rowDeletes.count + changes.rowInserts.count + changes.rowMoves.count == expected,
      "seed \(seed)")
  }

  private func changes(_ old: String, _ body: (SectionedConsumer<Item, String>) -> Void) throws
    -> SectionedChanges
  {
    let consumer = SectionedConsumer<Item, String>(title: \.title)
    consumer.reset(
      with: old.enumerated().map { Item(id: $0, title: String($1)) })
    consumer.willChange()
    body(consumer)
    return try #require(try consumer.didChange(returnChanges: true))
  }

  @Test func aNewTitleInTheMiddleSplitsASection() throws {
    let changes = try changes("AAAA") { $0.update(Item(id: 1, title: "B"), at: 1) }
    #expect(changes.sectionInserts == [0, 1])
    #expect(changes.rowDeletes == [RowPath(section: 0, row: 0), RowPath(section: 0, row: 1)])
    #expect(changes.count == 4)
  }

  @Test func sectionsMerge() throws {
    let changes = try changes("ABAA") { $0.update(Item(id: 1, title: "A"), at: 1) }
    #expect(changes.sectionDeletes == [0, 1])
    #expect(changes.rowInserts == [RowPath(section: 0, row: 0), RowPath(section: 0, row: 1)])
    #expect(changes.count == 4)
  }

  @Test func aSectionChangesItsTitle() throws {
    let changes = try changes("AABB") {
      $0.update(Item(id: 0, title: "X"), at: 0)
      $0.update(Item(id: 1, title: "X"), at: 1)
    }
    #expect(changes.sectionReloads == [IndexMove(from: 0, to: 0)])
    #expect(changes.count == 1)
  }

  @Test func anInsertAtTheHeadOfASectionIsReportedThere() throws {
    let changes = try changes("AABB") { $0.add(Item(id: 9, title: "B"), at: 2) }
    #expect(changes.rowInserts == [RowPath(section: 1, row: 0)])
    #expect(changes.count == 1)
  }

  @Test func anInsertOfAnotherTitleInsideASectionIsRefused() throws {
    let consumer = SectionedConsumer<Item, String>(title: \.title)
    consumer.reset(with: [Item(id: 1, title: "A"), Item(id: 2, title: "A")])
    consumer.willChange()
    consumer.add(Item(id: 3, title: "B"), at: 1)
    #expect { try consumer.didChange() } throws: {
      isRefusal($0, "has another title than the section around it")
    }
    #expect(consumer.numberOfItems == 2 && consumer.sectionsCount == 1)
  }

  @Test(arguments: seeds(1...100)) func aNotifyingResetIsOneMinimalBatch(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var nextID = 0
    let titles = ["A", "B", "C"]
    let old = RandomBatch(on: [], nextID: &nextID, titles: titles, using: &random).result
    let next = RandomBatch(on: old, nextID: &nextID, titles: titles, using: &random).result
    let view = ModelView()
    let adapter = ConsumerAdapter<Item>(view: view)
    let consumer = SectionedConsumer<Item, String>(title: \.title, identity: { $0.id })
    consumer.delegate = adapter
    consumer.reset(with: old, notifying: true)
    #expect(throws: Never.self) { try view.commit(runs(old).map { $0.map(\.id) }) }
    consumer.reset(with: next, notifying: true)
    #expect(throws: Never.self) { try view.commit(runs(next).map { $0.map(\.id) }) }
  }
}

/// A view that collects a batch and performs it on the model of a view.
private final class ModelView: ConsumerView {
  var view = BatchViewModel<Int>()
  var batch = ModelBatch()
  func view(refresh model: Item, at path: RowPath, by refresh: RowRefresh) {}
  func view(reloadSection section: Int) { reloaded.append(section) }
  func view(removeSection section: Int) { batch.deletedSections.append(section) }
  func view(insertSection section: Int) { batch.insertedSections.append(section) }
  func view(removeRowAt path: RowPath) {
    batch.deletedRows.append(ModelPath(path.section, path.row))
  }
  func view(insertRowAt path: RowPath) {
    batch.insertedRows.append(ModelPath(path.section, path.row))
  }
  var reloaded: [Int] = []

  /// Performs the collected batch. A reloaded section is deleted, and inserted at its position
  /// after the other deletes and inserts.
  func commit(_ source: [[Int]]) throws {
    let gone = Set(batch.deletedSections)
    let come = Set(batch.insertedSections)
    let pairs = zip(
      view.sections.indices.filter { !gone.contains($0) },
      source.indices.filter { !come.contains($0) })
    for (old, new) in pairs where reloaded.contains(old) {
      batch.deletedSections.append(old)
      batch.insertedSections.append(new)
    }
    try view.perform(batch, source: source)
    batch = ModelBatch()
    reloaded = []
  }
}
