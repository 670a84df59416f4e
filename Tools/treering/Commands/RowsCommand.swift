// `treering rows`: the rows of a group in order.

import ArgumentParser
import TreeRing
import TreeRingLive
import TreeRingMappings

struct RowsCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "rows",
    abstract:
      "Prints the rows of a group of an index, in order; exit code 1 if there is no such group.")

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The index.", transform: NegativeNumber.shown)
  var index: String
  @Option(help: "The group.", transform: NegativeNumber.shown)
  var group: String
  @Option(
    help: "Only a range of its rows: fixed:LENGTH[:OFFSET[:begin|end]].",
    transform: RangeSpecification.parse)
  var range: RangeSpecification?
  @Option(help: "The point in history to read at.", transform: Point.parse) var at: Point?

  func run(_ output: Output) throws {
    let reader = try openForReading().snapshot(at: at).index(index)
    let group = GroupName(bytes: try Typed.key(group).bytes)
    guard try reader.count(in: group) > 0 else {
      throw Failure(.no, "There is no group \(JSONText.shown(key: group.bytes)) in index \(index).")
    }
    let window = range?.options.positions(ofCount: try reader.count(in: group))
    let table = Table(output, [.right("index"), .left("key"), .left("object")])
    try reader.forEachRow(in: group, window) { index, row in
      if output.isJSON {
        try output.object { $0.row(row, at: index) }
      } else {
        try table.row(
          "\(index)", JSONText.shown(key: row.key.bytes), JSONText.shown(row.object))
      }
      return true
    }
    try table.finish()
  }
}
