// `treering diff`: the rows that differ between two commits.

import ArgumentParser
import TreeRing
import TreeRingLive

struct DiffCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff",
    abstract: "Lists the rows that differ between two commits; exit code 1 if there are any.")

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The point in history to start from.", transform: Point.parse) var before: Point
  @Argument(help: "The point in history to end at.", transform: Point.parse) var after: Point
  @Option(help: "Only rows of this bucket.", transform: NegativeNumber.shown)
  var bucket: String?

  func run(_ output: Output) throws {
    let store = try openForReading()
    let old = try store.snapshot(at: before)
    let new = try store.snapshot(at: after)
    var count = 0
    try new.diff(from: old) { difference in
      if let bucket, !difference.id.bucket.utf8.elementsEqual(bucket.utf8) { return true }
      count += 1
      try list(difference, output)
      return true
    }
    if count > 0 { throw Failure(.no) }
  }

  private func list(_ difference: RowDifference, _ output: Output) throws {
    let id = difference.id
    guard output.isJSON else {
      let name = "\(id.bucket)/\(JSONText.shown(key: id.key.bytes))"
      for (sign, row) in [("-", difference.before), ("+", difference.after)] {
        guard let row else { continue }
        let metadata = row.metadata.map { " " + JSONText.shown($0) } ?? ""
        try output.line("\(sign) \(name) \(JSONText.shown(row.object))\(metadata)")
      }
      return
    }
    try output.object { $0.difference(difference) }
  }
}
