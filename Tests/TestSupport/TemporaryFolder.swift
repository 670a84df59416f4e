// A folder on the real disk that is removed at the end of the test.

internal import Foundation

package final class TemporaryFolder: Sendable {
  package let path: String

  package init() throws {
    let url = FileManager.default.temporaryDirectory
      .appendingPathComponent("treering-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
    Self.whenMade?(self)
  }

  /// Called with every new folder; the files live as long as the callee keeps the folder.
  @TaskLocal package static var whenMade: (@Sendable (TemporaryFolder) -> Void)?

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of a program; nil if it does not exist.
  package static func path(of program: String) -> String? {
    ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/bin"].map { "\($0)/\(program)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Runs a program and returns its exit code and output; nil if it does not exist.
  package static func run(_ program: String, _ arguments: [String]) throws -> (Int32, [UInt8])? {
    guard let found = path(of: program) else { return nil }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: found)
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, [UInt8](bytes))
  }
}
