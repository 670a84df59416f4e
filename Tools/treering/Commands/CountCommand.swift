// `treering count`: the number of rows of a bucket, an index, a group, or a range of its order.

import ArgumentParser
import TreeRing
import TreeRingLive

struct CountCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "count",
    abstract: "Counts the rows of a bucket, an index, a group or a range of its order.",
    discussion: """
      A bucket: --bucket, and --where for some of its rows. An index: --index, for all rows in its \
      groups; --group, for those of one group, and --from and --to, for a range of its order. A \
      group without rows has 0. Only --where reads the rows.

      \(BoundArguments.help)

      \(FilterArguments.help)
      """)

  @OptionGroup var arguments: StoreArguments
  @Option(help: "The bucket.", transform: NegativeNumber.shown) var bucket: String?
  @OptionGroup var filter: FilterArguments
  @Option(help: "The index.", transform: NegativeNumber.shown) var index: String?
  @Option(help: "The group.", transform: NegativeNumber.shown) var group: String?
  @OptionGroup var bounds: BoundArguments
  @Option(help: "The point in history to read at.", transform: Point.parse) var at: Point?

  func run(_ output: Output) throws {
    switch (bucket, index) {
    case (let bucket?, nil) where group == nil && bounds.isEmpty:
      let rowFilter = try filter.filter()
      let snapshot = try openForReading().snapshot(at: at)
      try snapshot.checkKnows(bucket: bucket)
      let rows = try Self.count(in: bucket, rowFilter, at: snapshot)
      try print(rows, output) { $0.bucket(bucket, rows: rows) }
      try filter.advise(after: snapshot.count(in: bucket), in: bucket, of: snapshot, output)
    case (nil, let index?) where filter.isEmpty && (group != nil || bounds.isEmpty):
      let group = try group.map { GroupName(bytes: try Typed.key($0).bytes) }
      let snapshot = try openForReading().snapshot(at: at)
      let reader = try snapshot.index(index)
      guard let group else {
        return try print(reader.count, output) { object in
          object.text("index", index)
          object.number("rows", reader.count)
        }
      }
      let rows = try bounds.positions(in: group, of: reader, at: snapshot).count
      try print(rows, output) { $0.group(group, rows: rows) }
    default:
      throw Failure(
        .usage,
        "A count needs --bucket or --index. --where goes with --bucket, --group with --index, "
          + "--from and --to with --group.")
    }
  }

  private static func count(
    in bucket: String, _ filter: RowFilter?, at snapshot: Snapshot
  ) throws -> Int {
    guard let filter else { return try snapshot.count(in: bucket) }
    var rows = 0
    try snapshot.forEachRow(in: bucket) { row in
      if row.object.withUnsafeBytes(filter.fits) { rows += 1 }
      return true
    }
    return rows
  }

  private func print(
    _ rows: Int, _ output: Output, _ object: (inout JSONObject) -> Void
  ) throws {
    if output.isJSON { try output.object(object) } else { try output.line("\(rows)") }
  }
}
