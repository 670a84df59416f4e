import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingCollections

@Suite struct LiveCollectionTests {
  @Test(arguments: seeds(1...60)) func onceAllWorkIsSettledTheListEqualsTheSource(
    seed: UInt64
  ) async throws {
    let adversities = Stage.Adversities(seed: seed)
    for mode in Stage.modes {
      let stage = Stage(seed, mode: mode)
      for key in 0..<Int.random(in: 0...14, using: &stage.random) { stage.set(key) }
      stage.play(editing: 0..<18, adversities)
      stage.settleAtTheEnd()
      // After a prepare that timed out, the row stays unchanged until the next event for the child.
      let failed = stage.failedKeys
      #expect(adversities.contains(.timeouts) || failed.isEmpty)
      let expected = try await stage.expected().filter { !failed.contains($0.identifier) }
      let shown = stage.collection.shown.filter { !failed.contains($0.identifier) }
      #expect(shown == expected, "\(stage)")
      stage.check()
      if case .paged = mode, adversities.isDisjoint(with: [.stops, .ends]) {
        #expect(stage.source.listenerCount.withLock(\.self) <= 1)
      }
      stage.end()
    }
  }

  @Test func thePagesRowsComeInOneBatchBeforeTheLoadEnds() {
    let stage = Stage(3, mode: .whole)
    for key in 0..<5 { stage.set(key, adverse: false) }
    stage.collection.startLoading()
    stage.settle()
    #expect(
      Array(stage.observer.state.withLock(\.events).prefix(3)) == ["start", "change", "end"])
  }

  @Test func aPrepareThatNeverEndsTimesOut() async throws {
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
    #expect(stage.outcome?.rows == 1 && stage.outcome?.error == nil)
    // The child without a row is reported, with advice.
    let failures = stage.observer.state.withLock(\.failures)
    let missing = ["0", "1"].filter { !stage.shownKeys.contains($0) }
    #expect(failures.map(\.key) == missing && missing.count == 1)
    let error = try #require(failures.first?.error as? TreeRingError)
    #expect(error.code == .cancelled)
    #expect(error.message.contains("prepareTimeout"))
    // The listener's first state does not retry the child; any event for the child does.
    stage.settle()
    #expect(stage.collection.count == 1)
    #expect(stage.observer.state.withLock(\.failures).count == 1)
    let page = try await stage.source.truth.page(
      PageRequest(direction: .forward, cursor: nil, limit: nil))
    for child in page.children { stage.source.truth.set(child.data, at: child.position) }
    stage.settle()
    #expect(stage.collection.count == 2)
    stage.check()
    stage.end()
  }

  @Test(arguments: [LoadingMode.whole, .paged(batchSize: 3)])
  func failedChildrenAreRetriedWhenALoadListensAgain(mode: LoadingMode) async throws {
    let stage = Stage(11, mode: mode)
    for key in 0..<5 { stage.set(key, adverse: false) }
    stage.collection.startLoading()
    stage.letPreparesTimeOut()
    #expect(stage.collection.count == 0 && stage.failedKeys.count == (mode == .whole ? 5 : 3))
    stage.settleAtTheEnd()
    stage.collection.stop()
    #expect(stage.collection.startLoading() == .started)
    stage.settle()
    let expected = try await stage.expected()
    #expect(stage.collection.shown == expected)
    stage.check()
    stage.end()
  }

  @Test(arguments: Stage.modes) func aFailedPrepareIsReportedAndItsRowStays(mode: LoadingMode) {
    let stage = Stage(10, mode: mode)
    func set(_ key: Int, to number: Int, fails: Bool) {
      stage.source.truth.set(
        NoteData(number: key * 1000 + number, fails: fails),
        at: ChildPosition(order: .number(Double(key)), key: "\(key)"))
    }
    set(0, to: 1, fails: false)
    set(1, to: 1, fails: true)
    stage.settleAtTheEnd()
    #expect(stage.shownKeys == ["0"])
    let failures = stage.observer.state.withLock(\.failures)
    #expect(failures.map(\.key) == ["1"] && failures.first?.error is ScriptFailure)
    let outcomes = stage.outcomes
    #expect(outcomes.reduce(0) { $0 + $1.rows } == 1)
    #expect(outcomes.allSatisfy { $0.error == nil })
    // An existing row stays unchanged.
    set(0, to: 2, fails: true)
    stage.settle()
    #expect(stage.collection.shown.map(\.number) == [1])
    #expect(stage.observer.state.withLock(\.failures).map(\.key) == ["1", "0"])
    // The next events mend both.
    set(0, to: 3, fails: false)
    set(1, to: 3, fails: false)
    stage.settle()
    #expect(stage.collection.shown.map(\.number) == [3, 3])
    #expect(stage.observer.state.withLock(\.failures).count == 2)
    stage.check()
    stage.end()
  }

  @Test func aFailedLoadEndsWithItsErrorAndMayBeRepeated() {
    let stage = Stage(5, mode: .paged(batchSize: 2))
    for key in 0..<3 { stage.set(key, adverse: false) }
    stage.collection.startLoading()
    stage.run()
    _ = stage.source.pages.open(.failure(ScriptFailure()), using: &stage.random)
    stage.run()
    #expect(stage.collection.loadingState == .failed)
    #expect(stage.outcome?.error is ScriptFailure)
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
    let error = stage.outcome?.error as? TreeRingError
    #expect(error?.code == .cancelled)
    stage.collection.startLoading()
    stage.settle()
    #expect(stage.collection.count == 2)
  }

  @Test(arguments: seeds(1...30)) func aFilterHasIndicesOfItsOwn(seed: UInt64) {
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
          stage.collection.removeFilter()
        } else {
          stage.collection.setFilter { $0.number % 3 != rest }
        }
      default: stage.collection.set(NoteModel(identifier: key, text: nil, number: number))
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
    stage.collection.set(NoteModel(identifier: "1", text: "old", number: 1))
    stage.collection.update("1", with: ["text": .null])
    #expect(stage.collection.model("1") == NoteModel(identifier: "1", text: nil, number: 1))
    stage.collection.set(NoteModel(identifier: "1", text: "new", number: 1), silently: true)
    #expect(stage.collection.model("1")?.text == "new")
    #expect(
      stage.observer.state.withLock(\.list) == [NoteModel(identifier: "1", text: nil, number: 1)])
  }

  @Test func equalModelsKeepTheirOrderOfArrival() {
    let stage = Stage(9, mode: .live, order: .by { _, _ in false })
    for key in ["b", "c", "a"] {
      stage.collection.set(NoteModel(identifier: key, text: nil, number: 1))
    }
    stage.collection.update("c", with: ["number": .number(2)])
    #expect(stage.collection.shown.map(\.identifier) == ["b", "c", "a"])
  }
}
