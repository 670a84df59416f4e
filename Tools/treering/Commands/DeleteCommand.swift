// `treering delete`: deletes one row in one commit.

import ArgumentParser
import TreeRing
import TreeRingLog

struct DeleteCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Deletes one row in one commit; exit code 1 if there is no such row.")

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The bucket.", transform: NegativeNumber.shown)
  var bucket: String
  @Argument(help: "The key.", transform: NegativeNumber.shown)
  var key: String
  @Option(help: "Fail unless the row was last written at this commit.")
  var expect: CommitNumber?

  func run(_ output: Output) throws {
    let key = try Typed.key(key)
    let store = try openForWriting()
    let written = try store.write { tx in
      if let expect { try tx.require(key, in: bucket, lastWrittenAt: expect) }
      return try tx.delete(key, in: bucket)
    }
    try store.close()
    guard written.value else {
      throw Failure(.no, "There is no row \(key) in bucket \(bucket); nothing was deleted.")
    }
    try output.commit(written.commit, "Deleted")
  }
}
