// `treering backup`: a copy of a store that is itself a store, made while the store is in use.

import ArgumentParser
import TreeRing
import TreeRingLog

struct BackupCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Backs a store up to a folder, even while another process writes it.",
    discussion: """
      If OUT holds an older backup of the same store, only new parts are copied. On the same \
      device sealed segments are linked, not copied; with --copy they are copied, so that the \
      backup shares no files with the store.
      """)

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The backup's folder.", transform: NegativeNumber.shown)
  var out: String
  @Flag(help: "Copy sealed segments instead of linking them.") var copy = false

  func run(_ output: Output) throws {
    let work = CopyWork("Backing up")
    let disk = PosixFileSystem()
    guard try disk.exists(arguments.store + "/log") else {
      throw Failure(.noInput, "There is no store at \(arguments.store). Check the path.")
    }
    let report = try work.run {
      try CommitLog.backUp(
        of: arguments.store, to: out, fileSystem: disk, mayLink: !copy
      ) { (copied) throws(TreeRingError) in
        guard work.goOn(copied) else { throw TreeRingError(.cancelled, "Interrupted.") }
      }
    }
    let seconds = work.finish()
    try CopyWork.report(
      report, seconds,
      sentence: "The backup at \(out) ends at commit \(report.lastCommit): "
        + "\(Units.bytes(report.byteCount)), of which "
        + "\(Units.bytes(report.copiedByteCount)) copied, "
        + "\(Units.bytes(report.linkedByteCount)) linked, "
        + "\(Units.bytes(report.keptByteCount)) there before.", output)
  }
}
