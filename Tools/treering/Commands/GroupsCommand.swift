// `treering groups`: the groups of an index.

import ArgumentParser
import TreeRing
import TreeRingLive

struct GroupsCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "groups",
    abstract: "Lists the groups of an index with the number of their rows, and their sums."
  )

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The index.", transform: NegativeNumber.shown)
  var index: String
  @Option(help: "The point in history to read at.", transform: Point.parse) var at: Point?

  func run(_ output: Output) throws {
    let reader = try openForReading().snapshot(at: at).index(index)
    if reader.hasSums { return try printSums(of: reader, output) }
    let table = Table(output, [.left("group"), .right("rows")])
    for (group, rows) in try reader.groupCounts() {
      if output.isJSON {
        try output.object { $0.group(group, rows: rows) }
      } else {
        try table.row(JSONText.shown(key: group.bytes), "\(rows)")
      }
    }
    try table.finish()
  }

  private func printSums(of reader: IndexReader, _ output: Output) throws {
    let table = Table(output, [.left("group"), .right("rows"), .right("sum")])
    for (group, rows, sum) in try reader.groupSums() {
      if output.isJSON {
        try output.object { object in
          object.group(group, rows: rows)
          object.sum(sum)
        }
      } else {
        try table.row(JSONText.shown(key: group.bytes), "\(rows)", "\(sum)")
      }
    }
    try table.finish()
  }
}
