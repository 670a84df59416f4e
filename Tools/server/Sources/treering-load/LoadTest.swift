// The load test: thousands of readers of one server, which follows the process that writes the
// store, while both are killed. Every reader checks every message (CheckedWindow), and at the end
// its rows are compared with the server's answers.

import Foundation
import NIOCore
import NIOPosix

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The sizes of a load test.
struct LoadTestSizes {
  var windows = 1_000
  var idle = 10_000
  var stalled = 20
  /// Commits a second.
  var rate = 500
  var writerKills = 6
  var serverKills = 2

  static let short = LoadTestSizes(
    windows: 100, idle: 500, stalled: 4, rate: 200, writerKills: 2, serverKills: 1)
}

/// A run of the test.
final class LoadTest: @unchecked Sendable {
  private let sizes: LoadTestSizes
  private let writer: LoadProcess
  private let server: LoadProcess
  private let address: LoadAddress
  private let loop: any EventLoop
  private let readers: LoadReaders
  private var windows: [LoadReader] = []
  private var quiet: [LoadReader] = []
  private var stalled: [LoadReader] = []
  private let hostile: HostileClients
  /// The memory of a server without readers, with the idle ones, and the most with all, in kB.
  private var (aloneKilobytes, idleKilobytes, peakKilobytes) = (0, 0, 0)

  /// The most memory of the server for each reader.
  private static let kilobytesPerReader = 30
  /// The most memory for each client that does not read, so that messages wait for the network.
  private static let kilobytesPerStalled = 512
  /// The memory budget of the store, in MiB, and as much for everything else.
  private static let budget = 64

