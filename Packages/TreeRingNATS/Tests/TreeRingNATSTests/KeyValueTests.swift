// The lease of the leader and the reports of replicas, in key-value buckets of a real server.

import Foundation
import Testing
import TreeRingReplication

@testable import TreeRingNATS

extension NATSTests {
  @Suite struct KeyValueTests {
    @Test("One holder has the lease, until it releases it, loses it by force, or falls silent")
    func lease() throws {
      let servers = try JetStreamServers(1)
      let duration = Duration.seconds(1)
      let (one, two) = (
        JetStreamLease(servers.options("log"), duration: duration),
        JetStreamLease(servers.options("log"), duration: duration)
      )
      #expect(try one.hold("a", for: duration, forced: false) == "a")
      #expect(try two.hold("b", for: duration, forced: false) == "a")
      #expect(try one.hold("a", for: duration, forced: false) == "a")
      try two.release("b")
      #expect(try two.hold("b", for: duration, forced: true) == "b")
      #expect(try one.hold("a", for: duration, forced: false) == "b")
      try two.release("b")
      #expect(try one.hold("a", for: duration, forced: false) == "a")
      let deadline = ContinuousClock.now + .seconds(20)
      while try two.hold("b", for: duration, forced: false) != "b", .now < deadline {
        usleep(50_000)
      }
      #expect(try two.hold("b", for: duration, forced: false) == "b")
    }

    @Test("Reports of replicas are found by name, and a wish is taken once by its replica")
    func registry() throws {
      let servers = try JetStreamServers(1)
      let registry = ReplicaRegistry(servers.options("log"))
      #expect(try registry.reports().isEmpty)
      #expect(try !registry.takeWish(for: "b"))
      let status = ReplicaStatus(
        isLeading: true, leader: "b", sequence: 5, lag: 1, commit: 3, problem: nil, failure: nil)
      let reports = ["b", "a.x y/ü"].map { ReplicaReport(status, name: $0, host: "h") }
      for report in reports { try registry.publish(report) }
      #expect(try registry.reports() == reports.sorted { $0.name < $1.name })
      try registry.ask("b")
      #expect(try !registry.takeWish(for: "a"))
      #expect(try registry.takeWish(for: "b"))
      #expect(try !registry.takeWish(for: "b"))
    }
  }
}
