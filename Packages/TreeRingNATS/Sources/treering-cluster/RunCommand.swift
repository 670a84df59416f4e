// `run`: keeps a replica in a folder until it is told to end.

import ArgumentParser
import Foundation
import TreeRing
import TreeRingImport
import TreeRingNATS
import TreeRingReplication

struct RunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Keeps a replica of the store in a folder.",
    discussion: """
      Prints a line when its state changes, and ends after SIGTERM or Ctrl-C. Other programs, such \
      as `treering serve`, read the folder meanwhile.
      """)

  @Argument(help: "The folder; made if it does not exist.")
  var folder: String
  @OptionGroup var log: LogArguments
  @Option(help: "The name of the replica, different from all others.")
  var name = ProcessInfo.processInfo.hostName
  @Flag(help: "Lead at once.")
  var lead = false
  @Flag(help: "Lead when no other replica does.")
  var failover = false
  @Option(
    help: "A file of commits as JSON Lines, also compressed, to write first. It leads for that.")
  var `import`: String?
  @Flag(
    help: """
      Begin an empty log with the commits of the folder. Without it, a folder that has commits is \
      refused: the log may have lost its entries.
      """)
  var begin = false
  @OptionGroup var base: BaseArguments
  @Option(help: "The seconds to wait for the log before a write or the opening fails.")
  var limit = 30

  func validate() throws {
    if limit < 1 { throw ValidationError("--limit is at least one second.") }
  }

  func run() throws {
    let signals = Signals()
    let options = log.options
    let registry = ReplicaRegistry(options)
    if let line = try base.fetch(into: folder) { say(line) }
    let replica = try Replica(
      at: folder, of: JetStreamLog(options),
      options: ReplicaOptions(
        name: name, limit: .seconds(limit),
        failover: failover ? Failover(lease: JetStreamLease(options)) : nil, mayBeginLog: begin))
    var shown: ReplicaReport?
    if lead || self.import != nil { try replica.lead() }
    if let file = self.import {
      try write(file, to: replica, until: signals) { report(replica, registry, &shown) }
    }
    while !signals.hasEnded {
      report(replica, registry, &shown)
      if let failure = replica.status.failure {
        try? replica.close()
        throw failure
      }
      if !replica.status.isLeading, (try? registry.takeWish(for: name)) == true {
        do {
          try replica.lead()
        } catch let error as TreeRingError where error.code == .unavailable {
          // It goes on following; `lead` reports that it does not lead.
          say("\(name) cannot lead: \(error)")
        }
      }
      signals.wait(atMost: .seconds(1))
    }
    try replica.close()
  }

  /// Publishes the state of the replica, and prints it if it has changed.
  private func report(
    _ replica: Replica, _ registry: ReplicaRegistry, _ shown: inout ReplicaReport?
  ) {
    let report = ReplicaReport(
      replica.status, name: name, host: ProcessInfo.processInfo.hostName)
    if report.differs(from: shown) { say(report.line) }
    shown = report
    // `status` does not show a replica that cannot reach the servers.
    try? registry.publish(report)
  }

  /// Prints a line at once, also into a pipe.
  private func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }

  /// Writes the commits of a file that the store does not have yet. The file's commits are those of
  /// the store from the first on.
  /// - Parameter tick: Called every second.
  private func write(
    _ file: String, to replica: Replica, until signals: Signals, tick: () -> Void
  ) throws {
    var reader = CommitReader(LineReader(files: [file]))
    var skipped = replica.store.newestCommit
    var count = 0
    var next = ContinuousClock.now
    while !signals.hasEnded, try reader.next() {
      if skipped > 0 {
        skipped -= 1
        continue
      }
      try replica.store.write { tx in try reader.line.apply(to: tx) }
      count += 1
      if ContinuousClock.now >= next {
        tick()
        signals.wait(atMost: .seconds(0))
        next = .now + .seconds(1)
      }
    }
    say("\(count) commits written")
  }
}

extension ReplicaReport {
  /// Whether it tells people something new.
  func differs(from other: ReplicaReport?) -> Bool {
    guard let other else { return true }
    return isLeading != other.isLeading || commit != other.commit || problem != other.problem
  }

  var line: String {
    let role = isLeading ? "leads" : "follows"
    let behind = lag > 0 ? ", \(lag) entries behind" : ""
    return "\(name) \(role), commit \(commit)\(behind)" + (problem.map { ": \($0)" } ?? "")
  }
}

/// The signals that end the command.
final class Signals {
  private let end = DispatchSemaphore(value: 0)
  private let sources: [any DispatchSourceSignal]
  private(set) var hasEnded = false

  init() {
    let end = end
    sources = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { end.signal() }
      source.resume()
      return source
    }
  }

  func wait(atMost limit: DispatchTimeInterval) {
    if end.wait(timeout: .now() + limit) == .success { hasEnded = true }
  }
}
