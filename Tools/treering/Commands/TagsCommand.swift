// `treering tags`: the names of commits.

import ArgumentParser
import TreeRing
import TreeRingLive

struct TagsCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "tags", abstract: "Lists the names of commits.")

  @OptionGroup var arguments: StoreArguments

  func run(_ output: Output) throws {
    let table = Table(output, [.left("tag"), .right("commit")])
    for tag in try openForReading().snapshot().tags() {
      if output.isJSON {
        try output.object { $0.tag(tag) }
      } else {
        try table.row(tag.name, "\(tag.commit)")
      }
    }
    try table.finish()
  }
}
