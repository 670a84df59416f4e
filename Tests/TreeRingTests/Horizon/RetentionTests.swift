// The history that retention policies keep.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Retention", .leavesSoundStores) struct RetentionTests {
  /// The dates of commits, from the first date on.
  private struct Dates: CommitDates {
    var seconds: [Int64]
    func newest(atOrBefore moment: Timestamp) -> CommitNumber {
      CommitNumber(seconds.filter { $0 * 1_000_000 <= moment.microseconds }.count)
    }
    func date(of commit: CommitNumber) -> Timestamp {
      Timestamp(microseconds: seconds[Int(commit) - 1] * 1_000_000)
    }
  }

  private static let year: Int64 = 365 * 86_400

  /// The horizon of a policy in a store of 100 commits, one a second with the first at 1 s, or in a
  /// store with other dates.
  private func horizon(
    _ retention: Retention, seconds: [Int64] = Array(1...100), clock: Int64 = 1 << 40,
    oldest: CommitNumber = 0
  ) throws -> CommitNumber {
    try retention.horizon(
      newest: CommitNumber(seconds.count), oldest: oldest,
      clock: Timestamp(microseconds: clock * 1_000_000), dates: Dates(seconds: seconds))
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

  @Test("Of two rules the one that keeps more counts; everything keeps all") func most() throws {
    #expect(try horizon(.everything) == 0)
    #expect(try horizon(.last(commits: 10, orSince: .seconds(50))) == 50)
    #expect(try horizon(.last(commits: 80, orSince: .seconds(50))) == 21)
  }

  @Test("Time is not counted back from a commit dated ahead of the clock")
  func aheadOfTheClock() throws {
    let ahead = Array(1...100) + [100 + 20 * Self.year]
    #expect(try horizon(.since(.seconds(10)), seconds: ahead, clock: 200) == 90)
    // Later commits that were clamped to its date are no newest ones either.
    let dragged = ahead + Array(repeating: 100 + 20 * Self.year, count: 50)
    #expect(try horizon(.since(.seconds(10)), seconds: dragged, clock: 200) == 90)
    // A clock behind all commits confirms none of them.
    #expect(try horizon(.since(.zero), clock: 0) == 0)
    #expect(try horizon(.since(.seconds(10)), clock: -5) == 0)
    #expect(try horizon(.since(.seconds(10)), clock: 50) == 40)
  }

  @Test("A clock that jumps ahead drops nothing until the time has passed, however far it jumps")
  func jumps() throws {
    let jump = 20 * Self.year
    for extra in 1...50 {
      let seconds = Array(1...100) + (0..<Int64(extra)).map { 100 + jump + $0 }
      // The jump counts as one second of the ten.
      let passed = 1 + Int64(extra - 1)
      let found = try horizon(.since(.seconds(10)), seconds: seconds)
      #expect(found == CommitNumber(passed < 10 ? 100 - (10 - passed) : 90 + passed), "\(extra)")
    }
    // Repeated jumps.
    let jumping = (0..<40).map { jump * $0 }
    #expect(try horizon(.since(.seconds(10)), seconds: jumping) == 30)
    #expect(try horizon(.since(.zero), seconds: jumping) == 40)
  }

  @Test("A policy keeps the same commits as counting commit by commit", arguments: seeds(1...20))
  func counted(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<50 {
      var seconds = [Int64.random(in: -50...50, using: &random)]
      for _ in 0..<Int.random(in: 0...60, using: &random) {
        let pause: ClosedRange<Int64> =
          Int.random(in: 0..<5, using: &random) == 0 ? 0...2000 : 0...12
        seconds.append((seconds.last ?? 0) + Int64.random(in: pause, using: &random))
      }
      let age = Int64.random(in: 0...40, using: &random) * 10
      var (expected, left) = (seconds.count, age)
      while expected > 0, left > 0 {
        let pause = expected > 1 ? seconds[expected - 1] - seconds[expected - 2] : .max
        left -= min(pause, age / 10)
        expected -= 1
      }
      // No time can be counted before the oldest commit.
      if left > 0 || expected < 0 { expected = 0 }
      let found = try horizon(.since(.seconds(age)), seconds: seconds)
      #expect(found == CommitNumber(expected), "\(age): \(seconds)")
      let oldest = CommitNumber.random(in: 0...CommitNumber(seconds.count), using: &random)
      let bound = try horizon(.since(.seconds(age)), seconds: seconds, oldest: oldest)
      #expect(max(bound, oldest) == max(found, oldest), "\(age) from \(oldest): \(seconds)")
    }
  }

  @Test("Kept points are the horizon, all after it and the tags before it") func points() {
    let points = KeptPoints(horizon: 10, tags: [7, 3, 3, 12, 0, 10])
    #expect(points.commits == [3, 7, 10])
    #expect((0...12).filter { points.contains($0) } == [0, 3, 7, 10, 11, 12])
    #expect([1, 3, 4, 8, 10].map { points.first(from: $0) } == [3, 3, 7, 10, 10])
    #expect(points.first(from: 11) == nil)
  }
}
