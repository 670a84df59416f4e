import Synchronization
import TestSupport
import Testing
import TreeRing

@testable import TreeRingCollections

@Suite struct LiveCollectionTests {
  static let modes: [LoadingMode] = [
    .live, .whole, .paged(batchSize: 1), .paged(batchSize: 3), .paged(batchSize: 7),
  ]

  @Test(arguments: seeds(1...60)) func afterThingsSettleTheListEqualsTheSource(
    seed: UInt64
  ) async throws {
    for mode in Self.modes {
      let stage = Stage(seed, mode: mode)
      let direction = seed % 2 == 0 ? LoadDirection.forward : .backward
      for key in 0..<Int.random(in: 0...14, using: &stage.random) { stage.set(key) }
      for _ in 0..<60 {
        switch Int.random(in: 0..<12, using: &stage.random) {
        case 0, 1: stage.set(Int.random(in: 0..<18, using: &stage.random))
        case 2: stage.source.truth.remove("\(Int.random(in: 0..<18, using: &stage.random))")
        case 3: stage.collection.startLoading(direction)
        case 4 where seed % 3 == 0: stage.collection.cancelLoad()
        case 5 where seed % 5 == 0: stage.clock.advance(by: .seconds(6))
        default: stage.step()
        }
      }
      stage.settle()
      for _ in 0..<60 where stage.collection.startLoading(direction) != .atEnd { stage.settle() }
      stage.settle()
      let expected = try await stage.expected()
      // A prepare that timed out leaves its row as it was until it changes again.
      if seed % 5 != 0 {
        #expect(stage.collection.shown == expected, "seed \(seed), \(mode)")
      }
      let mirror = stage.observer.state.withLock(\.self)
      #expect(mirror.list == stage.collection.shown, "seed \(seed), \(mode)")
      #expect(mirror.flaws.isEmpty, "seed \(seed), \(mode)")
      let loads = mirror.events.filter { $0 == "start" || $0 == "end" }
      #expect(loads.enumerated().allSatisfy { $1 == ($0 % 2 == 0 ? "start" : "end") })
      #expect(loads.count % 2 == 0, "a load is stuck, seed \(seed), \(mode)")
      if case .paged = mode {
        #expect(stage.source.listenerCount.withLock(\.self) <= 1)
      }
      stage.collection.stop()
      stage.settle()
    }
  }

  @Test func exactMultiplesEndWithTheLastPage() {
    let stage = Stage(1, mode: .paged(batchSize: 3))
    for key in 0..<6 { stage.set(key, adverse: false) }
    for page in 1...2 {
      #expect(stage.collection.startLoading() == .started)
      #expect(stage.collection.startLoading() == .joined)
      stage.settle()
      #expect(stage.collection.count == 3 * page)
    }
    #expect(stage.collection.startLoading() == .atEnd)
    #expect(stage.collection.loadingState == .loaded(hasMore: false))
    let outcomes = stage.observer.state.withLock(\.outcomes)
    #expect(outcomes.map(\.rows) == [3, 3])
    #expect(outcomes.map(\.hasMore) == [true, false])
  }

  @Test func aDeletedBoundaryIsHarmless() async throws {
    let stage = Stage(2, mode: .paged(batchSize: 3))
    for key in 0..<8 {
      stage.source.truth.set(
        NoteData(number: key * 1000), at: ChildPosition(order: .null, key: "\(key)"))
    }
    stage.collection.startLoading()
    stage.settle()
    stage.source.truth.remove("2")
    stage.source.truth.set(
      NoteData(number: 12_000), at: ChildPosition(order: .null, key: "12"))
    stage.settle()
    #expect(stage.collection.shown.map(\.identifier) == ["0", "1", "12"])
    stage.collection.startLoading()
    stage.settle()
    #expect(stage.collection.shown.map(\.identifier) == ["0", "1", "12", "3", "4", "5"])
  }

