// Histories of appends by the adapter over a model of JetStream whose network loses, delays,
// repeats and reorders what is sent. They need no servers.

import Testing
import TreeRingReplication

@testable import TreeRingNATS

@Suite struct AppendHistoryTests {
  private struct Call {
    var expected: Int
    var entries: [[UInt8]]
    var outcome: AppendOutcome?
  }

  /// One history: appends of one to seven entries, in parts of three at most, behind what the
  /// writer takes for the end, and then the judgement of each.
  private static func history(_ seed: UInt64, faults: Int) throws {
    let model = StreamModel(seed: seed, faults: faults)
    var random = SplitMix(state: ~seed)
    var calls: [Call] = []
    for number in 0..<UInt32.random(in: 2...8, using: &random) {
      let count = UInt32.random(in: 0..<3, using: &random) == 0 ? UInt32(7) : 1
      let entries = (0..<UInt32.random(in: 1...count, using: &random)).map { index in
        withUnsafeBytes(of: (number, index)) { Array($0) }
      }
      // Mostly the end; sometimes an entry before it.
      let error =
        Int.random(in: 0..<8, using: &random) == 0 ? Int.random(in: -2...0, using: &random) : 0
      let expected = max(0, model.entries.count + error)
      var call = AppendCall(
        entries, after: UInt64(expected),
        by: model.now + .milliseconds(Int.random(in: 1...30_000, using: &random)),
        identifier: "call \(number)", countLimit: 3)
      var outcome: AppendOutcome?
      do { outcome = try call.run(over: model) } catch {
        guard case .refused = error else {
          Issue.record("seed \(seed): \(error)")
          continue
        }
      }
      calls.append(Call(expected: expected, entries: entries, outcome: outcome))
    }
    model.settle()
    let found = model.entries
    try #require(Set(found).count == found.count, "seed \(seed): an entry is there twice")
    for call in calls {
      let place = found.dropFirst(call.expected).prefix(call.entries.count)
      let prefix = zip(place, call.entries).prefix { $0 == $1 }.count
      let present = call.entries.filter(Set(found).contains).count
      try #require(prefix == present, "seed \(seed): \(call) is not at its place in \(found)")
      switch call.outcome {
      case .appended:
        try #require(prefix == call.entries.count, "seed \(seed): \(call) is lost in \(found)")
      case .conflict:
        try #require(prefix < call.entries.count, "seed \(seed): \(call) is in \(found)")
        // Whole parts come before the conflict.
        try #require(prefix % 3 == 0, "seed \(seed): \(call) is torn in \(found)")
      case .unknown:
        try #require(
          prefix % 3 == 0 || prefix == call.entries.count, "seed \(seed): \(call) in \(found)")
      case nil: try #require(prefix == 0, "seed \(seed): a refused \(call) is in \(found)")
      }
    }
  }

  @Test(
    "Of 100,000 histories none loses or doubles an entry, or takes its own for another's",
    arguments: 0..<UInt64(20))
  func histories(part: UInt64) throws {
    for number in 0..<UInt64(5_000) {
      let seed = part * 5_000 + number
      try Self.history(seed, faults: number % 10 == 0 ? 0 : number % 2 == 0 ? 50 : 100)
    }
  }
}
