// Commits per second of a replica that leads, and the time until another one shows them. Run by
// `Tools/test-nats --measure`, beside the same commits in a store of one machine.

import Foundation
import Logging
import Synchronization
import Testing
import TreeRing
import TreeRingReplication

@testable import TreeRingNATS

private let isMeasuring = ProcessInfo.processInfo.environment["TREERING_NATS_MEASURE"] != nil

extension NATSTests {
  @Suite(.enabled(if: isMeasuring)) struct ReplicaFigures {
    private static let texts = Bucket<String>("texts")
    private static let seconds = 5.0

    @Test("Durable commits of 300 bytes, by the number of writers", arguments: [1, 8, 64, 256])
    func commits(writerCount: Int) throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let servers = try JetStreamServers(3)
      let open = { (name: String) in
        var options = ReplicaOptions(name: name)
        options.store.logger.logLevel = .critical
        return try Replica(
          at: folder.appending(path: name).path, of: servers.log("figures"), options: options)
      }
      let (leader, follower) = (try open("leader"), try open("follower"))
      try leader.lead()
      let entryCount = leader.status.sequence
      let shared = Self.commits(to: leader.store, by: writerCount)
      let size = Double(leader.store.newestCommit) / Double(leader.status.sequence - entryCount)
      try follower.catchUp()
      let lag = try Self.lag(from: leader.store, to: follower.store)
      let plain = try Store(at: folder.appending(path: "plain").path)
      let local = Self.commits(to: plain, by: writerCount)
      print(
        "\(writerCount) writers: \(Int(shared)) commits/s over three servers, \(Int(local)) in a "
          + "local store; follower p50 \(lag.0) ms, p99 \(lag.1) ms after the write has returned; "
          + "\(size) commits an entry")
      try plain.close()
      try follower.close()
      try leader.close()
    }

    private static func commits(to store: Store, by writerCount: Int) -> Double {
      let count = Mutex(0)
      let end = ContinuousClock.now + .seconds(seconds)
      let text = String((0..<280).map { _ in "0123456789abcdef".randomElement() ?? "0" })
      let threads = DispatchGroup()
      for number in 0..<writerCount {
        threads.enter()
        Thread.detachNewThread {
          defer { threads.leave() }
          var done = 0
          while .now < end {
            do {
              let key = Key("\(number) \(done)")
              try store.writeOnAnyThread { try $0.put(text, for: key, in: texts) }
              done += 1
            } catch {
              Issue.record("a write failed: \(error)")
              break
            }
          }
          count.withLock { $0 += done }
        }
      }
      threads.wait()
      return Double(count.withLock(\.self)) / seconds
    }

    /// The time from the return of a write to the visibility of its commit in another replica.
    private static func lag(from store: Store, to other: Store) throws -> (Double, Double) {
      var times: [Double] = []
      for number in 0..<500 {
        let commit = try store.write { try $0.put("\(number)", for: "lag", in: texts) }.commit
        let start = ContinuousClock.now
        while other.newestCommit < commit { usleep(20) }
        times.append((ContinuousClock.now - start) / .milliseconds(1))
      }
      times.sort()
      return (times[times.count / 2], times[times.count * 99 / 100])
    }
  }
}
