// `treering restore`: a store from a backup.

import ArgumentParser
import TreeRing
import TreeRingLog

struct RestoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Makes a store of a backup by copying and checking it.",
    discussion: "STORE must be a new or an empty folder; nothing is overwritten.")

  @Argument(help: "The backup's folder.", transform: NegativeNumber.shown)
  var backup: String
  @Argument(help: "The folder of the new store.", transform: NegativeNumber.shown)
  var store: String
  @Flag(help: "Print one JSON object per line.") var json = false

  func run() throws {
    let output = Output(isJSON: json)
    guard try PosixFileSystem().exists(backup + "/log") else {
      throw Failure(.noInput, "There is no backup at \(backup). Check the path.")
    }
    let work = CopyWork("Restoring")
    let report = try work.run { try Store.restore(from: backup, to: store) { work.goOn($0) } }
    let seconds = work.finish()
    try CopyWork.report(
      report, seconds,
      sentence: "Restored \(Units.bytes(report.byteCount)) to \(store); the last commit is "
        + "\(report.lastCommit).", output)
    try output.flush()
  }
}
