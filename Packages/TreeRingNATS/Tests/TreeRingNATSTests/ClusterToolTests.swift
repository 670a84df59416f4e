// `treering-cluster` as processes: replicas that run, show themselves, lead, and die.

import Foundation
import Testing

@testable import TreeRingNATS

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension NATSTests {
  @Suite(.enabled(if: Tool.program != nil, "treering-cluster is not built"))
  struct ClusterToolTests {
    @Test("Replicas show who leads; `lead` moves the lead, and the leader's death does too")
    func leading() throws {
      let servers = try JetStreamServers(3)
      let tool = try Tool(servers)
      defer { tool.end() }
      let first = try tool.start(["run", tool.path("a"), "--name", "a", "--lead", "--failover"])
      try tool.awaitLeader("a")
      let second = try tool.start(["run", tool.path("b"), "--name", "b", "--failover"])
      try tool.awaitState("two replicas") { $0.count == 2 }
      let table = try tool.run(["status"])
      #expect(table.code == 0 && table.text.contains("log shop: entries 1 to "), "\(table)")

      let lead = try tool.run(["lead", "b"])
      #expect(lead.code == 0 && lead.text == "b leads\n", "\(lead)")
      try tool.awaitLeader("b")
      kill(second, SIGKILL)
      #expect(exitCode(of: second, within: .seconds(5)) == 128 + SIGKILL)
      try tool.awaitLeader("a")
      kill(first, SIGTERM)
      #expect(exitCode(of: first, within: .seconds(10)) == 0)

      let unknown = try tool.run(["lead", "nobody"])
      #expect(unknown.code == 64 && unknown.text.contains("No replica nobody runs"), "\(unknown)")
    }

    @Test("Wrong arguments and servers that do not answer end the commands with their codes")
    func errors() throws {
      let tool = try Tool(nil)
      for arguments in [["status"], ["run", tool.path("a"), "--limit", "0"], ["lead"], ["leed"]] {
        let answer = try tool.run(arguments, stream: arguments == ["status"] ? nil : "shop")
        #expect(answer.code == 64 && answer.text.contains("Usage: treering-cluster"), "\(answer)")
      }
      try "first second\n".write(toFile: tool.path("words"), atomically: true, encoding: .utf8)
      for (file, words) in [("missing", "is not there"), ("words", "has 2 words")] {
        let answer = try tool.run([
          "run", tool.path("a"), "--base", "http://127.0.0.1:9", "--token-file", tool.path(file),
        ])
        #expect(answer.code == 64 && answer.text.contains(words), "\(answer)")
      }
      for arguments in [["status"], ["lead", "a"], ["run", tool.path("a"), "--limit", "2"]] {
        let answer = try tool.run(arguments)
        #expect(answer.code == 69, "\(arguments): \(answer)")
        #expect(answer.text.hasPrefix("treering-cluster: "), "\(arguments): \(answer)")
      }
    }
  }
}

/// The program, with the options that name a log, and a folder for replicas.
private final class Tool {
  /// The program beside that of the tests; nil if there is none.
  static let program: String? = {
    let folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    let path = folder.appending(path: "treering-cluster").path
    return FileManager.default.isExecutableFile(atPath: path) ? path : nil
  }()

  private let options: [String]
  private let folder: URL
  private var processes: [pid_t] = []

  /// - Parameter servers: The servers; nil for an address at which nothing answers.
  init(_ servers: JetStreamServers?) throws {
    options =
      ["--server"] + (servers?.urls ?? ["nats://127.0.0.1:9"])
      + ["--monitor"] + (servers?.monitorURLs ?? ["http://127.0.0.1:9"])
    folder = FileManager.default.temporaryDirectory.appending(path: "tool-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func path(_ name: String) -> String { folder.appending(path: name).path }

  /// Starts a command in the background.
  func start(_ arguments: [String]) throws -> pid_t {
    let number = try spawn(words(arguments, "shop"), output: path("output"))
    processes.append(number)
    return number
  }

  /// Kills the commands that still run.
  func end() {
    for number in processes where waitpid(number, nil, WNOHANG) == 0 {
      kill(number, SIGKILL)
      waitpid(number, nil, 0)
    }
  }

  /// Runs a command to its end.
  func run(_ arguments: [String], stream: String? = "shop") throws -> (code: Int32?, text: String) {
    let output = path(UUID().uuidString)
    let number = try spawn(words(arguments, stream), output: output)
    processes.append(number)
    let code = exitCode(of: number, within: .seconds(60))
    return (code, try String(contentsOfFile: output, encoding: .utf8))
  }

  private func words(_ arguments: [String], _ stream: String?) -> [String] {
    let named = stream.map { ["--stream", $0] } ?? []
    return [Self.program ?? ""] + arguments + named + options
  }

  func awaitLeader(_ name: String) throws {
    try awaitState("\(name) leads") { $0.filter(\.isLeading).map(\.name) == [name] }
  }

  /// Waits for a state of the replicas that `status` shows.
  func awaitState(_ wanted: String, _ condition: ([ReplicaReport]) -> Bool) throws {
    struct Answer: Decodable { var replicas: [ReplicaReport] }
    let deadline = ContinuousClock.now + .seconds(40)
    var text = ""
    while .now < deadline {
      let answer = try run(["status", "--json"])
      text = answer.text
      if let state = try? JSONDecoder().decode(Answer.self, from: Data(text.utf8)),
        condition(state.replicas)
      {
        return
      }
      usleep(200_000)
    }
    throw JetStreamServers.Failure(description: "after 40 seconds not \(wanted): \(text)")
  }
}
