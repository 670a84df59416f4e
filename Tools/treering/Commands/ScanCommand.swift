// `treering scan`: the rows of a bucket in key order.

import ArgumentParser
import TreeRing
import TreeRingLive

struct ScanCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "scan",
    abstract: "Prints rows of a bucket in key order; exit code 1 if there is no such bucket.",
    discussion: FilterArguments.help)

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The bucket.", transform: NegativeNumber.shown)
  var bucket: String
  @Option(help: "Only keys that begin with this.", transform: NegativeNumber.shown)
  var prefix: String?
  @Option(help: "Only this key and later ones.", transform: NegativeNumber.shown)
  var from: String?
  @Option(help: "Only keys before this one.", transform: NegativeNumber.shown)
  var to: String?
  @Flag(help: "Last key first.") var reverse = false
  @Option(help: "Print at most this many rows.") var limit: Int?
  @Option(help: "The point in history to read at.", transform: Point.parse) var at: Point?
  @Flag(help: "Print keys only.") var keys = false
  @OptionGroup var filter: FilterArguments
  @OptionGroup var columns: ColumnArguments

  func run(_ output: Output) throws {
    let rowFilter = try filter.filter()
    let snapshot = try openForReading().snapshot(at: at)
    try snapshot.checkKnows(bucket: bucket)
    let (lower, upper) = try bounds()
    let table = RowTable(output, [.left("key")], columns)
    var count = 0
    var examinedCount = 0
    guard limit ?? 1 > 0 else { return }
    try snapshot.forEachRow(in: bucket, from: lower, to: upper, reversed: reverse) { row in
      examinedCount += 1
      if let rowFilter, !row.object.withUnsafeBytes(rowFilter.fits) { return true }
      if output.isJSON {
        try output.object { $0.row(row, withObject: !keys) }
      } else if keys {
        try output.line(JSONText.shown(key: row.key.bytes))
      } else {
        try table.row(JSONText.shown(key: row.key.bytes), object: row.object)
      }
      count += 1
      return count < limit ?? .max
    }
    try table.finish()
    try filter.advise(after: examinedCount, in: bucket, of: snapshot, output)
  }

  /// The keys to print: from the first, inclusive, to the second, exclusive.
  private func bounds() throws -> (Key?, Key?) {
    KeyRange.bounds(
      prefix: try prefix.map { try Typed.key($0) }, from: try from.map { try Typed.key($0) },
      to: try to.map { try Typed.key($0) })
  }
}
