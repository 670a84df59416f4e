// Histories of three replicas over a log with faults: replicas take over, write, fail, and open
// again on the disks that they left. In the end no acknowledged commit is lost or there twice, and
// all replicas are equal.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingReplication

struct ReplicaHistoryTests {
  /// One history. Replicas fail without being closed: what they have not synced is lost.
  private final class History {
    let seed: UInt64
    let log: FaultyLog
    private var random: SeededGenerator
    private var disks: [SimulatedFileSystem]
    private var replicas: [Replica?] = [nil, nil, nil]
    private(set) var acknowledged: [String] = []
    private(set) var refused: [String] = []

    init(seed: UInt64) {
      self.seed = seed
      log = FaultyLog(MemoryLog(entryByteLimit: 65_536), seed: seed, faults: LogFaults())
      random = SeededGenerator(seed: seed)
      disks = (0..<3).map { SimulatedFileSystem(seed: seed &+ UInt64($0)) }
    }

    /// The replica of a number, opened if it is not.
    func replica(_ index: Int, limit: Duration = .milliseconds(150)) throws -> Replica {
      if let replica = replicas[index] { return replica }
      let replica = try Replica(
        path: "store", fileSystem: disks[index], of: log,
        options: ReplicaOptions(
          name: "r\(index)", store: StoreOptions(segmentSize: 20_000, logger: quietLogger),
          limit: limit))
      replicas[index] = replica
      return replica
    }

    func step(_ number: Int) throws {
      let index = Int.random(in: 0..<3, using: &random)
      switch Int.random(in: 0..<12, using: &random) {
      case 0: try attempt { try replica(index).lead() }
      case 1: fail(index)
      case 2: try attempt { try replica(index).catchUp() }
      case 3: log.set { $0 = LogFaults() }
      case 4:
        let faults: LogFaults = Bool.random(using: &random) ? .many : LogFaults()
        log.set { $0 = faults }
      default: try write("s\(number)", index)
      }
    }

    private func write(_ name: String, _ index: Int) throws {
      let size = [10, 1_000, 100_000].randomElement(using: &random) ?? 10
      let text = String((0..<size).map { _ in "abcdefghij".randomElement(using: &random) ?? "a" })
      do {
        let replica = try replica(index)
        try replica.store.write { tx in
          tx.note = name
          try tx.put(text, for: Key("k\(name.count)"), in: texts)
        }
        acknowledged.append(name)
      } catch let error as TreeRingError {
        switch error.code {
        case .notLeader: refused.append(name)
        case .unavailable: break
        // Only the shared log knows.
        case .unknown, .poisoned: fail(index)
        default: throw error
        }
      }
    }

    /// Drops a replica as a crash of its machine does.
    private func fail(_ index: Int) {
      guard let replica = replicas[index] else { return }
      let disk = disks[index]
      disks[index] =
        Bool.random(using: &random) ? disk.afterKill() : disk.afterCrash(seed: random.next())
      replicas[index] = nil
      // The closed store writes to the disk that the crash has left behind.
      try? replica.close()
    }

    private func attempt(_ body: () throws -> Void) throws {
      do { try body() } catch let error as TreeRingError {
        guard error.code == .unavailable else { throw error }
      }
    }

    func finish() throws {
      log.heal()
      for index in 0..<3 {
        fail(index)
        try replica(index, limit: .seconds(20)).catchUp()
      }
      let stores = replicas.compactMap { $0?.store }
      let notes = try stores.map { store in
        try (1..<(store.newestCommit + 1)).compactMap { try store.commit($0).note }
      }
      for (index, store) in stores.enumerated() {
        #expect(try contents(store) == contents(stores[0]), "seed \(seed), replica \(index)")
        #expect(notes[index] == notes[0], "seed \(seed), replica \(index)")
      }
      #expect(Set(notes[0]).count == notes[0].count, "seed \(seed): a commit is there twice")
      #expect(Set(acknowledged).isSubset(of: notes[0]), "seed \(seed): a commit was lost")
      #expect(Set(refused).isDisjoint(with: notes[0]), "seed \(seed): a refused commit is there")
      #expect(
        notes[0].filter(Set(acknowledged).contains) == acknowledged, "seed \(seed): the order")
      for replica in replicas { try replica?.close() }
    }
  }

  @Test(
    "Whatever the log and the disks do, no acknowledged commit is lost or doubled, and all agree",
    arguments: seeds(1...30))
  func histories(seed: UInt64) throws {
    let history = History(seed: seed)
    for number in 0..<60 { try history.step(number) }
    try history.finish()
    #expect(history.acknowledged.count + history.refused.count > 0)
  }
}
