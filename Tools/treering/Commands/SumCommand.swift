// `treering sum`: the sum of an index, a group, or a range of its order.

import ArgumentParser
import TreeRing
import TreeRingLive

struct SumCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "sum",
    abstract: "Sums the rows of an index, a group or a range of its order.",
    discussion: """
      The index, or the one that it filters, was added with --sum. --group sums the rows of one \
      group, and --from and --to those of a range of its order. A group without rows has the sum \
      0. No rows are read, at any point in history.

      \(BoundArguments.help)
      """)

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The index.", transform: NegativeNumber.shown) var index: String
  @Option(help: "The group.", transform: NegativeNumber.shown) var group: String?
  @OptionGroup var bounds: BoundArguments
  @Option(help: "The point in history to read at.", transform: Point.parse) var at: Point?

  func run(_ output: Output) throws {
    guard group != nil || bounds.isEmpty else {
      throw Failure(.usage, "--from and --to go with --group.")
    }
    let group = try group.map { GroupName(bytes: try Typed.key($0).bytes) }
    let snapshot = try openForReading().snapshot(at: at)
    let reader = try snapshot.index(index)
    guard let group else {
      return try print(try reader.sum(), output) { object in
        object.text("index", index)
        object.number("rows", reader.count)
      }
    }
    let range = try bounds.positions(in: group, of: reader, at: snapshot)
    try print(try reader.sum(in: group, range), output) { $0.group(group, rows: range.count) }
  }

  private func print(
    _ sum: IndexSum, _ output: Output, _ members: (inout JSONObject) -> Void
  ) throws {
    if !output.isJSON { return try output.line("\(sum)") }
    try output.object { object in
      members(&object)
      object.sum(sum)
    }
  }
}
