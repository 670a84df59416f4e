// Real servers on the loopback interface, which tests kill, freeze and start again by their process
// numbers.

import Foundation
import Logging
import Synchronization
import TreeRingReplication

@testable import TreeRingNATS

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// One server, or three that form a cluster, with stores in a temporary folder. The end of the
/// object's life kills them and removes the folder.
final class JetStreamServers: Sendable {
  /// A failure of the servers themselves.
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  private struct Server: Sendable {
    var name: String
    var host: String
    var clientPort: Int
    var monitorPort: Int
    var processNumber: pid_t = 0
  }

  private let folder: URL
  private let servers: Mutex<[Server]>
  /// The network of the servers; nil if they are on the loopback interface.
  private let network: ServerNetwork?
  /// The disks of the servers; nil if they share that of the test.
  private let disks: ServerDisks?
  /// Kills the servers if this process ends without doing so.
  private let reaper: Reaper

  /// The program, from Tools/nats-server.
  static var program: String? { ProcessInfo.processInfo.environment["TREERING_NATS_SERVER"] }

  /// Starts servers.
  /// - Parameters:
  ///   - count: One or three.
  ///   - sync: The value of `sync_interval`.
  ///   - further: Further lines of the configuration.
  ///   - canBeCut: Gives the servers a network in which they can be cut from each other.
  ///   - canLosePower: Gives them disks that lose what was not synced.
  init(
    _ count: Int, sync: String = "always", further: String = "", canBeCut: Bool = false,
    canLosePower: Bool = false
  ) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "nats-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let ports = try Self.freePorts(3 * count)
    let names = (0..<count).map { "n\($0 + 1)" }
    let network = canBeCut ? try ServerNetwork(count) : nil
    let disks = canLosePower ? try ServerDisks(names, in: folder) : nil
    (self.network, self.disks) = (network, disks)
    func host(_ index: Int, _ side: ServerNetwork.Side) -> String {
      network?.host(index, side) ?? "127.0.0.1"
    }
    let routes = (0..<count).map { "nats://\(host($0, .servers)):\(ports[3 * $0 + 2])" }
    var servers: [Server] = []
    for index in 0..<count {
      let name = names[index]
      let cluster =
        count == 1
        ? ""
        : "cluster { name: log, host: \(host(index, .servers)), port: \(ports[3 * index + 2]), "
          + "routes: [\(routes.joined(separator: ", "))] }"
      let text = """
        server_name: \(name)
        host: \(host(index, .clients))
        port: \(ports[3 * index])
        max_payload: 2MB
        jetstream { store_dir: "\(folder.path)/\(name)", max_file: 4GB, sync_interval: \(sync) }
        \(cluster)
        http: \(host(index, .clients)):\(ports[3 * index + 1])
        pid_file: "\(folder.path)/\(name).pid"
        \(further)

        """
      try Data(text.utf8).write(to: folder.appending(path: "\(name).conf"))
      servers.append(
        Server(
          name: name, host: host(index, .clients), clientPort: ports[3 * index],
          monitorPort: ports[3 * index + 1]))
    }
    self.servers = Mutex(servers)
    reaper = try Reaper(folder, [network?.removal, disks?.removal])
    for index in 0..<count { try start(index) }
    try waitUntilReady()
  }

  deinit {
    for index in 0..<count { kill(index) }
  }

  var count: Int { servers.withLock { $0.count } }
  var urls: [String] { servers.withLock { $0.map { "nats://\($0.host):\($0.clientPort)" } } }
  var monitorURLs: [String] {
    servers.withLock { $0.map { "http://\($0.host):\($0.monitorPort)" } }
  }

  /// The options of a log on these servers.
  func options(_ stream: String) -> JetStreamOptions {
    var options = JetStreamOptions(urls: urls, stream: stream, monitorURLs: monitorURLs)
    options.logger.logLevel = .error
    if count == 1 {
      options.replicaCount = 1
      options.allowsUnsafeConfiguration = true
    }
    return options
  }

  func log(_ stream: String) throws -> JetStreamLog { try JetStreamLog(options(stream)) }

  /// The ports are free at this moment. All are taken before the first is given back.
  private static func freePorts(_ count: Int) throws -> [Int] {
    var descriptors: [Int32] = []
    defer { for descriptor in descriptors { close(descriptor) } }
    return try (0..<count).map { _ in
      #if canImport(Darwin)
        let descriptor = socket(AF_INET, SOCK_STREAM, 0)
      #else
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      #endif
      descriptors.append(descriptor)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let status = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          bind(descriptor, pointer, size) == 0 ? getsockname(descriptor, pointer, &size) : -1
        }
      }
      guard status == 0 else { throw Failure(description: "there is no free port") }
      return Int(UInt16(bigEndian: address.sin_port))
    }
  }

  // MARK: Processes

  /// Starts a server, or starts it again.
  func start(_ index: Int) throws {
    guard let program = Self.program else {
      throw Failure(description: "TREERING_NATS_SERVER names no server; run Tools/test-nats")
    }
    let name = servers.withLock { $0[index].name }
    let number = try spawn(
      (network?.prefix(index) ?? []) + [
        program, "-c", folder.appending(path: "\(name).conf").path,
      ],
      output: folder.appending(path: "\(name).log").path)
    servers.withLock { $0[index].processNumber = number }
  }

  /// Changes the configuration of a server, for its next start.
  func configure(_ index: Int, _ setting: String, as other: String) throws {
    let file = folder.appending(path: "n\(index + 1).conf")
    let text = try String(contentsOf: file, encoding: .utf8)
    try Data(text.replacingOccurrences(of: setting, with: other).utf8).write(to: file)
  }

  /// Kills a server without notice, and reaps its process.
  func kill(_ index: Int) {
    let number = servers.withLock { servers in
      defer { servers[index].processNumber = 0 }
      return servers[index].processNumber
    }
    guard number > 0 else { return }
    sendSignal(SIGKILL, to: number)
    waitpid(number, nil, 0)
    try? FileManager.default.removeItem(at: folder.appending(path: "n\(index + 1).pid"))
  }

  /// Stops a server's process without ending it.
  func freeze(_ index: Int) { signal(index, SIGSTOP) }

  /// Lets a stopped process continue.
  func thaw(_ index: Int) { signal(index, SIGCONT) }

  /// Cuts a server from its clients, from the other servers, or from both, or connects it again.
  func set(
    _ index: Int, _ sides: [ServerNetwork.Side] = ServerNetwork.Side.allCases, isConnected: Bool
  ) throws {
    try network?.set(index, sides, isConnected: isConnected)
  }

  /// Cuts the power of all servers at one moment, and starts them again with the disks they have.
  func cutPower() throws {
    for index in 0..<count { freeze(index) }
    try disks?.cutPower()
    for index in 0..<count { kill(index) }
    try disks?.mountAgain()
    for index in 0..<count { try start(index) }
  }

  private func signal(_ index: Int, _ signal: Int32) {
    let number = servers.withLock { $0[index].processNumber }
    if number > 0 { sendSignal(signal, to: number) }
  }

  /// Kills all servers, runs a closure, and starts them again.
  func stopped(_ body: () throws -> Void) throws {
    for index in 0..<count { kill(index) }
    try body()
    for index in 0..<count { try start(index) }
    try waitUntilReady()
  }

  /// Copies what the servers have stored, while they are stopped.
  func copyStores(to name: String) throws {
    try shell("cd \(folder.path)\nmkdir \(name)\ncp -a n? \(name)")
  }

  /// Sets the servers back to a copy of what they had stored, while they are stopped.
  func restoreStores(from name: String) throws {
    try shell("cd \(folder.path)\nrm -r n?\ncp -a \(name)/n? .")
  }

  // MARK: State

  /// Waits until a log can be made: JetStream has a leader and all servers are in its cluster.
  private func waitUntilReady() throws {
    let deadline = ContinuousClock.now + .seconds(30)
    let monitors = monitorURLs
    while ContinuousClock.now < deadline {
      let isReady = monitors.allSatisfy { url in
        guard let state = Self.json("\(url)/jsz") else { return false }
        guard monitors.count > 1 else { return true }
        let cluster = state["meta_cluster"] as? [String: Any]
        return cluster?["leader"] is String
          && cluster?["cluster_size"] as? Int == monitors.count
          && (Self.json("\(url)/healthz")?["status"] as? String) == "ok"
      }
      if isReady { return }
      usleep(50_000)
    }
    throw Failure(description: "the servers are not ready after 30 seconds")
  }

  /// The index of the server that leads a stream; nil if none is known.
  func leader(of stream: String) -> Int? {
    for url in monitorURLs {
      guard let state = Self.json("\(url)/jsz?streams=true&accounts=true"),
        let accounts = state["account_details"] as? [[String: Any]]
      else { continue }
      for detail in accounts.flatMap({ $0["stream_detail"] as? [[String: Any]] ?? [] })
      where detail["name"] as? String == stream {
        let name = (detail["cluster"] as? [String: Any])?["leader"] as? String
        if let name, let index = servers.withLock({ $0.firstIndex { $0.name == name } }),
          servers.withLock({ $0[index].processNumber > 0 })
        {
          return index
        }
      }
    }
    return nil
  }

  /// Waits for the leader of a stream.
  func awaitLeader(of stream: String) throws -> Int {
    let deadline = ContinuousClock.now + .seconds(20)
    while ContinuousClock.now < deadline {
      if let leader = leader(of: stream) { return leader }
      usleep(50_000)
    }
    throw Failure(description: "the stream \(stream) has no leader after 20 seconds")
  }

  private static func json(_ address: String) -> [String: Any]? {
    guard let body = try? MonitorRequest.body(of: address, within: .milliseconds(500)) else {
      return nil
    }
    return try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]
  }
}

/// A shell that waits for the end of its input, which comes with the end of this process at the
/// latest, kills the servers of a folder that are left, and removes their networks and disks.
private final class Reaper: Sendable {
  private let descriptor: Int32
  private let processNumber: pid_t

  init(_ folder: URL, _ removals: [String?]) throws {
    var pipes: [Int32] = [0, 0]
    guard pipe(&pipes) == 0 else { throw JetStreamServers.Failure(description: "no pipe") }
    for descriptor in pipes { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    descriptor = pipes[1]
    let script = """
      trap "" HUP INT TERM
      read line
      for file in "$0"/*.pid; do [ ! -e "$file" ] || kill -9 "$(cat "$file")"; done
      \(removals.compactMap(\.self).joined(separator: "\n"))
      rm -rf "$0"
      """
    processNumber = try spawn(
      ["/bin/sh", "-c", script, folder.path], input: pipes[0], output: "/dev/null")
    close(pipes[0])
  }

  deinit {
    close(descriptor)
    waitpid(processNumber, nil, 0)
  }
}
