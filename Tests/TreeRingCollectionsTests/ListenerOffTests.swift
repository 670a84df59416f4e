// Collections without a listener: pages alone decide, whatever else changes.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingCollections

@Suite struct ListenerOffTests {
  static let modes = Stage.modes.filter { $0 != .live }

  @Test func withoutAListenerOnlyPagesCount() {
    let stage = Stage(7, mode: .paged(batchSize: 5), listens: false)
    for key in 0..<3 { stage.set(key, adverse: false) }
    stage.collection.startLoading()
    stage.settle()
    stage.set(9, adverse: false)
    stage.settle()
    #expect(stage.collection.count == 3)
    #expect(stage.source.listenerCount.withLock(\.self) == 0)
    #expect(stage.collection.startLoading() == .atEnd)
    stage.collection.stop()
    #expect(stage.collection.startLoading() == .atEnd)
  }

  @Test(arguments: seeds(1...60)) func ofAnUneditedSourceAllButFailedChildrenAreShown(
    seed: UInt64
  ) async throws {
    for mode in Self.modes {
      let stage = Stage(seed, mode: mode, listens: false)
      for key in 0..<Int.random(in: 0...14, using: &stage.random) { stage.set(key) }
      let adversities = Stage.Adversities(seed: seed).union(seed % 2 == 0 ? .failures : [])
      stage.play(editing: 0..<0, adversities)
      if seed % 8 == 0 { stage.letPreparesTimeOut() }
      stage.settleAtTheEnd()
      let shown = Set(stage.shownKeys)
      let expected = try await stage.expected()
      #expect(
        stage.collection.shown == expected.filter { shown.contains($0.identifier) }, "\(stage)")
      let missing = Set(expected.map(\.identifier)).subtracting(shown)
      #expect(missing.isSubset(of: stage.failedKeys), "\(stage)")
      #expect(stage.source.listenerCount.withLock(\.self) == 0)
      stage.check()
      stage.end()
    }
  }

  @Test(arguments: seeds(1...60)) func ofAnEditedSourceNoUneditedChildIsLostOrDoubled(
    seed: UInt64
  ) async throws {
    for mode in Self.modes {
      let stage = Stage(seed, mode: mode, listens: false)
      for key in 0..<18 { stage.set(key, adverse: key >= 10) }
      // Children from 10 on are inserted, moved and removed while pages are read, boundaries among
      // them.
      stage.play(editing: 10..<20, Stage.Adversities(seed: seed).subtracting(.timeouts))
      stage.settleAtTheEnd()
      let leftAlone = try await stage.expected().filter { (Int($0.identifier) ?? 0) < 10 }
      #expect(
        stage.collection.shown.filter { (Int($0.identifier) ?? 0) < 10 } == leftAlone, "\(stage)")
      #expect(Set(stage.shownKeys).count == stage.collection.count, "\(stage)")
      // No list shows a note that never existed.
      #expect(Set(stage.collection.shown).isSubset(of: stage.everSet), "\(stage)")
      #expect(stage.source.listenerCount.withLock(\.self) == 0)
      stage.check()
      stage.end()
    }
  }
}
