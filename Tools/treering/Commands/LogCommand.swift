// `treering log`: lists commits.

import ArgumentParser
import TreeRing
import TreeRingLive
import TreeRingLog

struct LogCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "log", abstract: "Lists commits.")

  @OptionGroup var arguments: StoreArguments
  @Option(
    help: "The first commit; by default the oldest readable one.", transform: Point.parse)
  var from: Point?
  @Option(help: "The last commit.", transform: Point.parse) var to: Point?
  @Flag(help: "Newest first.") var reverse = false
  @Option(help: "List at most this many commits.") var limit: Int?

  func run(_ output: Output) throws {
    let store = try openForReading()
    let first = max(try from?.number(in: store) ?? store.horizon, 1)
    let last = min(try to?.number(in: store) ?? .max, store.newestCommit)
    guard first <= last else { return }
    var tags: [CommitNumber: [String]] = [:]
    for tag in try store.snapshot().tags() { tags[tag.commit, default: []].append(tag.name) }
    let table = Table(
      output,
      [
        .right("commit"), .left("at"), .right("operations"), .right("bytes"), .left("tags"),
        .left("note"),
      ])
    var count = 0
    var number = reverse ? last : first
    while number >= first, number <= last, count < limit ?? .max {
      let info = try store.commit(number)
      try list(info, tags[number] ?? [], output, table)
      count += 1
      if reverse { number -= 1 } else { number += 1 }
    }
    try table.finish()
  }

  private func list(
    _ info: CommitInfo, _ tags: [String], _ output: Output, _ table: Table
  ) throws {
    guard output.isJSON else {
      return try table.row(
        "\(info.number)", ISO8601.format(info.timestamp), "\(info.operationCount)",
        "\(info.byteCount)", tags.joined(separator: " "), info.note ?? "")
    }
    try output.object { $0.commit(info, tags: tags) }
  }
}
