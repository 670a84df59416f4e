// A collection used by many threads at once: children are inserted and removed, loads begin and are
// cancelled; the collection is stopped, edited manually, filtered and read. Also runs under the
// thread sanitizer.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingCollections

/// Prepares a note after yielding to other tasks.
private struct YieldingDataSource: CollectionDataSource {
  func prepare(_ data: NoteData) async throws -> NoteModel? {
    for _ in 0..<(data.number % 3) { await Task.yield() }
    return data.note
  }
}

/// Observes some changes amid others, so it cannot keep a list.
private final class PassingObserver: CollectionObserver {
  private let changeCount = Mutex(0)
  func collection(did change: CollectionChange<NoteModel>) { changeCount.withLock { $0 += 1 } }
}

@Suite struct CollectionConcurrencyTests {
  private static let modes: [LoadingMode] = [.live, .whole, .paged(batchSize: 3)]

  private let source = MemorySource<NoteData>()
  private let observer = MirrorObserver()

  private func collection(_ mode: LoadingMode) -> LiveCollection<NoteModel> {
    let collection = LiveCollection(
      source: source, dataSource: YieldingDataSource(),
      options: CollectionOptions(order: .source, mode: mode, prepareTimeout: nil))
    collection.add(observer)
    return collection
  }

  /// Sets and removes the thread's own children.
  private func write(_ thread: Int, _ random: inout SeededGenerator) {
    for _ in 0..<150 {
      let key = thread * 20 + Int.random(in: 0..<20, using: &random)
      if Int.random(in: 0..<4, using: &random) == 0 {
        source.remove("\(key)")
      } else {
        let number = key * 1000 + Int.random(in: 0..<1000, using: &random)
        let place = OrderValue.number(Double(Int.random(in: 0..<30, using: &random)))
        source.set(NoteData(number: number), at: ChildPosition(order: place, key: "\(key)"))
      }
    }
  }

  private func load(_ collection: LiveCollection<NoteModel>, _ random: inout SeededGenerator) {
    for _ in 0..<60 {
      switch Int.random(in: 0..<8, using: &random) {
      case 0: collection.cancelLoad()
      case 1: collection.stop()
      default: collection.startLoading(Bool.random(using: &random) ? .forward : .backward)
      }
      _ = collection.loadingState
    }
  }

  /// Edits notes that no source has; their order puts them behind those of the source.
  private func edit(_ collection: LiveCollection<NoteModel>, _ random: inout SeededGenerator) {
    for step in 0..<80 {
      let identifier = "hand \(Int.random(in: 0..<6, using: &random))"
      switch Int.random(in: 0..<6, using: &random) {
      case 0: collection.remove(identifier)
      case 1: collection.update(identifier, with: ["number": .number(Double(step))])
      case 2: collection.setFilter { $0.number % 3 != step % 3 }
      case 3: collection.removeFilter()
      default: collection.set(NoteModel(identifier: identifier, text: nil, number: step))
      }
    }
    collection.removeFilter()
  }

  private func read(_ collection: LiveCollection<NoteModel>) {
    for index in 0..<80 {
      _ = (collection.count, collection.model(at: index % 9), collection.model("hand 1"))
      _ = (collection.shown, collection.all, collection.index(of: "\(index)"))
      let passing = PassingObserver()
      collection.add(passing)
      if index % 2 == 0 { collection.remove(passing) }
    }
  }

  /// Reads changes until the resulting list satisfies `isLast`.
  private func mirror(
    _ changes: AsyncStream<CollectionChange<NoteModel>>, until isLast: ([NoteModel]) -> Bool
  ) async -> MirrorObserver.State {
    var mirror = MirrorObserver.State()
    for await change in changes {
      mirror.apply(change)
      if isLast(mirror.list) { break }
    }
    return mirror
  }

  @Test(arguments: modes, seeds(1...4)) func afterConcurrentCallsTheListEqualsTheSource(
    mode: LoadingMode, seed: UInt64
  ) async throws {
    let collection = collection(mode)
    // One reader stays to the end; one leaves before it.
    let last = NoteModel(identifier: "hand last", text: nil, number: -1)
    let reader = Task { [changes = collection.changes] in
      await mirror(changes) { $0.contains(last) }
    }
    let leaver = Task { [changes = collection.changes] in await mirror(changes) { _ in false } }
    try await onThread {
      onThreads(6) { thread in
        var random = SeededGenerator(seed: seed * 100 + UInt64(thread))
        switch thread {
        case 0, 1: write(thread, &random)
        case 2: load(collection, &random)
        case 3: edit(collection, &random)
        case 4: read(collection)
        default: leaver.cancel()
        }
      }
    }
    #expect(await leaver.value.flawsOfMerged.isEmpty)
    // The collection has processed everything posted before, including a stop, when the reader sees
    // this note.
    collection.set(last)
    #expect(await reader.value.flawsOfMerged.isEmpty)
    for direction in [LoadDirection.forward, .backward] {
      while collection.startLoading(direction) != .atEnd { await collection.load(direction) }
    }
    collection.remove(last.identifier)
    let byHand = collection.all.filter { $0.identifier.hasPrefix("hand") && $0 != last }
    let children = try await source.page(
      PageRequest(direction: .forward, cursor: nil, limit: nil)
    ).children
    let expected = children.map(\.data.note) + byHand
    let newest = await mirror(collection.changes) { $0 == expected }
    #expect(newest.list == expected && newest.flawsOfMerged.isEmpty, "seed \(seed), \(mode)")
    #expect(collection.shown == expected, "seed \(seed), \(mode)")
    collection.stop()
    // Observers may get the last change a little later than a reader.
    let observed = observer.state.withLock(\.self)
    #expect(observed.flaws.isEmpty, "seed \(seed), \(mode)")
    let loads = observed.events.filter { $0 == "start" || $0 == "end" }
    #expect(loads.enumerated().allSatisfy { $1 == ($0 % 2 == 0 ? "start" : "end") })
    #expect(loads.count % 2 == 0, "a load is stuck, seed \(seed), \(mode)")
  }
}
