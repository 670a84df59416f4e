// `treering sweep`: deletes the rows that have expired.

import ArgumentParser
import TreeRing
import TreeRingLive

struct SweepCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "sweep", abstract: "Deletes the rows that have expired.",
    discussion: """
      The rows of an index with --expires vanish at their date. A program that has the store open \
      for writing deletes them by itself; this command does so once. Ctrl-C stops between two \
      commits.
      """)

  @OptionGroup var arguments: StoreArguments
  @Option(help: "The maximum number of rows of one index that a commit deletes.")
  var rowsPerCommit = 1000

  func validate() throws {
    if rowsPerCommit < 1 { throw ValidationError("--rows-per-commit must be at least 1.") }
  }

  func run(_ output: Output) throws {
    let store = try openForWriting()
    Interrupt.watch()
    var (total, last) = (0, 0)
    repeat {
      last = try store.sweep(limit: rowsPerCommit)
      total += last
    } while last >= rowsPerCommit && !Interrupt.isRequested
    let commit = store.newestCommit
    try store.close()
    if output.isJSON {
      try output.object {
        $0.number("rows", total)
        $0.number("commit", commit)
      }
    } else {
      try output.line(
        total == 0
          ? "No row has expired; no commit was made."
          : "Deleted \(Units.count(total, "row")); the last commit is \(commit).")
    }
    if Interrupt.isRequested { throw Failure(.interrupted, "Interrupted; another run goes on.") }
  }
}
