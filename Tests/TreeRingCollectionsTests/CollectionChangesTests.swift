import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingCollections

private func note(_ key: Int, _ number: Int) -> NoteModel {
  NoteModel(identifier: "\(key)", text: nil, number: number)
}

@Suite struct CollectionChangesTests {
  private func collection() -> LiveCollection<NoteModel> {
    LiveCollection(
      source: MemorySource<NoteData>(), dataSource: ScriptedDataSource(),
      options: CollectionOptions(order: .by { $0.number < $1.number }))
  }

  /// Makes a random edit of one of ten notes; sometimes changes the filter.
  private func edit(_ collection: LiveCollection<NoteModel>, _ random: inout SeededGenerator) {
    let key = Int.random(in: 0..<10, using: &random)
    switch Int.random(in: 0..<10, using: &random) {
    case 0, 1, 2: collection.remove("\(key)")
    case 3: collection.setFilter { $0.number % 3 != 1 }
    case 4: collection.removeFilter()
    default: collection.set(note(key, Int.random(in: 0..<8, using: &random)))
    }
  }

  @Test(arguments: seeds(1...60)) func aSlowReaderGetsOneMinimalChange(seed: UInt64) async {
    var random = SeededGenerator(seed: seed)
    let collection = collection()
    var changes = collection.changes.makeAsyncIterator()
    var mirror = MirrorObserver.State()
    for _ in 0..<25 {
      for _ in 0..<Int.random(in: 1...12, using: &random) { edit(collection, &random) }
      let new = collection.shown
      if new == mirror.list { continue }
      guard let change = await changes.next() else {
        Issue.record("the stream ended")
        return
      }
      mirror.apply(change)
      #expect(mirror.list == new, "seed \(seed)")
      #expect(mirror.flawsOfMerged.isEmpty)
    }
    #expect(mirror.list == collection.shown, "seed \(seed)")
  }

  @Test func tasksThatShareAStreamShareItsChangesAndAllEnd() async {
    let collection = collection()
    let changes = collection.changes
    let seen = Counter()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<3 {
        group.addTask {
          for await change in changes {
            for _ in change.added { _ = seen.next() }
          }
        }
      }
      for key in 0..<50 {
        collection.set(note(key, key))
        await Task.yield()
      }
      while seen.count < 50 { await Task.yield() }
      group.cancelAll()
    }
    #expect(seen.count == 50)
  }

  @Test(arguments: seeds(1...200)) func mergedChangesLeadFromTheFirstStateToTheLast(
    seed: UInt64
  ) {
    var random = SeededGenerator(seed: seed)
    var models = SortedModels<NoteModel>(order: .by { $0.number < $1.number })
    for key in 0..<6 { _ = models.apply([.set(note(key, key), position: nil)]) }
    let first = models.shown
    var waiting = WaitingChange<NoteModel>()
    var pairwise: AffectedModels<NoteModel>?
    for _ in 0..<Int.random(in: 1...20, using: &random) {
      let edits = (0..<Int.random(in: 1...3, using: &random)).map { _ -> ModelEdit<NoteModel> in
        let key = Int.random(in: 0..<9, using: &random)
        return Bool.random(using: &random)
          ? .remove(identifier: "\(key)")
          : .set(note(key, Int.random(in: 0..<9, using: &random)), position: nil)
      }
      let change = AffectedModels(models.apply(edits))
      waiting.append(change)
      pairwise = pairwise?.followed(by: change) ?? change
    }
    let last = models.shown
    guard let merged = waiting.take() else {
      Issue.record("nothing waits")
      return
    }
    #expect(waiting.isEmpty)
    for result in [merged, pairwise].compactMap(\.self) {
      let change = result.change(models.shownModel(at:))
      var mirror = MirrorObserver.State(list: first)
      mirror.apply(change)
      #expect(mirror.list == last, "seed \(seed)")
      let old = Dictionary(uniqueKeysWithValues: first.enumerated().map { ($1.identifier, $0) })
      let common = last.compactMap { old[$0.identifier] }
      #expect(change.changes.deletes.count == first.count - common.count, "seed \(seed)")
      #expect(change.changes.inserts.count == last.count - common.count, "seed \(seed)")
      #expect(change.changes.moves.count == common.count - longestIncreasing(common))
      #expect(
        change.removed.map(\.identifier) == change.changes.deletes.map { first[$0].identifier })
    }
  }

  @Test func manyWaitingChangesTakeTheSpaceOfOne() {
    var models = SortedModels<NoteModel>(order: .identifier)
    var waiting = WaitingChange<NoteModel>()
    for round in 0..<2000 {
      let edit = ModelEdit.set(note(round % 5, round), position: nil)
      waiting.append(AffectedModels(models.apply([edit])))
      #expect(waiting.rowCount <= 20)
    }
    #expect(waiting.take()?.count == 5)
  }

  @Test func theStreamBeginsWithTheModelsShown() async {
    let collection = collection()
    for key in 0..<3 { collection.set(note(key, key)) }
    var changes = collection.changes.makeAsyncIterator()
    let first = await changes.next()
    #expect(first?.added == collection.shown)
    #expect(first?.changes.oldCount == 0)
    collection.remove("1")
    #expect(await changes.next()?.removed == [note(1, 1)])
  }

  @Test func aSilentEditJoinsAWaitingChangeAndCausesNone() async {
    let collection = collection()
    var changes = collection.changes.makeAsyncIterator()
    collection.set(note(2, 2))
    collection.set(note(1, 1), silently: true)
    #expect(await changes.next()?.added == [note(1, 1), note(2, 2)])
    collection.remove("1", silently: true)
    collection.set(note(3, 3))
    let change = await changes.next()
    #expect(change?.added == [note(3, 3)])
    #expect(change?.changes.oldCount == 1)
  }

  @Test func theStreamEndsWithTheCollectionOrTheTask() async {
    var collection: LiveCollection? = collection()
    let reader = Task { [changes = collection?.changes] in
      guard let changes else { return }
      for await _ in changes {}
    }
    let cancelled = Task { [changes = collection?.changes] in
      guard let changes else { return }
      for await _ in changes {}
    }
    cancelled.cancel()
    await cancelled.value
    collection = nil
    await reader.value
  }
}
