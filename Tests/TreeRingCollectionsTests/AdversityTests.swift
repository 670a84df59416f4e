// Sources and data sources that fail, or never answer.

import Synchronization
import TestSupport
import Testing
import TreeRing

@testable import TreeRingCollections

@Suite struct AdversityTests {
  @Test(arguments: seeds(1...60)) func whateverFailsTheNextEventMends(seed: UInt64) async throws {
    for mode in LiveCollectionTests.modes {
      let stage = Stage(seed, mode: mode)
      let direction = seed % 2 == 0 ? LoadDirection.forward : .backward
      for key in 0..<Int.random(in: 0...14, using: &stage.random) { stage.set(key) }
      for _ in 0..<60 {
        switch Int.random(in: 0..<10, using: &stage.random) {
        case 0, 1: stage.set(Int.random(in: 0..<18, using: &stage.random))
        case 2: stage.source.truth.remove("\(Int.random(in: 0..<18, using: &stage.random))")
        case 3: stage.collection.startLoading(direction)
        case 4 where seed % 3 == 0: stage.collection.cancelLoad()
        case 5 where seed % 5 == 0: stage.clock.advance(by: .seconds(6))
        default: stage.stumble()
        }
        let mirror = stage.observer.state.withLock(\.self)
        #expect(mirror.list == stage.collection.shown, "seed \(seed), \(mode)")
      }
      if seed % 4 == 0 { stage.letPreparesTimeOut() }
      stage.settle()
      for _ in 0..<60 where stage.collection.startLoading(direction) != .atEnd { stage.settle() }
      // A child that failed stays as it was until it is heard of again.
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
      #expect(stage.collection.shown == expected, "seed \(seed), \(mode)")
      let mirror = stage.observer.state.withLock(\.self)
      #expect(mirror.list == expected, "seed \(seed), \(mode)")
      #expect(mirror.flaws.isEmpty, "seed \(seed), \(mode)")
      let loads = mirror.events.filter { $0 == "start" || $0 == "end" }
      #expect(loads.count % 2 == 0, "a load is stuck, seed \(seed), \(mode)")
      stage.collection.stop()
      stage.settle()
    }
  }

  @Test func aPageBringsAsManyNewRowsAndAChildThatComesEvictsNone() {
    for direction in [LoadDirection.forward, .backward] {
      let stage = Stage(1, mode: .paged(batchSize: 3))
      func set(_ key: Int, at place: Double) {
        stage.source.truth.set(
          NoteData(number: key * 1000), at: ChildPosition(order: .number(place), key: "\(key)"))
      }
      for key in 0..<10 { set(key, at: Double(key)) }
      stage.collection.startLoading(direction)
      stage.settle()
      #expect(stage.collection.count == 3)
      // One comes into what is loaded, one beyond it.
      set(20, at: direction == .forward ? 0.5 : 8.5)
      set(21, at: direction == .forward ? 5.5 : 3.5)
      stage.settle()
      #expect(stage.collection.count == 4)
      for count in [7, 10, 12] {
        #expect(stage.collection.startLoading(direction) == .started)
        stage.settle()
        #expect(stage.collection.count == count)
        let outcome = stage.observer.state.withLock { $0.outcomes.last }
        #expect(outcome?.rows == (count == 12 ? 2 : 3))
        #expect(outcome?.hasMore == (count != 12))
      }
      #expect(stage.collection.startLoading(direction) == .atEnd)
      stage.collection.stop()
    }
  }
}
