// Leaders that die or freeze, and majorities that are lost, while writers append.

import Foundation
import Synchronization
import Testing
import TreeRingReplication

@testable import TreeRingNATS

extension NATSTests {
  @Suite struct FailureTests {
    private let limit = Duration.seconds(25)

    @Test("Writers race while the leader is killed twice: each entry is there once, or not at all")
    func race() throws {
      let servers = try JetStreamServers(3)
      let calls = Mutex<[RaceCall]>([])
      let isOver = Mutex(false)
      let logs = try (0..<4).map { _ in try servers.log("log") }
      let limit = limit
      let writers = DispatchGroup()
      defer {
        isOver.withLock { $0 = true }
        writers.wait()
      }
      for number in 0..<4 {
        writers.enter()
        Thread.detachNewThread {
          defer { writers.leave() }
          var (expected, round): (UInt64, UInt32) = (0, 0)
          while !isOver.withLock(\.self) {
            round += 1
            // Two writers append one entry at a time, two of them batches.
            let entries = (0..<(number < 2 ? 1 : 20)).map { index in
              withUnsafeBytes(of: (UInt32(number), round, UInt32(index))) { Array($0) }
                + [UInt8](repeating: 1, count: 200)
            }
            do {
              let outcome = try logs[number].append(entries, after: expected, within: limit)
              calls.withLock { $0.append(RaceCall(expected: expected, entries: entries, outcome)) }
              expected =
                outcome == .appended
                ? expected + UInt64(entries.count) : try logs[number].ends(within: limit).last
            } catch {
              Issue.record("a writer fails: \(error)")
              return
            }
          }
        }
      }
      for round in 0..<2 {
        usleep(1_500_000)
        let leader = try servers.awaitLeader(of: "log")
        servers.kill(leader)
        let count = calls.withLock { $0.count }
        let start = ContinuousClock.now
        while calls.withLock({ $0.count }) < count + 20, .now - start < limit { usleep(20_000) }
        let time = ContinuousClock.now - start
        print("kill \(round + 1), of n\(leader + 1): writers go on after \(time)")
        try servers.start(leader)
      }
      usleep(1_000_000)
      isOver.withLock { $0 = true }
      writers.wait()
      try judge(calls.withLock(\.self), servers)
    }

    private func judge(_ calls: [RaceCall], _ servers: JetStreamServers) throws {
      let entries = try servers.log("log").all(within: limit)
      var counts: [String: Int] = [:]
      var expectedCount = 0
      for call in calls {
        let place = entries.dropFirst(Int(call.expected)).prefix(call.entries.count)
        let isThere = place.elementsEqual(call.entries)
        let name = "\(call.outcome)".prefix { $0.isLetter }
        counts["\(name)\(isThere ? ", there" : "")", default: 0] += 1
        switch call.outcome {
        case .appended: #expect(isThere, "an acknowledged append after \(call.expected) is lost")
        case .conflict: #expect(!isThere, "a conflict after \(call.expected) is there")
        case .unknown: break
        }
        if isThere { expectedCount += call.entries.count }
      }
      print("\(entries.count) entries; appends: \(counts)")
      #expect(Set(entries).count == entries.count, "an entry is there twice")
      #expect(expectedCount == entries.count, "an entry is not at the place of its append")
      #expect(entries.count > 100)
    }

