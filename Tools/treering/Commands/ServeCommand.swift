// `treering serve`: starts the server, a program of its own, in place of this process.

import ArgumentParser

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
    let server = Companion(
      name: "treering-server", variable: "TREERING_SERVER", build: "Tools/build-server")
    try server.run(arguments)
  }
}
