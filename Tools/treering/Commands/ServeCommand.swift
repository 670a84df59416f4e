// `treering serve`: starts the server, a program of its own, in place of this process.

import ArgumentParser
import Foundation

struct ServeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serves a store over HTTP, and live windows of its indexes over WebSocket.",
    discussion: """
      Starts `treering-server`, which stands beside this program, or at the path in the variable \
      TREERING_SERVER. `treering serve --help` prints its options.
      """)

  @Argument(
    parsing: .captureForPassthrough, help: "The store's folder, and the options of the server.",
    transform: NegativeNumber.shown)
  var arguments: [String] = []

  func run() throws {
    let path = try Self.server()
    var words = ([path] + arguments).map { strdup($0) }
    words.append(nil)
    defer { for word in words { free(word) } }
    execv(path, words)
    throw Failure(.noInput, "\(path): \(String(cString: strerror(errno))).")
  }

  /// The path of the server.
  private static func server() throws -> String {
    if let path = ProcessInfo.processInfo.environment["TREERING_SERVER"] { return path }
    let tool = URL(filePath: Bundle.main.executablePath ?? CommandLine.arguments[0])
    let path = tool.resolvingSymlinksInPath().deletingLastPathComponent()
      .appending(path: "treering-server").path
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw Failure(
        .noInput,
        "There is no server at \(path). Build it with Tools/build-server, which prints its path, "
          + "and name that in TREERING_SERVER.")
    }
    return path
  }
}