    @Test("Without a majority nothing is acknowledged, and the log recovers with it")
    func lostMajority() throws {
      let servers = try JetStreamServers(3)
      let log = try servers.log("log")
      #expect(try log.append([[1], [2]], after: 0, within: limit) == .appended)
      #expect(try log.all(within: limit) == [[1], [2]])
      let leader = try servers.awaitLeader(of: "log")
      let others = (0..<3).filter { $0 != leader }
      for other in others { servers.kill(other) }
      for entries in [[[3]], [[4], [5]]] as [[[UInt8]]] {
        let outcome = try log.append(entries, after: 2, within: .seconds(2))
        guard case .unknown(let text) = outcome else {
          Issue.record("an append without a majority is \(outcome)")
          continue
        }
        print("without a majority: \(text)")
      }
      expectUnavailable { _ = try log.ends(within: .seconds(3)) }
      for other in others { try servers.start(other) }
      let start = ContinuousClock.now
      let ends = try log.ends(within: limit)
      print("the log is back \(ContinuousClock.now - start) after the servers, with \(ends)")
      // One of the appends without an answer may succeed now, or at any moment before the next one.
      var outcomes: [AppendOutcome] = []
      while outcomes.last != .appended, outcomes.count < 3 {
        let last = try log.ends(within: limit).last
        outcomes.append(try log.append([[6]], after: last, within: limit))
      }
      print("appends after the recovery: \(outcomes)")
      let entries = try servers.log("log").all(within: limit)
      let tails: [[[UInt8]]] = [[[6]], [[3], [6]], [[4], [5], [6]]]
      #expect(tails.map { [[1], [2]] + $0 }.contains(entries))
      #expect(outcomes.last == .appended)
    }

    @Test("After the freeze of a leader the others go on, and it gets what it missed")
    func frozenLeader() throws {
      let servers = try JetStreamServers(3)
      // All clients are clients of the leader, so they freeze with it.
      let leader = try {
        let log = try servers.log("log")
        _ = try log.append([[0]], after: 0, within: limit)
        return try servers.awaitLeader(of: "log")
      }()
      var options = servers.options("log")
      options.urls = [servers.urls[leader]] + options.urls
      let log = try JetStreamLog(options)
      func append(_ numbers: ClosedRange<UInt8>) throws {
        for number in numbers {
          let outcome = try log.append([[number]], after: UInt64(number), within: limit)
          #expect(outcome == .appended)
        }
      }
      try append(1...50)
      servers.freeze(leader)
      let start = ContinuousClock.now
      let outcome = try log.append([[51], [52]], after: 51, within: limit)
      print("an append during a freeze takes \(ContinuousClock.now - start)")
      #expect(outcome == .appended)
      try append(53...70)
      servers.thaw(leader)
      let wanted = (0...70).map { [UInt8($0)] }
      let ends = try log.ends(within: limit)
      #expect(ends == SharedLogEnds(first: 1, last: 71))
      for url in servers.urls {
        options.urls = [url]
        #expect(try JetStreamLog(options).all(within: limit) == wanted)
      }
    }

    @Test("A reader goes on after the loss of its server, without gaps")
    func readerFailover() throws {
      let servers = try JetStreamServers(3)
      let (writer, reader) = (try servers.log("log"), try servers.log("log"))
      var count: UInt64 = 0
      func append(_ number: UInt64) throws {
        for _ in 0..<number {
          let entry = withUnsafeBytes(of: count) { Array($0) }
          #expect(try writer.append([entry], after: count, within: limit) == .appended)
          count += 1
        }
      }
      var read: [[UInt8]] = []
      func readAll() throws {
        while read.count < count {
          let entries = try reader.read(
            from: UInt64(read.count) + 1, byteLimit: 100, within: limit)
          guard !entries.isEmpty else { break }
          read += entries
        }
      }
      try append(30)
      try readAll()
      for victim in 0..<2 {
        servers.kill(victim)
        try append(20)
        let start = ContinuousClock.now
        try readAll()
        print("the reader has all \(ContinuousClock.now - start) after the writer")
        try servers.start(victim)
        _ = try reader.ends(within: limit)
      }
      #expect(read == (0..<count).map { number in withUnsafeBytes(of: number) { Array($0) } })
    }
  }
}

private struct RaceCall: Sendable {
  var expected: UInt64
  var entries: [[UInt8]]
  var outcome: AppendOutcome

  init(expected: UInt64, entries: [[UInt8]], _ outcome: AppendOutcome) {
    (self.expected, self.entries, self.outcome) = (expected, entries, outcome)
  }
}

extension SharedLog {
  /// All entries of a log that was never trimmed.
  func all(within limit: Duration) throws -> [[UInt8]] {
    let last = try ends(within: limit).last
    var entries: [[UInt8]] = []
    while entries.count < last {
      let read = try read(from: UInt64(entries.count) + 1, byteLimit: 100_000, within: limit)
      guard !read.isEmpty else { break }
      entries += read
    }
    return entries
  }
}
