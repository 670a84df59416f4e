// `treering buckets`: buckets and their row counts.

import ArgumentParser
import TreeRing
import TreeRingLive

struct BucketsCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "buckets", abstract: "Lists buckets with the number of their rows.")

  @OptionGroup var arguments: StoreArguments
  @Option(help: "The point in history to read at.", transform: Point.parse) var at: Point?

  func run(_ output: Output) throws {
    let table = Table(output, [.left("bucket"), .right("rows")])
    for (name, rows) in try openForReading().snapshot(at: at).buckets() {
      if output.isJSON {
        try output.object { $0.bucket(name, rows: rows) }
      } else {
        try table.row(name, "\(rows)")
      }
    }
    try table.finish()
  }
}