  static func run(server: String, _ sizes: LoadTestSizes) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "load-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let test = try LoadTest(server, sizes, folder, group.next())
    defer { test.end() }
    try await test.run()
    try await group.shutdownGracefully()
  }

  private init(
    _ program: String, _ sizes: LoadTestSizes, _ folder: URL, _ loop: any EventLoop
  ) throws {
    self.sizes = sizes
    self.loop = loop
    let store = folder.appending(path: "load.ring").path
    let tokens = folder.appending(path: "tokens").path
    let token = "token-of-the-load-test"
    let line = "{\"token\":\"\(token)\",\"role\":\"read\"}\n"
    let isMade = FileManager.default.createFile(
      atPath: tokens, contents: Data(line.utf8), attributes: [.posixPermissions: 0o600])
    guard isMade else { throw LoadFailure(description: "\(tokens) cannot be written") }
    let base = try WriterLoad.fill(store)
    writer = LoadProcess(CommandLine.arguments[0], ["write", store, "\(sizes.rate)", "\(base)"])
    // A server that was killed comes back at the same port.
    let port = try Self.freePort()
    address = LoadAddress(port: port, token: token)
    server = LoadProcess(
      program,
      [
        store, "--port", "\(port)", "--tokens", tokens, "--connections", "100000", "--memory",
        "\(Self.budget)",
      ])
    readers = LoadReaders(address, LoadHistory(base: base), on: loop)
    hostile = HostileClients(address, on: loop)
  }

  private func end() {
    if writer.isRunning { writer.kill() }
    if server.isRunning { server.kill() }
  }

  /// A port that nobody listens at.
  private static func freePort() throws -> Int {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 ? getsockname(descriptor, $0, &size) : -1
      }
    }
    guard status == 0 else { throw LoadFailure(description: "no port is free") }
    return Int(in_port_t(bigEndian: name.sin_port))
  }

  // MARK: - Steps

  private func run() async throws {
    try await startServer()
    try await connect()
    try writer.start()
    try await onLoop { self.hostile.start() }
    try await calm(seconds: 5, "the readers follow")
    try await killAll()
    try await calm(seconds: 5, "the readers follow again")
    try await onLoop { self.hostile.stop() }
    let last = try await finish()
    try await compare(at: last)
    try await report(last)
  }

  private func onLoop<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value { try await loop.submit(body).get() }

  private func startServer() async throws {
    try server.start()
    _ = try server.line()
  }

  /// Opens the windows and the idle readers, and measures their memory before any commit.
  private func connect() async throws {
    let sizes = sizes
    aloneKilobytes = try LoadProcess.residentKilobytes(server.identifier)
    try await onLoop { [self] in
      for number in 0..<sizes.windows {
        let window = CheckedWindow(
          groups: [number % LoadRule.groups], history: readers.history)
        windows.append(LoadReader(.board([window]), readers))
      }
      for _ in 0..<sizes.idle { quiet.append(LoadReader(.quiet, readers)) }
      for _ in 0..<sizes.stalled {
        let boards = (0..<2).map { _ in CheckedWindow(groups: nil, history: readers.history) }
        stalled.append(LoadReader(.board(boards), readers, stalls: true))
      }
    }
    // Some at a time, so that the system's queue of new connections suffices.
    for start in stride(from: 0, to: sizes.windows + sizes.idle, by: 500) {
      try await onLoop { [self] in
        for reader in (windows + quiet)[start...].prefix(500) { reader.connect() }
      }
      try await wait("the readers connect", seconds: 30) { [self] in
        (windows + quiet)[start...].prefix(500).allSatisfy(\.isCurrent)
      }
    }
    try await Task.sleep(for: .seconds(2))
    idleKilobytes = try LoadProcess.residentKilobytes(server.identifier)
    print(
      "\(sizes.windows) windows and \(sizes.idle) idle readers: \(aloneKilobytes) kB before, "
        + "\(idleKilobytes) kB with them, " + String(format: "%.1f kB each", kilobytesEach))
    try await onLoop { [self] in for reader in stalled { reader.connect() } }
  }

  private var kilobytesEach: Double {
    Double(idleKilobytes - aloneKilobytes) / Double(sizes.windows + sizes.idle)
  }

  /// Lets everything run undisturbed, and prints how late changes come.
  private func calm(seconds: Int, _ words: String) async throws {
    try await Task.sleep(for: .seconds(1))
    try await onLoop { self.readers.isCalm = true }
    for _ in 0..<seconds * 10 {
      try await Task.sleep(for: .milliseconds(100))
      peakKilobytes = max(peakKilobytes, try LoadProcess.peakKilobytes(server.identifier))
    }
    let delays = try await onLoop {
      self.readers.isCalm = false
      return self.readers.takeDelays()
    }
    print("\(words), behind the commits by \(Quantiles(delays).text)")
  }

  /// Kills the writer and the server in turn, and both at once.
  private func killAll() async throws {
    for turn in 0..<sizes.writerKills {
      writer.kill()
      try await Task.sleep(for: .milliseconds(Int.random(in: 0...500)))
      try writer.start()
      try await Task.sleep(for: .milliseconds(Int.random(in: 500...2000)))
      guard turn % (sizes.writerKills / sizes.serverKills) == 0 else { continue }
      peakKilobytes = max(peakKilobytes, try LoadProcess.peakKilobytes(server.identifier))
      server.kill()
      if turn > 0 { writer.kill() }
      let start = ContinuousClock.now
      if turn > 0 { try writer.start() }
      try await startServer()
      try await wait("the readers come back", seconds: 60) { [self] in
        (windows + quiet).allSatisfy(\.isCurrent)
      }
      let time = Double((ContinuousClock.now - start).components.seconds)
      print("the server was killed; all readers were back within \(Int(time) + 1) s")
    }
  }

  /// Ends the writer, lets the stalled readers read on, and waits until everybody shows its last
  /// commit. Returns that commit.
  private func finish() async throws -> UInt64 {
    let text = try writer.finish()
    guard let last = UInt64(text) else { throw LoadFailure(description: "the writer says \(text)") }
    try await onLoop { [self] in for reader in stalled { reader.readOn() } }
    do {
      try await wait("everybody shows commit \(last)", seconds: 60) { [self] in
        (windows + quiet + stalled).allSatisfy { $0.shows(last) }
      }
    } catch {
      let late = try await onLoop { [self] in
        (windows + quiet + stalled).filter { !$0.shows(last) }.prefix(10).map(\.state)
      }
      throw LoadFailure(description: "\(error)\n" + late.joined(separator: "\n"))
    }
    return last
  }

  /// Waits until a condition holds on the readers' loop.
  private func wait(
    _ words: String, seconds: Int, _ condition: @escaping @Sendable () -> Bool
  ) async throws {
    for _ in 0..<seconds * 50 {
      if try await onLoop(condition) { return }
      guard server.isRunning else { throw LoadFailure(description: "the server has ended") }
      try await Task.sleep(for: .milliseconds(20))
    }
    let found = try await onLoop { self.readers.failures }
    throw LoadFailure(
      description: "not within \(seconds) s: \(words). \(found.joined(separator: "\n"))")
  }

  /// Compares the rows of each reader with the server's answer.
  private func compare(at commit: UInt64) async throws {
    for group in 0..<LoadRule.groups {
      let target = "/v1/indexes/board/groups/g\(group)/rows?limit=1000&at=\(commit)"
      guard let url = URL(string: "http://127.0.0.1:\(address.port)\(target)") else { continue }
      var request = URLRequest(url: url)
      request.setValue("Bearer \(address.token)", forHTTPHeaderField: "Authorization")
      let (data, _) = try await URLSession.shared.data(for: request)
      let answer = try JSONSerialization.jsonObject(with: data) as? [String: Any]
      let rows = try (answer?["rows"] as? [[String: Any]] ?? []).map(CheckedWindow.text)
      try await onLoop { [self] in
        for reader in windows + stalled {
          guard case .board(let boards) = reader.kind else { continue }
          for board in boards where board.groups?.contains(group) ?? true {
            if board.rows(of: group) != rows {
              readers.fail("a reader's rows of g\(group) are not the server's")
            }
          }
        }
      }
    }
  }

  // MARK: - Result

  private func report(_ last: UInt64) async throws {
    let words = try await onLoop { [self] in
      readers.reconnects = false
      func boards(_ readers: [LoadReader]) -> [CheckedWindow] {
        readers.flatMap { reader -> [CheckedWindow] in
          if case .board(let boards) = reader.kind { boards } else { [] }
        }
      }
      let (live, slow) = (boards(windows), boards(stalled))
      let missed = slow.map(\.longestChange).min() ?? 0
      let wholes = slow.map(\.wholeCount).min() ?? 0
      if missed < 100, wholes < 2 { readers.fail("no stalled reader was ever far behind") }
      let connections = (windows + quiet).map(\.connectionCount).reduce(0, +)
      return
        "\(live.map(\.messageCount).reduce(0, +)) messages to \(live.count) windows, of them "
        + "\(live.map(\.wholeCount).reduce(0, +)) whole; \(connections) connections; "
        + "\(slow.map(\.messageCount).reduce(0, +)) messages to \(slow.count) windows that "
        + "stalled; "
        + "\(hostile.garbageCount) clients sent garbage"
    }
    print(words)
    print(
      "\(last) commits, \(writer.killCount) kills of the writer, \(server.killCount) of the server")
    peakKilobytes = max(peakKilobytes, try LoadProcess.peakKilobytes(server.identifier))
    let readerCount = sizes.windows + sizes.idle
    let bound =
      aloneKilobytes + readerCount * Self.kilobytesPerReader
      + (sizes.stalled + HostileClients.floodCount) * Self.kilobytesPerStalled
      + 2 * Self.budget << 10
    print("memory of the server, at most: \(peakKilobytes) kB; bound: \(bound) kB")
    let status = server.terminate()
    let (count, found) = try await onLoop { (self.readers.failureCount, self.readers.failures) }
    var failures = found
    if count > found.count { failures.append("and \(count - found.count) more") }
    if kilobytesEach > Double(Self.kilobytesPerReader) {
      failures.append("a reader takes more than \(Self.kilobytesPerReader) kB")
    }
    if peakKilobytes > bound { failures.append("the server's memory passes its bound") }
    if status != 0 { failures.append("the server ended with \(status)") }
    guard failures.isEmpty else {
      throw LoadFailure(description: failures.joined(separator: "\n"))
    }
    print("nothing lost, nothing doubled, in order; every list equals the server's answer")
  }
}
