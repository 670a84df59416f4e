import Foundation
import Testing
import TreeRing

@testable import TreeRingServer

/// The server's program, which is built beside the tests.
private let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
  .appending(path: "treering-server").path

/// The program that traces system calls, and can delay them.
private let tracer = "/usr/bin/strace"

/// The running program.
private final class RunningServer {
  let process = Process()
  private let output = Pipe()
  private let errors = Pipe()

  /// - Parameter slowCall: A system call that takes a fifth of a second longer.
  init(_ arguments: [String], slowCall: String? = nil) throws {
    var command = [program] + arguments
    if let slowCall {
      let trace = ["-e", "trace=\(slowCall)", "-e", "inject=\(slowCall):delay_enter=200000"]
      // The traced program is this process's child, and the tracer a process of its own.
      command = [tracer, "-D", "-f", "-o", "/dev/null"] + trace + command
    }
    process.executableURL = URL(filePath: command[0])
    process.arguments = Array(command.dropFirst())
    process.standardOutput = output
    process.standardError = errors
    try process.run()
  }

  deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

  /// The first line that it prints.
  func line() throws -> String {
    var bytes: [UInt8] = []
    while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 {
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Its status, and all further output.
  func end() -> (status: Int32, output: String, errors: String) {
    let texts = [output, errors].map {
      String(decoding: $0.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }
    process.waitUntilExit()
    return (process.terminationStatus, texts[0], texts[1])
  }
}

@Suite(
  "The program of the server", .serialized,
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "\(program) is not built"))
struct ProgramTests {
  private func withStore(_ body: (String) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "program-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try await Store(at: folder + "/s.ring").close()
    try await body(folder + "/s.ring")
  }

  @Test("It listens at loopback with a random token, printed once; SIGTERM ends it in seconds")
  func loopback() async throws {
    try await withStore { store in
      let server = try RunningServer([store, "--port", "0"])
      let line = try server.line()
      let match = try #require(line.wholeMatch(of: #/http://127\.0\.0\.1:(\d+)/\#token=(.{43})/#))
      let (port, token) = (try #require(Int(match.1)), String(match.2))
      let answer = try TestConnection(port).ask("/v1/store", token: token, port: port)
      #expect(answer.status == 200 && !answer.head.contains(token) && !answer.body.contains(token))
      #expect(try TestConnection(port).ask("/v1/store", port: port).status == 401)
      let socket = try TestConnection(port)
      #expect(try socket.upgrade(token: token, port: port).hasPrefix("HTTP/1.1 101"))
      let start = ContinuousClock.now
      server.process.terminate()
      #expect(try socket.frame().payload == [3, 233])
      let end = server.end()
      #expect(end.status == 0 && end.output.isEmpty && end.errors.isEmpty)
      #expect(ContinuousClock.now - start < .seconds(5))
      // Another start, another token.
      let second = try RunningServer([store, "--port", "0"])
      #expect(try !second.line().contains(token))
    }
  }

  @Test("SIGHUP reads the tokens again; a file with a mistake leaves the former ones")
  func reload() async throws {
    try await withStore { store in
      let (first, second) = ("first-0123456789", "second-0123456789")
      let file = try TokenFile([first])
      defer { file.remove() }
      let server = try RunningServer([store, "--port", "0", "--tokens", file.path])
      let line = try server.line()
      #expect(!line.contains("token"))
      let port = try #require(line.split(separator: ":").last.flatMap { Int($0.dropLast()) })
      func status(_ token: String) throws -> Int {
        try TestConnection(port).ask("/v1/store", token: token, port: port).status
      }
      func eventually(_ token: String, _ expected: Int) async throws {
        for _ in 0..<300 where try status(token) != expected {
          try await Task.sleep(for: .milliseconds(10))
        }
        #expect(try status(token) == expected)
      }
      try await eventually(first, 200)
      try file.write([TokenFile.line(second)])
      kill(server.process.processIdentifier, SIGHUP)
      try await eventually(second, 200)
      #expect(try status(first) == 401)
      try file.write([TokenFile.line(first)], mode: 0o644)
      kill(server.process.processIdentifier, SIGHUP)
      try await Task.sleep(for: .milliseconds(200))
      #expect(try status(second) == 200 && status(first) == 401)
      server.process.terminate()
      let end = server.end()
      #expect(end.status == 0 && end.errors.contains("others may read the tokens"))
      #expect(!end.errors.contains(first))
    }
  }

  @Test(
    "Signals count from the moment at which the address is printed",
    .enabled(if: FileManager.default.isExecutableFile(atPath: tracer), "\(tracer) is missing"))
  func earlySignals() async throws {
    try await withStore { store in
      let (first, second) = ("first-0123456789", "second-0123456789")
      let file = try TokenFile([first])
      defer { file.remove() }
      let arguments = [store, "--port", "0", "--tokens", file.path]
      let server = try RunningServer(arguments, slowCall: "rt_sigaction")
      let line = try server.line()
      try file.write([TokenFile.line(second)])
      kill(server.process.processIdentifier, SIGHUP)
      let port = try #require(line.split(separator: ":").last.flatMap { Int($0.dropLast()) })
      let end = ContinuousClock.now + .seconds(3)
      var status = 0
      while status != 200, ContinuousClock.now < end {
        status = try TestConnection(port).ask("/v1/store", token: second, port: port).status
      }
      #expect(status == 200)
      server.process.terminate()
      #expect(server.end().status == 0)
    }
  }

  @Test("An address of the network without TLS or tokens is refused at the start")
  func refusals() async throws {
    try await withStore { store in
      let file = try TokenFile(["first-0123456789"])
      defer { file.remove() }
      for arguments in [
        ["--address", "0.0.0.0"], ["--address", "::"],
        ["--address", "0.0.0.0", "--tokens", file.path],
        ["--address", "192.0.2.1", "--certificate", "a.pem", "--key", "b.pem"],
        ["--address", "0.0.0.0", "--rtdb-emulator", "--tokens", file.path],
      ] {
        let server = try RunningServer([store, "--port", "0"] + arguments)
        let end = server.end()
        #expect(end.status == 74 && end.output.isEmpty, "\(arguments)")
        #expect(end.errors.contains("treering-server: The address"), "\(arguments)")
      }
    }
  }
}
