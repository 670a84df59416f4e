// Replicas over three real servers: writers commit on whichever leads, while servers and replicas
// are killed, frozen, cut off and lose power. In the end every acknowledged commit is there once,
// in the order of its writer, and all replicas are equal.

import Foundation
import Logging
import Synchronization
import Testing
import TreeRing
import TreeRingReplication

@testable import TreeRingNATS

extension NATSTests {
  @Suite struct ReplicaFaultTests {
    /// The number of faults: a few in a test of seconds, hundreds with TREERING_NATS_FAULTS.
    private static let faultCount =
      ProcessInfo.processInfo.environment["TREERING_NATS_FAULTS"].flatMap { Int($0) } ?? 4
    /// The number of commits after which there is a fault.
    private static let commitsPerFault =
      ProcessInfo.processInfo.environment["TREERING_NATS_COMMITS"].flatMap { Int($0) } ?? 500

    @Test("Whatever fails, no acknowledged commit is lost or doubled, and all replicas are equal")
    func faults() throws {
      let kinds = Fault.allCases.filter {
        ($0.cut == nil || ServerNetwork.obstacle == nil)
          && ($0 != .cutPower || ServerDisks.obstacle == nil)
      }
      try run((0..<Self.faultCount).map { _ in kinds })
    }

    @Test(
      "Servers cut from each other, from their clients or from both lose and double no commit",
      .enabled(if: ServerNetwork.obstacle == nil, "\(ServerNetwork.obstacle ?? "")"))
    func partitions() throws {
      try run([[.cutLeader], [.cutLeaderFromServers], [.cutLeaderFromClients], [.cutFollower]])
    }

    @Test(
      "After a power cut of all servers every acknowledged commit is there, and replicas go on",
      .enabled(if: ServerDisks.obstacle == nil, "\(ServerDisks.obstacle ?? "")"))
    func powerCuts() throws {
      try run([[.cutPower], [.cutPower]])
    }

    /// Makes faults while writers commit, and judges the commits.
    /// - Parameter faults: For each fault the kinds to choose from.
    private func run(_ faults: [[Fault]]) throws {
      let seed = UInt64.random(in: 0 ... .max)
      print("seed \(seed), \(faults.count) faults")
      var random = SplitMix(state: seed)
      let fleet = try Fleet()
      let writers = Writers(fleet, count: 64)
      defer { writers.end() }
      for (index, kinds) in faults.enumerated() {
        writers.await(Self.commitsPerFault * (index + 1))
        let fault = kinds.randomElement(using: &random) ?? .killLeader
        try fleet.make(fault, &random)
        print("fault \(index + 1), \(fault): \(writers.count) commits")
      }
      writers.await(Self.commitsPerFault * (faults.count + 1))
      writers.end()
      try fleet.judge(writers)
    }
  }
}

/// The kinds of faults.
private enum Fault: CaseIterable {
  case killLeader, killFollower, freezeLeader, changeWriter, dropWriter, dropReader, loseFolder
  case cutLeader, cutLeaderFromServers, cutLeaderFromClients, cutFollower, cutPower

  /// The networks from which a server is cut; nil if the fault is not a partition.
  var cut: [ServerNetwork.Side]? {
    switch self {
    case .cutLeader, .cutFollower: ServerNetwork.Side.allCases
    case .cutLeaderFromServers: [.servers]
    case .cutLeaderFromClients: [.clients]
    default: nil
    }
  }
}

/// Three servers and three replicas.
private final class Fleet: Sendable {
  static let notes = Bucket<Int>("notes")
  let servers: JetStreamServers
  private let folder: URL
  private let replicas: Mutex<[Replica]>
  private let writer = Mutex(0)
  /// Held while replicas are opened, or the leader changes.
  private let changing = Mutex(())

