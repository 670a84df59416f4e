// What policies keep.

import Testing
import TreeRingLog

@testable import TreeRing

@Suite("Retention", .leavesSoundStores) struct RetentionTests {
  /// The horizon of a policy in a store of 100 commits, one a second, of which the first is at 1 s.
  private func horizon(_ retention: Retention) throws -> CommitNumber {
    try retention.horizon(newest: 100, at: Timestamp(microseconds: 100_000_000)) { moment in
      CommitNumber(max(0, min(100, moment.microseconds / 1_000_000)))
    }
  }

  @Test("The last commits are counted back from the newest") func lastCommits() throws {
    #expect(try horizon(.last(commits: 1)) == 100)
    #expect(try horizon(.last(commits: 0)) == 100)
    #expect(try horizon(.last(commits: 100)) == 1)
    #expect(try horizon(.last(commits: 101)) == 0)
    #expect(try horizon(.last(commits: .max)) == 0)
  }

  @Test("A time is counted back from the newest commit, and keeps the state in force at its start")
  func since() throws {
    #expect(try horizon(.since(.zero)) == 100)
    #expect(try horizon(.since(.milliseconds(10_500))) == 89)
    #expect(try horizon(.since(.seconds(1000))) == 0)
    #expect(try horizon(.since(.seconds(Int64.max))) == 0)
    #expect(try horizon(.since(.seconds(-5))) == 100)
  }

  @Test("Of two rules the one that keeps most counts; everything keeps all") func most() throws {
    #expect(try horizon(.everything) == 0)
    #expect(try horizon(.last(commits: 10, orSince: .seconds(50))) == 50)
    #expect(try horizon(.last(commits: 80, orSince: .seconds(50))) == 21)
  }

  @Test("Kept points are the horizon, all after it and the tags before it") func points() {
    let points = KeptPoints(horizon: 10, tags: [7, 3, 3, 12, 0, 10])
    #expect(points.commits == [3, 7, 10])
    #expect((0...12).filter { points.contains($0) } == [0, 3, 7, 10, 11, 12])
    #expect([1, 3, 4, 8, 10].map { points.first(from: $0) } == [3, 3, 7, 10, 10])
    #expect(points.first(from: 11) == nil)
  }
}
