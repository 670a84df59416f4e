// Sources and data sources that fail or never answer.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingCollections

@Suite struct AdversityTests {
  @Test(arguments: seeds(1...60), [false, true]) func theNextEventRepairsAnyFailure(
    seed: UInt64, holdsDeliveries: Bool
  ) async throws {
    for mode in Stage.modes {
      let stage = Stage(seed, mode: mode, holdsDeliveries: holdsDeliveries)
      for key in 0..<Int.random(in: 0...14, using: &stage.random) { stage.set(key) }
      stage.play(editing: 0..<18, Stage.Adversities(seed: seed).union(.failures))
      if seed % 4 == 0 { stage.letPreparesTimeOut() }
      stage.settleAtTheEnd()
      // A child that failed keeps its row until the next event for it.
      let children = try await stage.source.truth.page(
        PageRequest(direction: .forward, cursor: nil, limit: nil)
      ).children
      for child in children {
        var data = child.data
        data.number = data.number / 1000 * 1000 + (data.number + 1) % 1000
        stage.source.truth.set(data, at: child.position)
      }
      stage.settle()
      let expected = try await stage.expected()
      #expect(stage.collection.shown == expected, "\(stage)")
      stage.check()
      stage.end()
    }
  }
}
