// Programs of their own that stand beside this one, and run in its place.

import Foundation

/// A program that a command stands for.
struct Companion {
  /// The name of its file.
  var name: String
  /// The variable that may hold its path.
  var variable: String
  /// The command that builds it.
  var build: String

  /// Runs the program in place of this process.
  /// - Throws: `Failure` if it cannot be started.
  func run(_ arguments: [String]) throws {
    let path = try path()
    var words = ([path] + arguments).map { strdup($0) }
    words.append(nil)
    defer { for word in words { free(word) } }
    execv(path, words)
    throw Failure(.noInput, "\(path): \(String(cString: strerror(errno))).")
  }

  private func path() throws -> String {
    if let path = ProcessInfo.processInfo.environment[variable] { return path }
    let tool = URL(filePath: Bundle.main.executablePath ?? CommandLine.arguments[0])
    let path = tool.resolvingSymlinksInPath().deletingLastPathComponent()
      .appending(path: name).path
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw Failure(
        .noInput,
        "There is no program at \(path). Build it with \(build), which prints its path, and name "
          + "that in \(variable).")
    }
    return path
  }
}
