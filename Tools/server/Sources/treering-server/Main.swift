// `treering-server STORE`: serves a store until SIGTERM or Ctrl-C.

import Foundation
import Logging
import TreeRing
import TreeRingLive
import TreeRingServer

@main
struct Main {
  static func main() async {
    // A reader that has gone must not end the process.
    signal(SIGPIPE, SIG_IGN)
    do {
      let arguments = try ServerArguments(Array(CommandLine.arguments.dropFirst()))
      if arguments.wantsHelp {
        print(ServerArguments.help)
        return
      }
      try await serve(arguments)
    } catch {
      FileHandle.standardError.write(Data("treering-server: \(error)\n".utf8))
      exit(error is UsageError ? 64 : 74)
    }
  }

  private static func serve(_ arguments: ServerArguments) async throws {
    var options = arguments.options
    var shownToken: String?
    if let file = options.tokenFile {
      options.tokens = try TokenTable(file: file)
    } else {
      let token = TokenTable.random()
      options.tokens = TokenTable(token, LiveAccess(arguments.isWritable ? .admin : .read))
      shownToken = token
    }
    try options.check()
    var logger = Logger(label: "treering-server")
    logger.logLevel = .error
    // An empty database is useful, an empty store without one is probably a wrong path.
    let mode: StoreMode =
      !arguments.isWritable ? .readOnly : options.databases == nil ? .readWrite : .create
    let store = try Store(
      at: arguments.store,
      options: StoreOptions(mode: mode, memoryBudget: arguments.memory << 20, logger: logger))
    let service = LiveService(store, isWritable: arguments.isWritable)
    let server = try await Server.start(service, options)
    // Before anybody can know that it runs, so that a signal always ends it gracefully.
    let signals = await Signals(of: server)
    let scheme = options.certificate == nil ? "http" : "https"
    let fragment = shownToken.map { "#token=\($0)" } ?? ""
    let address = "\(scheme)://\(options.address):\(server.port)/\(fragment)\n"
    FileHandle.standardOutput.write(Data(address.utf8))
    let rounds = Task { try await server.run() }
    let failure = await signals.waitForEnd(rounds)
    rounds.cancel()
    try await server.stop()
    try await store.close()
    if let failure { throw failure }
  }
}
