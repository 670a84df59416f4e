// `treering get`: one row.

import ArgumentParser
import TreeRing

struct GetCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Prints a row's object; exit code 1 if there is no such row.")

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The bucket.") var bucket: String
  @Argument(help: "The key.") var key: String
  @Option(help: "The point in history to read at.", transform: Point.parse) var at: Point?
  @Flag(help: "Print the metadata too, on a second line.") var metadata = false

  func run(_ output: Output) throws {
    let snapshot = try openForReading().snapshot(at: at)
    guard let row = try snapshot.row(try Typed.key(key), in: bucket) else {
      let key = NegativeNumber.shown(key)
      throw Failure(.no, "There is no row \(key) in bucket \(bucket) at commit \(snapshot.commit).")
    }
    if output.isJSON { return try output.row(row) }
    try output.line(JSONText.shown(row.object))
    if metadata, let metadata = row.metadata { try output.line(JSONText.shown(metadata)) }
  }
}
