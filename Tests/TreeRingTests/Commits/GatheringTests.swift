// The rules by which batches of joint writes wait for writers that come back.

import Testing

@testable import TreeRing

@Suite("Gathering")
struct GatheringTests {
  private let start = ContinuousClock.now
  private let sync = Duration.microseconds(300)
  private let longest = Duration.microseconds(600)

  /// The wait of a batch of one write after such a batch.
  private func wait(count: Int, waiting: Int, isReplicated: Bool) -> Duration? {
    var gathering = Gathering(isReplicated: isReplicated)
    gathering.batchEnded(count: count, waiting: waiting, took: sync, at: start)
    return gathering.wait(with: 1, at: start)
  }

  /// A gathering after a batch of `count` writes during which `waiting` others have come.
  private func after(_ count: Int, waiting: Int) -> Gathering {
    var gathering = Gathering(isReplicated: false)
    gathering.batchEnded(count: count, waiting: waiting, took: sync, at: start)
    return gathering
  }

  @Test("Before the first batch, and of a writer alone, none waits")
  func alone() {
    var none = Gathering(isReplicated: false)
    #expect(none.wait(with: 1, at: start) == nil)
    var one = after(1, waiting: 0)
    #expect(one.wait(with: 1, at: start) == nil)
  }

  @Test("A batch waits until all writers are back, and never longer than two syncs")
  func bounds() {
    var gathering = after(3, waiting: 2)
    #expect(gathering.wait(with: 2, at: start) == longest)
    #expect(gathering.wait(with: 4, at: start + .microseconds(200)) == .microseconds(400))
    #expect(gathering.wait(with: 5, at: start + .microseconds(200)) == nil)
    #expect(gathering.wait(with: 4, at: start) == nil, "the wait is over")
    var late = after(3, waiting: 2)
    #expect(late.wait(with: 4, at: start + longest) == nil)
  }

  @Test("None waits for more than sixteen writers, except in a replica")
  func manyWriters() {
    #expect(wait(count: 9, waiting: 7, isReplicated: false) == longest)
    #expect(wait(count: 9, waiting: 8, isReplicated: false) == nil)
    #expect(wait(count: 9, waiting: 700, isReplicated: true) == sync)
  }

  @Test("After a long sync the next batch waits for a millisecond at most, of a replica for ten")
  func longSync() {
    for (isReplicated, longest) in [(false, 1), (true, 10)] {
      var gathering = Gathering(isReplicated: isReplicated)
      gathering.batchEnded(count: 2, waiting: 0, took: .seconds(1), at: start)
      #expect(gathering.wait(with: 1, at: start) == .milliseconds(longest))
    }
  }

  @Test("After each vain wait in a row twice as many batches do not wait, up to 64")
  func pauses() {
    var gathering = Gathering(isReplicated: false)
    func batch() { gathering.batchEnded(count: 2, waiting: 0, took: sync, at: start) }
    for pause in [1, 2, 4, 8, 16, 32, 64, 64] {
      batch()
      #expect(gathering.wait(with: 1, at: start) == longest)
      #expect(gathering.wait(with: 1, at: start + longest) == nil)
      for _ in 1...pause {
        batch()
        #expect(gathering.wait(with: 1, at: start) == nil)
      }
    }
    batch()
    #expect(gathering.wait(with: 2, at: start) == nil, "all are back")
    batch()
    #expect(gathering.wait(with: 1, at: start) == longest)
  }
}
