// The contract of shared logs on real servers, and the configurations that the log refuses.

import Foundation
import Synchronization
import Testing
import TreeRingReplication
import TreeRingTesting

@testable import TreeRingNATS

/// The parent of all suites: one test at a time, because each has servers of its own.
@Suite(.serialized, .enabled(if: JetStreamServers.program != nil)) struct NATSTests {}

extension NATSTests {
  @Suite struct JetStreamLogTests {
    @Test("The contract of shared logs holds on one server and on three", arguments: [1, 3])
    func contract(_ count: Int) throws {
      let seed = UInt64.random(in: 0...9999)
      print("seed \(seed) with \(count) servers")
      let servers = try JetStreamServers(count)
      let number = Mutex(0)
      let report = SharedLogChecks(seed: seed).run { count in
        let name = number.withLock { number in
          number += 1
          return "log_\(number)"
        }
        // Each has a connection of its own.
        return try (0..<count).map { _ in try servers.log(name) }
      }
      #expect(report.problems == [], "seed \(seed)")
    }

    @Test("A waiting read returns little after the append")
    func latency() throws {
      let servers = try JetStreamServers(1)
      let (writer, reader) = (try servers.log("log"), try servers.log("log"))
      let limit = Duration.seconds(10)
      #expect(try writer.append([[0]], after: 0, within: limit) == .appended)
      #expect(try reader.read(from: 1, byteLimit: 1, within: limit) == [[0]])
      var times: [Duration] = []
      for number in 2...UInt64(60) {
        let arrival = Mutex<ContinuousClock.Instant?>(nil)
        let group = DispatchGroup()
        group.enter()
        Thread.detachNewThread {
          _ = try? reader.read(from: number, byteLimit: 1, within: limit)
          arrival.withLock { $0 = .now }
          group.leave()
        }
        usleep(2000)
        #expect(try writer.append([[1]], after: number - 1, within: limit) == .appended)
        let end = ContinuousClock.now
        group.wait()
        times.append(arrival.withLock { $0.map { $0 - end } ?? .seconds(10) })
      }
      times.sort()
      print("a waiting read returns \(times[30]) after the append, at most \(times[58])")
      #expect(times[30] < .milliseconds(20))
    }

    @Test("A configuration that can lose entries is refused, with the remedy")
    func unsafeConfigurations() throws {
      let servers = try JetStreamServers(1, sync: "2m")
      var options = servers.options("log")
      options.allowsUnsafeConfiguration = false
      expectRefusal("With 1 replicas") { _ = try JetStreamLog(options) }
      options.replicaCount = 3
      let log = try JetStreamLog(options)
      expectRefusal("sync_interval: always") { _ = try log.ends(within: .seconds(5)) }
      expectRefusal("sync_interval: always") {
        _ = try log.append([[1]], after: 0, within: .seconds(5))
      }
      expectRefusal("sync_interval: always") {
        _ = try log.read(from: 1, byteLimit: 1, within: .seconds(5))
      }
      options.monitorURLs = []
      expectRefusal("Without monitorURLs") { _ = try JetStreamLog(options) }
      options = servers.options("log")
      options.entryByteLimit = 3_000_000
      expectRefusal("max_payload") {
        _ = try JetStreamLog(options).ends(within: .seconds(5))
      }
      options = servers.options("a.b")
      expectRefusal("letters") { _ = try JetStreamLog(options) }
      // A single server has no room for three replicas.
      options = servers.options("log")
      options.replicaCount = 3
      expectRefusal("replicas > 1") { _ = try JetStreamLog(options).ends(within: .seconds(5)) }
      // Allowed for tests.
      #expect(
        try servers.log("log").ends(within: .seconds(5)) == SharedLogEnds(first: 1, last: 0))
    }

    @Test("A server that comes back without its syncs is noticed")
    func changedServer() throws {
      let servers = try JetStreamServers(3)
      var options = servers.options("log")
      options.monitorURLs.removeLast()
      expectRefusal("do not show n3") {
        _ = try JetStreamLog(options).ends(within: .seconds(20))
      }
      let log = try JetStreamLog(servers.options("log"), checkingEvery: .milliseconds(600))
      let limit = Duration.seconds(20)
      #expect(try log.append([[1]], after: 0, within: limit) == .appended)
      servers.kill(1)
      try servers.configure(1, "sync_interval: always", as: "sync_interval: 2m")
      try servers.start(1)
      let deadline = ContinuousClock.now + .seconds(30)
      var refusal: SharedLogError?
      while refusal == nil, ContinuousClock.now < deadline {
        do throws(SharedLogError) {
          _ = try log.ends(within: limit)
        } catch {
          refusal = error
        }
        usleep(50_000)
      }
      #expect(refusal?.description.contains("The server n2 acknowledges entries before") == true)
      servers.kill(1)
      try servers.configure(1, "sync_interval: 2m", as: "sync_interval: always")
      try servers.start(1)
      var outcome: AppendOutcome?
      while outcome == nil, ContinuousClock.now < deadline {
        usleep(50_000)
        outcome = try? log.append([[2]], after: 1, within: limit)
      }
      #expect(outcome == .appended)
    }

