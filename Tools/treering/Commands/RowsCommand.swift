// `treering rows`: the rows of a group in order.

import ArgumentParser
import TreeRing
import TreeRingLive
import TreeRingMappings

struct RowsCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "rows",
    abstract:
      "Prints the rows of a group of an index, in order; exit code 1 if there is no such group.",
    discussion: BoundArguments.help)

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The index.", transform: NegativeNumber.shown)
  var index: String
  @Option(help: "The group.", transform: NegativeNumber.shown)
  var group: String
  @Option(
    help: "Only a range of these rows: fixed:LENGTH[:OFFSET[:begin|end]].",
    transform: RangeSpecification.parse)
  var range: RangeSpecification?
  @OptionGroup var bounds: BoundArguments
  @Option(help: "The point in history to read at.", transform: Point.parse) var at: Point?
  @OptionGroup var columns: ColumnArguments

  func run(_ output: Output) throws {
    let snapshot = try openForReading().snapshot(at: at)
    let reader = try snapshot.index(index)
    let group = GroupName(bytes: try Typed.key(group).bytes)
    guard try reader.count(in: group) > 0 else {
      throw Failure(.no, "There is no group \(JSONText.shown(key: group.bytes)) in index \(index).")
    }
    var window = try bounds.positions(in: group, of: reader, at: snapshot)
    if let range {
      let part = range.options.positions(ofCount: window.count)
      window = window.lowerBound + part.lowerBound..<window.lowerBound + part.upperBound
    }
    let table = RowTable(
      output, [.right("index"), .left("key")], columns, leading: snapshot.orderFields(of: index))
    try reader.forEachRow(in: group, window) { index, row in
      if output.isJSON {
        try output.object { $0.row(row, at: index) }
      } else {
        try table.row("\(index)", JSONText.shown(key: row.key.bytes), object: row.object)
      }
      return true
    }
    try table.finish()
  }
}

extension Snapshot {
  /// The fields that order the rows of an index, or of the one that it filters; none if that is not
  /// by fields.
  func orderFields(of name: String) -> [JSONPath] {
    var next: String? = name
    while let name = next, let index = indexes.first(where: { $0.name.isSameName(as: name) }) {
      if let fields = index.fields { return fields.order.compactMap { try? JSONPath($0.field) } }
      next = index.parent
    }
    return []
  }
}
