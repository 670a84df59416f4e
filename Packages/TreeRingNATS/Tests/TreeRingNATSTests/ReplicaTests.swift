// Replicas of a store over JetStream.

import Foundation
import Synchronization
import Testing
import TreeRing
import TreeRingNATS
import TreeRingReplication

extension NATSTests {
  @Suite struct ReplicaTests {
    @Test(
      "Replicas keep every commit while the log loses its leader, and take over from each other")
    func failover() throws {
      let servers = try JetStreamServers(3)
      let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let bucket = Bucket<Int>("numbers")
      func replica(_ name: String) throws -> Replica {
        let path = folder.appending(path: name).path
        return try Replica(
          at: path, of: servers.log("log"), options: ReplicaOptions(name: name))
      }
      let (first, second) = (try replica("first"), try replica("second"))
      try first.lead()
      func write(_ numbers: Range<Int>, by replica: Replica) throws {
        for number in numbers {
          try replica.store.write { tx in
            try tx.put(number, for: Key("\(number)"), in: bucket)
          }
        }
      }
      try write(0..<50, by: first)
      let leader = try servers.awaitLeader(of: "log")
      servers.kill(leader)
      let start = ContinuousClock.now
      try write(50..<100, by: first)
      print("writes beside the loss of a leader take \(ContinuousClock.now - start)")
      try servers.start(leader)
      try second.lead()
      try write(100..<150, by: second)
      // The first one learns that it leads no more.
      #expect(throws: TreeRingError.self) {
        try write(1000..<1001, by: first)
      }
      try first.catchUp()
      for replica in [first, second] {
        let snapshot = try replica.store.snapshot()
        for number in 0..<150 {
          let row = try snapshot.get(Key("\(number)"), in: bucket)
          #expect(row == number)
        }
        let extra = try snapshot.get("1000", in: bucket)
        #expect(extra == nil)
      }
      try first.close()
      try second.close()
    }
  }
}
