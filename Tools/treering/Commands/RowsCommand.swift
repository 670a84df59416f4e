// `treering rows`: the rows of a group in order.

import ArgumentParser
import TreeRing
import TreeRingMappings

struct RowsCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "rows", abstract: "Prints the rows of a group of an index, in order.")

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The index.") var index: String
  @Option(help: "The group.") var group: String
  @Option(
    help: "Only a range of its rows: fixed:LENGTH[:OFFSET[:begin|end]].",
    transform: RangeSpecification.parse)
  var range: RangeSpecification?
  @Option(help: "The point in history to read at.", transform: Point.parse) var at: Point?

  func run(_ output: Output) throws {
    let reader = try openForReading().snapshot(at: at).index(index)
    let group = GroupName(bytes: try Typed.key(group).bytes)
    let window = range?.options.positions(ofCount: try reader.count(in: group))
    let table = Table(output, [.right("index"), .left("key"), .left("object")])
    try reader.forEachRow(in: group, window) { index, row in
      if output.isJSON {
        try output.object {
          $0.number("index", index)
          $0.key("key", row.key.bytes)
          $0.content("object", row.object)
        }
      } else {
        try table.row(
          "\(index)", JSONText.shown(key: row.key.bytes), JSONText.shown(row.object))
      }
      return true
    }
    try table.finish()
  }
}
