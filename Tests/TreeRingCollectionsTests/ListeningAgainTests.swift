// A collection that is loaded to its end and has stopped listening, by `stop()` or by an error:
// loading it again starts a listener, and brings the missed changes.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingCollections

@Suite struct ListeningAgainTests {
  static let modes = Stage.modes

  /// The end of a listener.
  enum Ending: CaseIterable { case stopped, failed }

  private func end(_ ending: Ending, _ stage: Stage) {
    switch ending {
    case .stopped: stage.collection.stop()
    case .failed: stage.source.say(.failed(ScriptFailure()))
    }
  }

  /// A stage with everything loaded and a listener that has ended.
  private func stage(
    _ mode: LoadingMode, _ direction: LoadDirection, _ ending: Ending
  ) -> Stage {
    let stage = Stage(11, mode: mode)
    for key in 0..<7 { stage.set(key, adverse: false) }
    while stage.collection.startLoading(direction) != .atEnd { stage.settle() }
    #expect(stage.collection.count == 7)
    end(ending, stage)
    return stage
  }

  @Test(arguments: modes, Ending.allCases) func aLoadBringsMissedChangesAndListensAgain(
    mode: LoadingMode, ending: Ending
  ) async throws {
    for direction in [LoadDirection.forward, .backward] {
      let stage = stage(mode, direction, ending)
      let before = stage.collection.shown
      stage.source.truth.remove("0")
      stage.set(1, adverse: false)
      stage.set(20, adverse: false)
      stage.settle()
      #expect(stage.collection.shown == before)
      #expect(stage.collection.startLoading(direction) == .started)
      #expect(stage.collection.startLoading(direction) == .joined)
      #expect(stage.collection.loadingState == .loading)
      stage.settle()
      var expected = try await stage.expected()
      #expect(stage.collection.shown == expected, "\(stage)")
      #expect(stage.outcome?.rows == 2 && stage.outcome?.hasMore == false)
      #expect(stage.outcome?.error == nil)
      #expect(stage.collection.loadingState == .loaded(hasMore: false))
      #expect(stage.collection.startLoading(direction) == .atEnd)
      stage.set(21, adverse: false)
      stage.source.truth.remove("2")
      stage.settle()
      expected = try await stage.expected()
      #expect(stage.collection.shown == expected, "\(stage)")
      stage.check()
      stage.end()
    }
  }

  @Test(arguments: modes) func aLoadThatListensAgainMayFailOrBeCancelledAndRepeated(
    mode: LoadingMode
  ) async throws {
    let stage = stage(mode, .forward, .stopped)
    stage.source.truth.remove("0")
    #expect(stage.collection.startLoading() == .started)
    end(.failed, stage)
    #expect(stage.outcome?.error is ScriptFailure && stage.outcome?.hasMore == false)
    #expect(stage.collection.loadingState == .failed)
    #expect(stage.collection.startLoading() == .started)
    stage.collection.cancelLoad()
    stage.settle()
    #expect((stage.outcome?.error as? TreeRingError)?.code == .cancelled)
    #expect(stage.collection.count == 7)
    #expect(stage.collection.startLoading() == .started)
    stage.settle()
    let expected = try await stage.expected()
    #expect(stage.collection.shown == expected)
    #expect(stage.collection.startLoading() == .atEnd)
    stage.check()
    stage.end()
  }

  /// Loads whenever it observes new rows.
  private final class EagerObserver: CollectionObserver {
    let collection: LiveCollection<NoteModel>
    let starts = Mutex<[LoadStart]>([])
    init(_ collection: LiveCollection<NoteModel>) { self.collection = collection }
    func collection(did change: CollectionChange<NoteModel>) {
      let start = collection.startLoading()
      starts.withLock { $0.append(start) }
    }
  }

  @Test func aLoadBegunWhileTheLastOneEndsFindsTheListenerStarting() {
    let stage = Stage(12, mode: .whole)
    let observer = EagerObserver(stage.collection)
    stage.collection.add(observer)
    for key in 0..<3 { stage.set(key, adverse: false) }
    stage.collection.startLoading()
    stage.settle()
    #expect(observer.starts.withLock(\.self) == [.atEnd])
    #expect(stage.collection.loadingState == .loaded(hasMore: false))
    #expect(stage.source.listenerCount.withLock(\.self) == 1)
    stage.check()
    stage.end()
  }
}
