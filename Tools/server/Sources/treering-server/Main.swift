// `treering-server STORE`: serves a store until SIGTERM or Ctrl-C.

import Dispatch
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
    let scheme = options.certificate == nil ? "http" : "https"
    let fragment = shownToken.map { "#token=\($0)" } ?? ""
    let address = "\(scheme)://\(options.address):\(server.port)/\(fragment)\n"
    FileHandle.standardOutput.write(Data(address.utf8))
    let rounds = Task { try await server.run() }
    let failure = await waitForEnd(server, rounds)
    rounds.cancel()
    try await server.stop()
    try store.close()
    if let failure { throw failure }
  }

  /// Waits for SIGTERM or SIGINT, or until the store can no longer be followed. SIGHUP reloads.
  private static func waitForEnd(
    _ server: Server, _ rounds: Task<Void, any Error>
  ) async -> (any Error)? {
    let (ends, end) = AsyncStream.makeStream(of: (any Error)?.self)
    var sources: [any DispatchSourceSignal] = []
    for number in [SIGTERM, SIGINT, SIGHUP] {
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        guard number == SIGHUP else {
          end.yield(nil)
          return
        }
        do {
          try server.reload()
        } catch {
          FileHandle.standardError.write(Data("treering-server: \(error)\n".utf8))
        }
      }
      source.activate()
      sources.append(source)
    }
    Task {
      do { try await rounds.value } catch { end.yield(error) }
    }
    var failure: (any Error)?
    for await found in ends {
      failure = found
      break
    }
    for source in sources { source.cancel() }
    return failure
  }
}