  init() throws {
    servers = try JetStreamServers(
      3, canBeCut: ServerNetwork.obstacle == nil, canLosePower: ServerDisks.obstacle == nil)
    folder = FileManager.default.temporaryDirectory.appending(path: "fleet-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let (servers, folder) = (servers, folder)
    replicas = Mutex(try (0..<3).map { try Self.open($0, servers, folder) })
    try replicas.withLock(\.self)[0].lead()
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private static func open(
    _ index: Int, _ servers: JetStreamServers, _ folder: URL
  ) throws -> Replica {
    var options = ReplicaOptions(name: "r\(index)", limit: .seconds(40))
    options.store.logger.logLevel = .critical
    return try Replica(
      at: folder.appending(path: "r\(index)").path, of: servers.log("replicas"), options: options)
  }

  /// The replica that should lead.
  var leader: Replica { replicas.withLock { $0[writer.withLock(\.self)] } }

  func make(_ fault: Fault, _ random: inout some RandomNumberGenerator) throws {
    let current = writer.withLock(\.self)
    let other = (current + Int.random(in: 1...2, using: &random)) % 3
    switch fault {
    case .cutPower: try servers.cutPower()
    case .killLeader, .freezeLeader, .killFollower, .cutLeader, .cutLeaderFromServers,
      .cutLeaderFromClients, .cutFollower:
      var server = try servers.awaitLeader(of: "replicas")
      if fault == .killFollower || fault == .cutFollower { server = (server + 1) % 3 }
      if let sides = fault.cut {
        try servers.set(server, sides, isConnected: false)
        usleep(UInt32.random(in: 1_000_000...6_000_000, using: &random))
        try servers.set(server, sides, isConnected: true)
      } else if fault == .freezeLeader {
        servers.freeze(server)
        usleep(6_000_000)
        servers.thaw(server)
      } else {
        servers.kill(server)
        usleep(UInt32.random(in: 100_000...3_000_000, using: &random))
        try servers.start(server)
      }
    default:
      try changing.withLock { _ in
        if fault == .dropWriter { try reopen(current, losingFolder: false) }
        if fault == .changeWriter || fault == .dropWriter { return try lead(other) }
        try reopen(other, losingFolder: fault == .loseFolder)
      }
    }
  }

  private func lead(_ index: Int) throws {
    for _ in 0..<5 {
      do {
        try replicas.withLock(\.self)[index].lead()
        writer.withLock { $0 = index }
        return
      } catch let error as TreeRingError where error.code == .unavailable {}
    }
    throw JetStreamServers.Failure(description: "replica \(index) cannot lead")
  }

  private func reopen(_ index: Int, losingFolder: Bool) throws {
    let old = replicas.withLock(\.self)[index]
    try? old.close()
    if losingFolder {
      try FileManager.default.removeItem(at: folder.appending(path: "r\(index)"))
    }
    do {
      let replica = try Self.open(index, servers, folder)
      replicas.withLock { $0[index] = replica }
    } catch let error as TreeRingError where error.code == .diverged {
      try describe(error, index)
      throw error
    }
  }

  /// Prints what the folder of a replica and the log hold around a commit.
  private func describe(_ error: TreeRingError, _ index: Int) throws {
    print("replica \(index): \(error)")
    let store = try Store(at: folder.appending(path: "r\(index)").path)
    defer { try? store.close() }
    let commit = error.commit ?? store.newestCommit
    for number in max(1, commit - 3)...store.newestCommit {
      print("  here: commit \(number): \(try store.commit(number).note ?? "")")
    }
    let log = try servers.log("replicas")
    let last = try log.ends(within: .seconds(20)).last
    for number in max(1, last - 400)...last {
      guard let entry = try log.read(from: number, byteLimit: 1, within: .seconds(5)).first
      else { continue }
      let field = { (at: Int) in
        entry[at..<at + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      }
      let (first, end) = (field(40), field(48))
      if end + 5 < commit || first > commit + 60 { continue }
      print(
        "  log: entry \(number), kind \(entry[5]), commits \(first) to \(end), id \(field(16)), "
          + "after \(field(24)), part \(entry[32])")
    }
  }

  /// Opens the replica that should lead again, after a write whose outcome is not known.
  func recover() throws {
    try changing.withLock { _ in
      let current = writer.withLock(\.self)
      try reopen(current, losingFolder: false)
      try lead(current)
    }
  }

  func judge(_ writers: Writers) throws {
    let replicas = replicas.withLock(\.self)
    try expectEqual(replicas, in: Self.notes)
    let count = try expectCommits(of: replicas[1].store, acknowledged: writers.acknowledged)
    print(
      "\(count) acknowledged commits of \(replicas[1].store.newestCommit); none is lost or doubled")
    for replica in replicas { try replica.close() }
  }
}

/// Threads that commit one row each, again and again.
private final class Writers: Sendable {
  private struct State {
    var acknowledged: [Int: [Int]] = [:]
    var count = 0
    var isOver = false
  }
  /// The pause of a writer after each commit, in microseconds. It bounds the commits of long runs,
  /// which a replica that has lost its folder reads again.
  private static let pause =
    ProcessInfo.processInfo.environment["TREERING_NATS_PAUSE"].flatMap { UInt32($0) } ?? 0
  private let state = Mutex(State())
  private let recovering = Mutex(())
  private let threads = DispatchGroup()

  init(_ fleet: Fleet, count: Int) {
    for number in 0..<count {
      threads.enter()
      Thread.detachNewThread { [self] in
        run(number, fleet)
        threads.leave()
      }
    }
  }

  var count: Int { state.withLock(\.count) }
  var acknowledged: [Int: [Int]] { state.withLock(\.acknowledged) }

  func await(_ count: Int) {
    let deadline = ContinuousClock.now + .seconds(120)
    while self.count < count {
      guard .now < deadline else {
        Issue.record("the writers have stopped at \(self.count) commits")
        return
      }
      usleep(5_000)
    }
  }

  func end() {
    state.withLock { $0.isOver = true }
    threads.wait()
  }

  private func run(_ number: Int, _ fleet: Fleet) {
    var round = 0
    while !state.withLock(\.isOver) {
      round += 1
      let replica = fleet.leader
      do {
        try replica.store.write { tx in
          tx.note = "\(number) \(round)"
          try tx.put(round, for: Key("\(number)"), in: Fleet.notes)
        }
        state.withLock { state in
          state.acknowledged[number, default: []].append(round)
          state.count += 1
        }
        if Self.pause > 0 { usleep(Self.pause) }
      } catch let error as TreeRingError {
        switch error.code {
        // Another replica leads, or soon will.
        case .notLeader, .unavailable, .closed: usleep(20_000)
        case .unknown, .poisoned:
          recovering.withLock { _ in
            guard replica === fleet.leader else { return }
            do { try fleet.recover() } catch { Issue.record("a replica did not recover: \(error)") }
          }
        default: Issue.record("a write failed: \(error)")
        }
      } catch { Issue.record("a write failed: \(error)") }
    }
  }
}
