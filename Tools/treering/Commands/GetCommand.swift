// `treering get`: one row.

import ArgumentParser
import TreeRing
import TreeRingLive

struct GetCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Prints a row's object; exit code 1 if there is no such row.")

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The bucket.", transform: NegativeNumber.shown)
  var bucket: String
  @Argument(help: "The key.", transform: NegativeNumber.shown)
  var key: String
  @Option(help: "The point in history to read at.", transform: Point.parse) var at: Point?
  @Flag(help: "Print the metadata too, on a second line.") var metadata = false

  func run(_ output: Output) throws {
    let (found, commit) = try find(in: try openForReading())
    guard let row = found else {
      throw Failure(.no, "There is no row \(key) in bucket \(bucket) at commit \(commit).")
    }
    if output.isJSON { return try output.object { $0.row(row) } }
    try output.line(JSONText.shown(row.object))
    if metadata, let metadata = row.metadata { try output.line(JSONText.shown(metadata)) }
  }

  /// The row, and the commit at which it was read.
  private func find(in store: Store) throws -> (StoredRow?, CommitNumber) {
    let key = try Typed.key(key)
    guard let at else {
      let snapshot = try store.snapshot()
      return (try snapshot.row(key, in: bucket), snapshot.commit)
    }
    let commit = try at.commit(in: store)
    return (try store.row(key, in: bucket, at: .commit(commit)), commit)
  }
}
