// The boundaries between pages: in both directions, and with pages of a single row.

import TestSupport
import Testing

@testable import TreeRingCollections

@Suite struct PageBoundaryTests {
  static let directions = [LoadDirection.forward, .backward]

  /// A stage with children in the order of their numbers.
  private func stage(_ keys: Range<Int>, size: Int, listens: Bool = true) -> Stage {
    let stage = Stage(1, mode: .paged(batchSize: size), listens: listens)
    for key in keys { stage.set(key, at: Double(key), adverse: false) }
    return stage
  }

  /// The first notes of the source in a direction, in the source's order.
  private func expected(
    _ count: Int, _ direction: LoadDirection, _ stage: Stage
  ) async throws -> [NoteModel] {
    let all = try await stage.expected()
    return Array(direction == .forward ? all.prefix(count) : all.suffix(count))
  }

  @Test(arguments: directions, [1, 3]) func exactMultiplesEndWithTheLastPage(
    direction: LoadDirection, size: Int
  ) async throws {
    let stage = stage(0..<6, size: size)
    let pages = 6 / size
    for page in 1...pages {
      #expect(stage.collection.startLoading(direction) == .started)
      #expect(stage.collection.startLoading(direction) == .joined)
      stage.settle()
      let expected = try await expected(size * page, direction, stage)
      #expect(stage.collection.shown == expected)
    }
    #expect(stage.collection.startLoading(direction) == .atEnd)
    #expect(stage.collection.loadingState == .loaded(hasMore: false))
    let outcomes = stage.outcomes
    #expect(outcomes.map(\.rows) == Array(repeating: size, count: pages))
    #expect(outcomes.map(\.hasMore) == Array(repeating: true, count: pages - 1) + [false])
    stage.check()
    stage.end()
  }

  @Test(arguments: directions, [1, 3]) func aPageBringsAFullBatchOfNewRowsAndANewChildEvictsNone(
    direction: LoadDirection, size: Int
  ) async throws {
    let stage = stage(0..<10, size: size)
    stage.collection.startLoading(direction)
    stage.settle()
    #expect(stage.collection.count == size)
    // One is inserted into the loaded range, one beyond it.
    stage.set(20, at: direction == .forward ? -0.5 : 9.5, adverse: false)
    stage.set(21, at: direction == .forward ? 5.5 : 3.5, adverse: false)
    stage.settle()
    #expect(stage.collection.count == size + 1)
    while stage.collection.startLoading(direction) == .started {
      let before = stage.collection.count
      stage.settle()
      let isLast = before + size >= 12
      #expect(stage.collection.count == (isLast ? 12 : before + size))
      #expect(stage.outcome?.rows == stage.collection.count - before)
      #expect(stage.outcome?.hasMore == !isLast)
    }
    let all = try await stage.expected()
    #expect(stage.collection.shown == all)
    stage.check()
    stage.end()
  }

  @Test(arguments: directions, [1, 3]) func aDeletedBoundaryIsHarmless(
    direction: LoadDirection, size: Int
  ) async throws {
    let stage = stage(0..<8, size: size)
    stage.collection.startLoading(direction)
    stage.settle()
    let boundary = direction == .forward ? size - 1 : 8 - size
    stage.source.truth.remove("\(boundary)")
    let inside = Double(boundary) + (direction == .forward ? -0.5 : 0.5)
    stage.set(12, at: inside, adverse: false)
    stage.settle()
    var expected = try await expected(size, direction, stage)
    #expect(stage.collection.shown == expected && stage.shownKeys.contains("12"))
    stage.collection.startLoading(direction)
    stage.settle()
    expected = try await self.expected(2 * size, direction, stage)
    #expect(stage.collection.shown == expected)
    #expect(stage.outcome?.rows == size)
    stage.check()
    stage.end()
  }

  @Test(arguments: directions, [1, 3])
  func boundariesDeletedWhileTheNextPageIsReadAreHarmless(
    direction: LoadDirection, size: Int
  ) async throws {
    // For some of these boundaries, the page beyond is read late.
    for first in 0..<10 {
      let stage = stage(first..<first + 9, size: size)
      stage.collection.startLoading(direction)
      stage.settle()
      func boundary(of page: Int) -> String {
        "\(direction == .forward ? first + page * size - 1 : first + 9 - page * size)"
      }
      #expect(stage.collection.startLoading(direction) == .started)
      stage.run()
      // Both the boundary before the page and the one at its end.
      for page in 1...2 { stage.source.truth.remove(boundary(of: page)) }
      stage.settle()
      let isLate = ScriptedSource.readsLate(beyond: boundary(of: 1))
      let count = 2 * size - (isLate ? 1 : 2)
      let expected = try await expected(count, direction, stage)
      #expect(stage.collection.shown == expected, "\(first)")
      #expect(stage.outcome?.hasMore == true && stage.outcome?.error == nil)
      stage.settleAtTheEnd()
      let all = try await stage.expected()
      #expect(stage.collection.shown == all, "\(first)")
      stage.check()
      stage.end()
    }
  }

  @Test(arguments: directions, [1, 3])
  func withoutAListenerADeletedBoundaryStaysAndTheNextPageBeginsBeyondIt(
    direction: LoadDirection, size: Int
  ) async throws {
    let stage = stage(0..<8, size: size, listens: false)
    let before = try await stage.expected()
    stage.collection.startLoading(direction)
    stage.settle()
    stage.source.truth.remove("\(direction == .forward ? size - 1 : 8 - size)")
    stage.settleAtTheEnd()
    #expect(stage.collection.shown == before)
    stage.check()
    stage.end()
  }

  @Test(arguments: directions, [1, 3]) func loadsOfBothDirectionsShareTheLoadedRange(
    direction: LoadDirection, size: Int
  ) async throws {
    let stage = stage(0..<7, size: size)
    let other = direction == .forward ? LoadDirection.backward : .forward
    #expect(stage.collection.startLoading(direction) == .started)
    // A load in the other direction joins the running load and has its outcome.
    let (collection, executor) = (stage.collection, stage.executor)
    let joined = Task(executorPreference: executor) { await collection.load(other) }
    stage.settle()
    let outcome = await joined.value
    #expect(outcome.rows == size && outcome.hasMore && outcome.error == nil)
    var expected = try await expected(size, direction, stage)
    #expect(stage.collection.shown == expected)
    // The first load began at the end to which the other direction leads.
    #expect(stage.collection.startLoading(other) == .atEnd)
    #expect(stage.collection.startLoading(direction) == .started)
    #expect(stage.collection.startLoading(other) == .joined)
    stage.settle()
    expected = try await self.expected(2 * size, direction, stage)
    #expect(stage.collection.shown == expected)
    stage.settleAtTheEnd()
    #expect(stage.collection.startLoading(direction) == .atEnd)
    #expect(stage.collection.startLoading(other) == .atEnd)
    let all = try await stage.expected()
    #expect(stage.collection.shown == all)
    let loads = stage.outcomes.count
    #expect(loads == (7 + size - 1) / size)
    stage.check()
    stage.end()
  }
}
