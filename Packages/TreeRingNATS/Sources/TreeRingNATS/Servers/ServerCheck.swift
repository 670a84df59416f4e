// The check of the servers' configuration: a server that acknowledges before it syncs loses
// acknowledged entries in a power cut.

internal import Dispatch
internal import Foundation
internal import Logging
internal import Synchronization
internal import TreeRingReplication

/// The configuration of a server, as its address for monitoring shows it.
struct ServerConfiguration: Decodable, Sendable {
  struct JetStream: Decodable, Sendable {
    struct Config: Decodable, Sendable {
      var syncsAlways: Bool?
      enum CodingKeys: String, CodingKey { case syncsAlways = "sync_always" }
    }
    var config: Config?
  }

  var name: String
  var version: String
  var payloadLimit: Int
  var jetStream: JetStream?

  enum CodingKeys: String, CodingKey {
    case version
    case name = "server_name"
    case payloadLimit = "max_payload"
    case jetStream = "jetstream"
  }

  /// Major and minor version.
  var release: (Int, Int) {
    let numbers = version.split(separator: ".").map { Int($0) ?? 0 }
    return (numbers.first ?? 0, numbers.dropFirst().first ?? 0)
  }

  /// The properties that a log cannot have, each with its remedy.
  func problems(_ options: JetStreamOptions) -> [String] {
    var problems: [String] = []
    if release < (2, 12) {
      problems.append("The server \(name) has version \(version). Install 2.14 or later.")
    }
    guard let config = jetStream?.config else {
      return problems + ["JetStream is off in the server \(name). Configure a block jetstream."]
    }
    if config.syncsAlways != true, !options.allowsUnsafeConfiguration {
      problems.append(
        "The server \(name) acknowledges entries before it syncs them, and would lose them in a "
          + "power cut. Set sync_interval: always in the block jetstream of its configuration.")
    }
    if payloadLimit < options.entryByteLimit + StreamConfiguration.headerByteLimit {
      problems.append(
        "The server \(name) has max_payload \(payloadLimit), too small for entries of "
          + "\(options.entryByteLimit) bytes. Raise it.")
    }
    return problems
  }
}

/// The check of all servers of a log: once before its first call, then every minute beside them.
final class ServerCheck: Sendable {
  private struct State {
    /// The servers that passed, by their addresses.
    var names: [String: String] = [:]
    var problem: String?
    var isFirstDone = false
    var isRunning = false
    var next = ContinuousClock.now
  }

  private let options: JetStreamOptions
  private let state = Mutex(State())

  /// The time between two checks.
  private let interval: Duration

  init(_ options: JetStreamOptions, every interval: Duration) {
    (self.options, self.interval) = (options, interval)
  }

  /// The names of the servers that passed.
  var names: Set<String> { state.withLock { Set($0.names.values) } }

  /// Whether each address gave the configuration of a server.
  var isComplete: Bool { state.withLock { $0.names.count == options.monitorURLs.count } }

  /// Returns if the servers passed their last check. The first check must hear of a majority of
  /// them. Later ones run beside the log's calls.
  /// - Throws: `unavailable`; `refused` if any server has a problem.
  func pass(by deadline: ContinuousClock.Instant) throws(SharedLogError) {
    guard !options.monitorURLs.isEmpty else { return }
    while true {
      let (isDue, isFirstDone, problem) = state.withLock { state in
        let isDue = !state.isRunning && state.next <= .now
        if isDue { state.isRunning = true }
        return (isDue, state.isFirstDone, state.problem)
      }
      if isDue { DispatchQueue.global().async { [self] in run() } }
      if let problem { throw .refused(problem) }
      if isFirstDone { return }
      guard ContinuousClock.now < deadline else {
        throw .unavailable(
          "the servers' configuration cannot be checked: too few answer at "
            + options.monitorURLs.joined(separator: ", "))
      }
      Thread.sleep(forTimeInterval: 0.002)
    }
  }

  /// Asks all servers at once.
  private func run() {
    let urls = options.monitorURLs
    let results = Mutex<[Int: Result<ServerConfiguration, MonitorRequest.Failure>]>([:])
    DispatchQueue.concurrentPerform(iterations: urls.count) { index in
      let result = Self.ask(urls[index])
      results.withLock { $0[index] = result }
    }
    var problems: [String] = []
    var names: [String: String] = [:]
    for (index, result) in results.withLock(\.self).sorted(by: { $0.key < $1.key }) {
      switch result {
      case .success(let configuration):
        problems += configuration.problems(options)
        names[urls[index]] = configuration.name
        if configuration.release < (2, 14) {
          options.logger.warning("A server has version \(configuration.version), before 2.14")
        }
      case .failure(let failure):
        options.logger.warning("No answer from \(urls[index]): \(failure.reason)")
      }
    }
    let isFine = names.count == urls.count && problems.isEmpty
    state.withLock { state in
      state.isRunning = false
      state.problem = problems.isEmpty ? nil : problems.joined(separator: " ")
      for (url, name) in names { state.names[url] = name }
      if names.count * 2 > urls.count { state.isFirstDone = true }
      let pause = isFine ? interval : interval / 6
      state.next = .now + (state.isFirstDone ? pause : .milliseconds(100))
    }
  }

  private static func ask(
    _ url: String
  ) -> Result<ServerConfiguration, MonitorRequest.Failure> {
    let address = url.hasSuffix("/") ? "\(url)varz" : "\(url)/varz"
    do throws(MonitorRequest.Failure) {
      let bytes = try MonitorRequest.body(of: address, within: .seconds(1))
      do {
        return .success(try JSONDecoder().decode(ServerConfiguration.self, from: Data(bytes)))
      } catch {
        return .failure(MonitorRequest.Failure(reason: "its answer cannot be read: \(error)"))
      }
    } catch {
      return .failure(error)
    }
  }
}