    @Test("A stream with other properties is refused")
    func otherStream() throws {
      let servers = try JetStreamServers(1)
      var configuration = StreamConfiguration(servers.options("other"))
      (configuration.discard, configuration.maxMessages) = ("old", 1000)
      (configuration.denyDelete, configuration.allowsBatches) = (false, false)
      let connection = try Connection(servers.options("other"))
      let calls = StreamCalls(
        connection: connection, stream: "other", deadline: .now + .seconds(5))
      _ = try calls.create(configuration)
      let log = try servers.log("other")
      expectRefusal("discard must be new; max_msgs must be unlimited; deny_delete must be on") {
        _ = try log.ends(within: .seconds(5))
      }
    }

    @Test("A full stream refuses appends until a trim")
    func fullStream() throws {
      let servers = try JetStreamServers(1)
      var options = servers.options("log")
      options.logByteLimit = 1_000_000
      let log = try JetStreamLog(options)
      let entry = [UInt8](repeating: 7, count: 100_000)
      var last: UInt64 = 0
      expectRefusal("Trim the log") {
        for _ in 0..<20 {
          let outcome = try log.append([entry], after: last, within: .seconds(5))
          #expect(outcome == .appended)
          last += 1
        }
      }
      expectRefusal("Trim the log") {
        _ = try log.append([entry, entry], after: last, within: .seconds(5))
      }
      #expect(last >= 8)
      try log.trim(before: last, within: .seconds(5))
      #expect(try log.append([entry], after: last, within: .seconds(5)) == .appended)
    }

    @Test("A server that is not there gives errors within the limit")
    func noServer() throws {
      let servers = try JetStreamServers(1)
      let log = try servers.log("log")
      var options = servers.options("log")
      servers.kill(0)
      for hasMonitors in [true, false] {
        if !hasMonitors { options.monitorURLs = [] }
        let log = try JetStreamLog(options)
        for limit in [Duration.zero, .milliseconds(300)] {
          let time = ContinuousClock().measure {
            expectUnavailable { _ = try log.ends(within: limit) }
            expectUnavailable { try log.trim(before: 1, within: limit) }
            expectUnavailable { _ = try log.read(from: 1, byteLimit: 1, within: limit) }
            guard case .unknown? = try? log.append([[1]], after: 0, within: limit) else {
              Issue.record("an append without a server is not unknown")
              return
            }
          }
          // A read may subscribe for a second.
          #expect(time < limit * 4 + .seconds(2))
        }
      }
      // The log recovers with the server.
      try servers.start(0)
      #expect(try log.append([[1]], after: 0, within: .seconds(10)) == .appended)
    }

    @Test("A stream that was deleted, or deleted and made anew, is refused")
    func recreatedStream() throws {
      let servers = try JetStreamServers(1)
      let log = try servers.log("log")
      let second = Duration.seconds(1)
      #expect(try log.append([[1], [2], [3]], after: 0, within: second) == .appended)
      #expect(try log.all(within: second) == [[1], [2], [3]])
      let connection = try Connection(servers.options("log"))
      _ = try connection.request("$JS.API.STREAM.DELETE.log", [], within: second)
      expectUnavailable { _ = try log.ends(within: second) }
      expectRefusal("is gone") { _ = try log.ends(within: second * 3) }
      expectRefusal("is gone") { try log.trim(before: 2, within: second) }
      expectRefusal("is gone") { _ = try log.read(from: 1, byteLimit: 1, within: second) }
      // The reader that has a place notices the silence.
      expectRefusal("is gone") { _ = try log.read(from: 4, byteLimit: 1, within: second * 4) }
      guard case .unknown = try log.append([[4]], after: 3, within: second) else {
        Issue.record("an append without a stream is not unknown")
        return
      }
      let other = try servers.log("log")
      #expect(try other.append([[9]], after: 0, within: second) == .appended)
      expectRefusal("made anew") { _ = try log.ends(within: second) }
      expectRefusal("made anew") { _ = try log.read(from: 1, byteLimit: 1, within: second) }
      expectRefusal("made anew") { _ = try log.append([[4]], after: 3, within: second) }
    }

    @Test("The numbers of a delivery are read in both forms of its subject")
    func deliveries() {
      func numbers(_ text: String) -> [UInt64]? {
        Array(text.utf8).withUnsafeBytes { bytes in
          Message.numbers(in: bytes).map { [$0.entry, $0.delivery] }
        }
      }
      #expect(numbers("$JS.ACK.log.c.1.17.4.1700000000.0") == [17, 4])
      #expect(numbers("$JS.ACK._.hash.log.c.1.17.4.1700000000.0") == [17, 4])
      #expect(numbers("$JS.ACK.hub.hash.log.c.1.17.4.1700000000.0.token") == [17, 4])
      #expect(numbers("$JS.FC.log.c.1234") == nil)
      #expect(numbers("$JS.ACK.log.c.1.x.4.1.0") == nil)
      #expect(numbers("") == nil)
    }
  }
}

/// Expects a refusal with some text.
func expectRefusal(
  _ part: String, at location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) {
  do {
    try body()
    Issue.record("nothing is refused", sourceLocation: location)
  } catch SharedLogError.refused(let text) {
    #expect(text.contains(part), sourceLocation: location)
  } catch {
    Issue.record("\(error)", sourceLocation: location)
  }
}

/// Expects that the log is unavailable.
func expectUnavailable(
  at location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) {
  do {
    try body()
    Issue.record("the log is available", sourceLocation: location)
  } catch SharedLogError.unavailable {
  } catch {
    Issue.record("\(error)", sourceLocation: location)
  }
}
