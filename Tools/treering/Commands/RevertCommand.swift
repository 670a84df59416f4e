// `treering revert`: brings an earlier state back as a new commit.

import ArgumentParser
import TreeRing
import TreeRingLive

struct RevertCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "revert",
    abstract: "Writes one commit that brings the state at a point in history back.")

  @OptionGroup var arguments: StoreArguments
  @Option(help: "The point in history to bring back.", transform: Point.parse) var to: Point

  func run(_ output: Output) throws {
    let store = try openForWriting()
    Interrupt.watch()
    let progress = ProgressBar("Reverting", total: nil)
    let (commit, operations) = try store.revert(to: try to.readPoint(in: store)) { done in
      progress.update(done: UInt64(done), count: UInt64(done), unit: "operations")
      return !Interrupt.isRequested
    }
    progress.finish()
    try store.close()
    if output.isJSON {
      try output.object {
        $0.number("commit", commit)
        $0.number("operations", operations)
      }
    } else if operations == 0 {
      try output.line("Nothing differs; no commit was made.")
    } else {
      try output.line("Wrote \(Units.count(operations, "operation")) in commit \(commit).")
    }
  }
}
