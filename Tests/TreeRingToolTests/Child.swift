// Child processes of tests.

import Foundation
import Testing

/// A child process with output that is read line by line.
final class Child {
  let process = Process()
  private let output = Pipe()
  private var rest = Data()

  init(_ program: String, _ arguments: [String], through wrapper: [String] = []) throws {
    let products = try #require(GoldenScript.products, "the programs must have been built")
    let path = products.appending(path: program).path
    let command = wrapper + [path] + arguments
    process.executableURL = URL(filePath: command[0])
    process.arguments = Array(command.dropFirst())
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
  }

  /// The next line; nil at the end.
  func line() -> String? {
    while true {
      if let end = rest.firstIndex(of: 10) {
        defer { rest = Data(rest[(end + 1)...]) }
        return String(decoding: rest[..<end], as: UTF8.self)
      }
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { return nil }
      rest += more
    }
  }
}
