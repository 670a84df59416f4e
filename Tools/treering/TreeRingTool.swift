// The `treering` command: inspects, imports, exports, queries and verifies stores. Each subcommand
// has its file in Commands/; what they share lies in Support/.

import ArgumentParser
import Foundation
import TreeRingLog

@main
struct TreeRingTool: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "treering",
    abstract: "Imports, queries, replays and verifies TreeRing stores.",
    discussion: """
      STORE is a store's folder. Points in history (--at, --from, --to of some commands) are a \
      commit number, an ISO 8601 date (the last commit not later than it), tag:NAME, or -K (K \
      commits back from now). Fields are dotted paths into the JSON object.

      Exit codes: 0 fine; 1 the answer is no (key absent, damage or differences found); 64 usage; \
      65 bad input; 66 no such store or file; 70 bug; 73 cannot create; 74 I/O error; 75 locked by \
      another process.
      """,
    subcommands: [
      ImportCommand.self, ExportCommand.self, LogCommand.self, ShowCommand.self, GetCommand.self,
      ScanCommand.self, BucketsCommand.self, HistoryCommand.self, PutCommand.self,
      DeleteCommand.self, TagCommand.self, TagsCommand.self, IndexCommand.self,
      GroupsCommand.self, RowsCommand.self, ChangesCommand.self, DiffCommand.self,
      WatchCommand.self, BoardCommand.self, ReplayCommand.self, RevertCommand.self,
      CompactCommand.self,
      EraseCommand.self, VerifyCommand.self, BackupCommand.self, RestoreCommand.self,
      SalvageCommand.self, StatsCommand.self,
      FramesCommand.self,
    ])

  static func main() {
    StandardStreams.fill()
    signal(SIGPIPE, SIG_IGN)
    let arguments = CommandLine.arguments.dropFirst().map { NegativeNumber.hidden($0) }
    do {
      var command = try parseAsRoot(Array(arguments))
      try command.run()
    } catch {
      finish(error)
    }
  }

  /// Ends the process as the error asks.
  private static func finish(_ error: any Error) -> Never {
    switch error {
    case is OutputClosed: _exit(0)
    case let failure as Failure: fail(failure)
    case let error as TreeRingError: fail(Failure(error))
    default: exit(withError: error)
    }
  }

  private static func fail(_ failure: Failure) -> Never {
    if !failure.message.isEmpty { StandardError.line(failure.message) }
    Foundation.exit(failure.status.rawValue)
  }
}
