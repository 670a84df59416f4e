// A process under test: the server, or the writer of its store.

import Foundation

/// A child process that can be killed and started again.
final class LoadProcess {
  private let program: String
  private let arguments: [String]
  private var process: Process?
  private var input: Pipe?
  private var output: Pipe?
  private(set) var killCount = 0

  init(_ program: String, _ arguments: [String]) {
    self.program = program
    self.arguments = arguments
  }

  /// The number of the running process.
  var identifier: Int32 { process?.processIdentifier ?? 0 }
  var isRunning: Bool { process?.isRunning ?? false }

  func start() throws {
    let process = Process()
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    (self.process, self.input, self.output) = (process, input, output)
  }

  /// The next line of its output.
  func line() throws -> String {
    var bytes: [UInt8] = []
    while let byte = try output?.fileHandleForReading.read(upToCount: 1)?.first {
      if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
      bytes.append(byte)
    }
    throw LoadFailure(description: "\(program) has ended without a line of output")
  }

  /// Kills it as the system does without memory: no handler of it runs.
  func kill() {
    killCount += 1
    _ = Foundation.kill(identifier, SIGKILL)
    process?.waitUntilExit()
  }

  /// Closes its input and returns the line that it prints then.
  func finish() throws -> String {
    try input?.fileHandleForWriting.close()
    let text = try line()
    process?.waitUntilExit()
    return text
  }

  /// Asks it to end, and returns its status.
  func terminate() -> Int32 {
    process?.terminate()
    process?.waitUntilExit()
    return process?.terminationStatus ?? -1
  }

  static func residentKilobytes(_ process: Int32) throws -> Int {
    try kilobytes("VmRSS:", of: process)
  }

  /// The most memory that the process has had.
  static func peakKilobytes(_ process: Int32) throws -> Int {
    try kilobytes("VmHWM:", of: process)
  }

  private static func kilobytes(_ name: String, of process: Int32) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
    guard let value = line?.split(whereSeparator: \.isWhitespace)[1], let number = Int(value) else {
      throw LoadFailure(description: "there is no process \(process)")
    }
    return number
  }
}
