// Processes that write, over three real servers: they are killed, frozen and overtaken under load.

import Foundation
import Logging
import Testing
import TreeRing
import TreeRingReplication

@testable import TreeRingNATS

extension NATSTests {
  @Suite struct WriterProcessTests {
    /// The end of a writer's life.
    private enum End: CaseIterable {
      /// It is killed, and the next one begins after that.
      case killed
      /// The next one takes the lead while it writes.
      case overtaken
      /// It stands still while the next one takes the lead, and then goes on.
      case frozen
    }

    @Test("Writers that are killed, frozen or overtaken lose and double no acknowledged commit")
    func lives() throws {
      let environment = ProcessInfo.processInfo.environment
      let count = environment["TREERING_NATS_LIVES"].flatMap { Int($0) } ?? 6
      let seed = UInt64.random(in: 0 ... .max)
      print("seed \(seed), \(count) writers")
      var random = SplitMix(state: seed)
      let fleet = try WriterFleet()
      defer { fleet.end() }
      for life in 1...count {
        let end = life == 1 ? .killed : End.allCases[(life - 2) % 3]
        switch end {
        case .killed: try fleet.kill()
        case .frozen: fleet.freeze()
        case .overtaken: break
        }
        let last = try fleet.start(life)
        try fleet.await(Int.random(in: 1...1_500, using: &random), of: life)
        if let last, end != .killed { try fleet.expectFenced(last) }
        print("writer \(life), after one that was \(end): \(try fleet.count(of: life)) commits")
      }
      try fleet.kill()
      let replicas = try fleet.replicas()
      try expectEqual(replicas, in: Bucket<Int>("notes"))
      var acknowledged: [Int: [Int]] = [:]
      for life in 1...count { acknowledged.merge(try fleet.acknowledged(by: life)) { $0 + $1 } }
      let found = try expectCommits(of: replicas[0].store, acknowledged: acknowledged)
      print("\(found) acknowledged commits of \(replicas[0].store.newestCommit)")
      for replica in replicas { try replica.close() }
    }
  }
}

/// Writers as processes, one at a time but for changes, in two folders.
private final class WriterFleet {
  struct Writer {
    var life: Int
    var place: String
    var process: pid_t
  }

  private static let stream = "writers"
  private let servers: JetStreamServers
  private let folder: URL
  private var current: Writer?
  private var processes: [pid_t] = []

  init() throws {
    servers = try JetStreamServers(3)
    folder = FileManager.default.temporaryDirectory.appending(path: "lives-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  /// Kills the writers that still run, and removes their folders.
  func end() {
    for process in processes { signal(process, SIGKILL) }
    try? FileManager.default.removeItem(at: folder)
  }

  private func signal(_ process: pid_t, _ number: Int32) {
    if waitpid(process, nil, WNOHANG) == 0 { sendSignal(number, to: process) }
  }

  /// Kills the writer, if there is one.
  func kill() throws {
    guard let writer = current else { return }
    sendSignal(SIGKILL, to: writer.process)
    let code = exitCode(of: writer.process, within: .seconds(5))
    let text = try output(writer.life)
    #expect(code == 128 + SIGKILL, "writer \(writer.life) had ended: \(text.suffix(300))")
    processes.removeAll { $0 == writer.process }
  }

  func freeze() { if let current { sendSignal(SIGSTOP, to: current.process) } }

  /// Starts a writer in the folder in which the one before it is not.
  /// - Returns: The one before it.
  func start(_ life: Int) throws -> Writer? {
    let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
      .appending(path: "ReplicaWriter").path
    let place = current?.place == "a" ? "b" : "a"
    let process = try spawn(
      [
        program, folder.appending(path: place).path, Self.stream, "\(life)", "64",
        servers.urls.joined(separator: ","), servers.monitorURLs.joined(separator: ","),
      ], output: file(life))
    processes.append(process)
    defer { current = Writer(life: life, place: place, process: process) }
    return current
  }

  /// Waits for acknowledged commits of a writer.
  func await(_ wanted: Int, of life: Int) throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while try count(of: life) < wanted {
      guard .now < deadline, try !output(life).contains("error") else {
        throw JetStreamServers.Failure(
          description: "writer \(life) does not write: \(try output(life).suffix(300))")
      }
      usleep(10_000)
    }
  }

  /// Expects a writer that another one has overtaken to end without a further commit.
  func expectFenced(_ writer: Writer) throws {
    sendSignal(SIGCONT, to: writer.process)
    let code = exitCode(of: writer.process, within: .seconds(40))
    let text = try output(writer.life)
    #expect(code == 0 && text.contains("fenced"), "writer \(writer.life): \(text.suffix(300))")
    processes.removeAll { $0 == writer.process }
  }

  /// Replicas in both folders, and in a new one.
  func replicas() throws -> [Replica] {
    try ["a", "b", "c"].map { place in
      var options = ReplicaOptions(name: place)
      options.store.logger.logLevel = .critical
      return try Replica(
        at: folder.appending(path: place).path, of: servers.log(Self.stream), options: options)
    }
  }

  func count(of life: Int) throws -> Int { try output(life).utf8.count { $0 == 10 } }

  func acknowledged(by life: Int) throws -> [Int: [Int]] {
    var result: [Int: [Int]] = [:]
    for line in try output(life).split(separator: "\n") {
      let numbers = line.split(separator: " ").compactMap { Int($0) }
      if numbers.count == 2 { result[numbers[0], default: []].append(numbers[1]) }
    }
    return result
  }

  private func file(_ life: Int) -> String { folder.appending(path: "output-\(life)").path }

  private func output(_ life: Int) throws -> String {
    try String(contentsOfFile: file(life), encoding: .utf8)
  }
}
