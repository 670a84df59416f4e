// `treering show`: the operations of one commit.

import ArgumentParser
import TreeRing
import TreeRingImport
import TreeRingLive
import TreeRingLog

struct ShowCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Shows the operations of one commit.")

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The commit.", transform: Point.parse) var commit: Point

  func run(_ output: Output) throws {
    let store = try openForReading()
    let number = try commit.commit(in: store)
    let (info, operations) = try store.operations(of: number)
    var writer = CommitWriter()
    if output.isJSON {
      writer.commit(info, operations, number: number)
      return try output.write(writer.output)
    }
    try output.line("commit \(number), \(ISO8601.format(info.timestamp))")
    if let note = info.note { try output.line("note   \(note)") }
    if !info.tags.isEmpty { try output.line("tags   \(info.tags.joined(separator: " "))") }
    for operation in operations {
      // Each operation gets its own writer, so that no comma precedes it.
      var single = CommitWriter(isForPeople: true)
      single.operation(operation)
      try output.line(String(decoding: single.output, as: UTF8.self))
    }
  }
}
