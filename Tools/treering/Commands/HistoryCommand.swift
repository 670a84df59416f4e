// `treering history`: every version of a row.

import ArgumentParser
import TreeRing
import TreeRingLive
import TreeRingLog

struct HistoryCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "history",
    abstract: "Lists every version of a row, newest first; exit code 1 if it never existed.")

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The bucket.", transform: NegativeNumber.shown)
  var bucket: String
  @Argument(help: "The key.", transform: NegativeNumber.shown)
  var key: String

  func run(_ output: Output) throws {
    let versions = try openForReading().history(of: try Typed.key(key), in: bucket)
    guard !versions.isEmpty else {
      throw Failure(
        .no, "There never was a row \(key) in bucket \(bucket).")
    }
    let table = Table(
      output, [.right("commit"), .left("at"), .left("kind"), .left("metadata"), .left("object")])
    for version in versions {
      if output.isJSON {
        try output.object { $0.version(version) }
      } else {
        try table.row(
          "\(version.commit)", ISO8601.format(version.timestamp), version.kind.rawValue,
          version.metadata.map { JSONText.shown($0) } ?? "",
          version.object.map { JSONText.shown($0) } ?? "")
      }
    }
    try table.finish()
  }
}
