// `treering tag`: names a commit.

import ArgumentParser
import TreeRing
import TreeRingLive
import TreeRingLog

struct TagCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "tag", abstract: "Names a commit, or moves a name to it.")

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The name.", transform: NegativeNumber.shown)
  var name: String
  @Argument(help: "The commit. By default the newest.", transform: Point.parse)
  var commit: Point?

  func run(_ output: Output) throws {
    let store = try openForWriting()
    let number = try commit.map { try $0.commit(in: store) } ?? store.newestCommit
    try store.write { try $0.tag(name, commit: number) }
    try store.close()
    if output.isJSON {
      try output.object {
        $0.text("tag", name)
        $0.number("commit", number)
      }
    } else {
      try output.line("Commit \(number) is now named \(name).")
    }
  }
}
