// A collection whose queue runs late, as with `deliver` on a main queue, or inside an observer's
// call: starts, cancellations and stops take effect in the order of the calls.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingCollections

@Suite struct HeldDeliveryTests {
  private static func stage(_ mode: LoadingMode, children: Int = 7) -> Stage {
    let stage = Stage(21, mode: mode, holdsDeliveries: true)
    for key in 0..<children { stage.set(key, adverse: false) }
    return stage
  }

  private static func code(_ outcome: LoadOutcome?) -> TreeRingError.Code? {
    (outcome?.error as? TreeRingError)?.code
  }

  @Test(arguments: Stage.modes) func aLoadRightAfterStoppingListensAgain(
    mode: LoadingMode
  ) async throws {
    let stage = Self.stage(mode)
    while stage.collection.startLoading() != .atEnd { stage.settle() }
    stage.collection.stop()
    #expect(stage.collection.startLoading() == .started)
    stage.settle()
    #expect(stage.outcome?.error == nil)
    stage.set(1, adverse: false)
    stage.set(30, adverse: false)
    stage.settle()
    let expected = try await stage.expected()
    #expect(stage.collection.shown == expected && expected.count == 8)
    #expect(stage.source.listenerCount.withLock(\.self) == 2)
    stage.check()
    stage.end()
  }

  @Test(arguments: Stage.modes, [false, true]) func aLoadRightAfterACancelledOneIsANewLoad(
    mode: LoadingMode, stops: Bool
  ) async throws {
    let stage = Self.stage(mode)
    stage.collection.startLoading()
    stage.step()
    if stops { stage.collection.stop() } else { stage.collection.cancelLoad() }
    #expect(stage.collection.loadingState == .failed)
    #expect(stage.collection.startLoading() == .started)
    #expect(stage.collection.startLoading() == .joined)
    stage.settle()
    #expect(stage.outcomes.count == 2)
    #expect(Self.code(stage.outcomes.first) == .cancelled && stage.outcomes.last?.error == nil)
    stage.settleAtTheEnd()
    let expected = try await stage.expected()
    #expect(stage.collection.shown == expected)
    stage.check()
    stage.end()
  }

  @Test(arguments: Stage.modes) func afterAStopNoWaitingEventIsShown(
    mode: LoadingMode
  ) {
    let stage = Self.stage(mode)
    while stage.collection.startLoading() != .atEnd { stage.settle() }
    let before = stage.collection.shown
    // One child has a pending event, one is being prepared, one is prepared; the queue has run for
    // none of them.
    for key in 0..<3 { stage.set(key, adverse: false) }
    while stage.source.letEventThrough() {}
    stage.collection.stop()
    stage.settle()
    #expect(stage.collection.shown == before)
    stage.check()
    stage.end()
  }

  /// Stops the collection in every change that it observes.
  private final class StoppingObserver: CollectionObserver {
    let collection: LiveCollection<NoteModel>
    let events = Mutex<[String]>([])
    init(_ collection: LiveCollection<NoteModel>) { self.collection = collection }
    func collection(did change: CollectionChange<NoteModel>) {
      events.withLock { $0.append("change") }
      collection.stop()
    }
    func collectionDidChange() { events.withLock { $0.append("did change") } }
  }

  @Test(arguments: [false, true]) func anObserverThatStopsTheCollectionStillGetsDidChange(
    holdsDeliveries: Bool
  ) {
    let stage = Stage(22, mode: .whole, holdsDeliveries: holdsDeliveries)
    for key in 0..<3 { stage.set(key, adverse: false) }
    let observer = StoppingObserver(stage.collection)
    stage.collection.add(observer)
    stage.collection.startLoading()
    stage.settle()
    #expect(observer.events.withLock(\.self) == ["change", "did change"])
    stage.set(0, adverse: false)
    stage.settle()
    #expect(observer.events.withLock(\.self) == ["change", "did change"])
    // Rows loaded before the stop remain loaded; loading again listens.
    #expect(stage.collection.startLoading() == .started)
    stage.settle()
    #expect(observer.events.withLock(\.count) == 4)
    stage.check()
    stage.end()
  }
}
