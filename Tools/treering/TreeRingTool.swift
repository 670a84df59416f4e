// The `treering` command: inspects, imports, exports, queries and verifies stores. Each subcommand
// has its file in Commands/; their common parts are in Arguments/, Bench/, Importing/, LongTasks/
// and Output/.

import ArgumentParser
import Foundation
import TreeRingLog

@main
struct TreeRingTool: ParsableCommand {
  /// The version of the tool and of the libraries.
  static let version = "0.1.0"

  static let configuration = CommandConfiguration(
    commandName: "treering",
    abstract: "Imports, queries, replays and verifies TreeRing stores.",
    discussion: """
      STORE is a store's folder. Points in history (--at, --from, --to of some commands) are a \
      commit number, an ISO 8601 date (the last commit not later than it), tag:NAME, or -K (K \
      commits back from the newest). Fields are dotted paths into the JSON object.

      Exit codes: 0 fine; 1 the answer is no (key absent, damage or differences found); 64 usage; \
      65 bad input; 66 no such store or file; 70 bug; 73 cannot create; 74 I/O error; 75 locked by \
      another process.
      """,
    version: "treering \(version)",
    subcommands: [
      ImportCommand.self, ExportCommand.self, LogCommand.self, ShowCommand.self,
      GetCommand.self,
      ScanCommand.self, CountCommand.self, BucketsCommand.self, HistoryCommand.self,
      PutCommand.self,
      DeleteCommand.self, TagCommand.self, TagsCommand.self, IndexCommand.self,
      StreamCommand.self, GroupsCommand.self, SumCommand.self, RowsCommand.self, FindCommand.self,
      ChangesCommand.self, DiffCommand.self,
      WatchCommand.self, BoardCommand.self, ServeCommand.self, ClusterCommand.self,
      ReplayCommand.self,
      RevertCommand.self, SweepCommand.self,
      CompactCommand.self, EraseCommand.self, VerifyCommand.self, BackupCommand.self,
      RestoreCommand.self,
      SalvageCommand.self, StatsCommand.self, BenchCommand.self, FramesCommand.self,
      InstallCommand.self,
    ])

  static func main() {
    StandardStreams.fill()
    signal(SIGPIPE, SIG_IGN)
    do {
      let arguments = try Self.arguments().map { NegativeNumber.hidden($0) }
      try Suggestion.check(arguments)
      var command = try parseAsRoot(arguments)
      try command.run()
    } catch {
      finish(error)
    }
  }

  /// Ends the process with the exit code of the error.
  private static func finish(_ error: any Error) -> Never {
    switch error {
    case is OutputClosed: _exit(0)
    case let failure as Failure: fail(failure)
    case let error as TreeRingError: fail(Failure(error))
    default: break
    }
    switch exitCode(for: error).rawValue {
    case 0: exit(withError: error)  // The user asked for help.
    case ExitStatus.usage.rawValue: fail(Failure(.usage, usageMessage(of: error)))
    default: fail(Failure(.bug, "\(error)"))
    }
  }

  /// The argument parser's message, with a hint to the help.
  private static func usageMessage(of error: any Error) -> String {
    let sentence = NegativeNumber.unmarked(message(for: error))
    let help =
      fullMessage(for: error).firstMatch(of: /See '(treering[^']*)'/)?.1 ?? "treering --help"
    let isEnded = sentence.hasSuffix(".") || sentence.hasSuffix("?")
    return "\(sentence)\(isEnded ? "" : ".") See `\(help)`."
  }

  /// The arguments as text. The system may pass any bytes.
  private static func arguments() throws -> [String] {
    let all = CommandLine.arguments
    for (index, text) in all.enumerated() {
      guard let given = CommandLine.unsafeArgv[index],
        Array(text.utf8).withUnsafeBytes({
          $0.count == strlen(given)
            && memcmp($0.baseAddress ?? UnsafeRawPointer(given), given, $0.count) == 0
        })
      else {
        throw Failure(
          .usage,
          "Argument \(index) is not UTF-8. Write the bytes of a key or group as "
            + "{\"$base64\":\"…\"}."
        )
      }
    }
    return Array(all.dropFirst())
  }

  private static func fail(_ failure: Failure) -> Never {
    if !failure.message.isEmpty { StandardError.line(failure.message) }
    Foundation.exit(failure.status.rawValue)
  }
}