  @Test func rowsComeBeforeTheEndOfTheLoadInOneBatch() {
    let stage = Stage(3, mode: .whole)
    for key in 0..<5 { stage.set(key, adverse: false) }
    stage.collection.startLoading()
    stage.settle()
    #expect(
      Array(stage.observer.state.withLock(\.events).prefix(3)) == ["start", "change", "end"])
  }

  @Test func aPrepareThatNeverEndsTimesOut() {
    let stage = Stage(4, mode: .paged(batchSize: 2))
    for key in 0..<2 { stage.set(key, adverse: false) }
    stage.collection.startLoading()
    stage.run()
    _ = stage.source.pages.open(.success(()), using: &stage.random)
    stage.run()
    _ = stage.dataSource.prepares.open(.success(()), using: &stage.random)
    stage.run()
    #expect(stage.collection.loadingState == .loading)
    stage.clock.advance(by: .seconds(11))
    stage.run()
    #expect(stage.collection.loadingState == .loaded(hasMore: false))
    #expect(stage.collection.count == 1)
    stage.settle()
  }

  @Test func aFailedLoadEndsWithItsErrorAndMayBeTriedAgain() {
    let stage = Stage(5, mode: .paged(batchSize: 2))
    for key in 0..<3 { stage.set(key, adverse: false) }
    stage.collection.startLoading()
    stage.run()
    _ = stage.source.pages.open(.failure(ScriptFailure()), using: &stage.random)
    stage.run()
    #expect(stage.collection.loadingState == .failed)
    #expect(stage.observer.state.withLock(\.outcomes).last?.error is ScriptFailure)
    #expect(stage.collection.startLoading() == .started)
    stage.settle()
    #expect(stage.collection.count == 2)
  }

  @Test func aCancelledLoadLeavesNothingBehind() {
    let stage = Stage(6, mode: .paged(batchSize: 2))
    for key in 0..<3 { stage.set(key, adverse: false) }
    stage.collection.startLoading()
    stage.run()
    _ = stage.source.pages.open(.success(()), using: &stage.random)
    stage.run()
    _ = stage.dataSource.prepares.open(.success(()), using: &stage.random)
    stage.run()
    stage.collection.cancelLoad()
    stage.settle()
    #expect(stage.collection.count == 0)
    let error = stage.observer.state.withLock(\.outcomes).last?.error as? TreeRingError
    #expect(error?.code == .cancelled)
    stage.collection.startLoading()
    stage.settle()
    #expect(stage.collection.count == 2)
  }

  @Test func withoutAListenerOnlyPagesCount() {
    let stage = Stage(7, mode: .paged(batchSize: 5), listens: false)
    for key in 0..<3 { stage.set(key, adverse: false) }
    stage.collection.startLoading()
    stage.settle()
    stage.set(9, adverse: false)
    stage.settle()
    #expect(stage.collection.count == 3)
    #expect(stage.source.listenerCount.withLock(\.self) == 0)
  }

  @Test(arguments: seeds(1...30)) func aFilterHasItsOwnIndices(seed: UInt64) {
    let stage = Stage(seed, mode: .live, order: .by { $0.number < $1.number })
    for step in 0..<80 {
      let key = "\(Int.random(in: 0..<20, using: &stage.random))"
      let number = Int.random(in: 0..<10, using: &stage.random)
      switch Int.random(in: 0..<6, using: &stage.random) {
      case 0: stage.collection.remove(key)
      case 1: stage.collection.update(key, with: ["number": .number(Double(number))])
      case 2:
        let rest = step % 3
        if rest == 0 {
          stage.collection.setFilter(nil)
        } else {
          stage.collection.setFilter { $0.number % 3 != rest }
        }
      default: stage.collection.set(Note(identifier: key, text: nil, number: number))
      }
      let mirror = stage.observer.state.withLock(\.self)
      #expect(mirror.list == stage.collection.shown, "seed \(seed)")
      #expect(mirror.flaws.isEmpty, "seed \(seed)")
      let shown = stage.collection.shown
      #expect(stage.collection.count == shown.count)
      for (index, note) in shown.enumerated() {
        #expect(stage.collection.index(of: note.identifier) == index)
        #expect(stage.collection.model(at: index) == note)
      }
      #expect(stage.collection.all.map(\.number) == stage.collection.all.map(\.number).sorted())
    }
  }

  @Test func nullClearsAProperty() {
    let stage = Stage(8, mode: .live)
    stage.collection.set(Note(identifier: "1", text: "old", number: 1))
    stage.collection.update("1", with: ["text": .null])
    #expect(stage.collection.model("1") == Note(identifier: "1", text: nil, number: 1))
    stage.collection.set(Note(identifier: "1", text: "new", number: 1), silently: true)
    #expect(stage.collection.model("1")?.text == "new")
    #expect(stage.observer.state.withLock(\.list) == [Note(identifier: "1", text: nil, number: 1)])
  }

  @Test func equalModelsKeepTheOrderTheyCameIn() {
    let stage = Stage(9, mode: .live, order: .by { _, _ in false })
    for key in ["b", "c", "a"] {
      stage.collection.set(Note(identifier: key, text: nil, number: 1))
    }
    stage.collection.update("c", with: ["number": .number(2)])
    #expect(stage.collection.shown.map(\.identifier) == ["b", "c", "a"])
  }
}
