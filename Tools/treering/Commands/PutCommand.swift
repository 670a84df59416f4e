// `treering put`: writes one row in one commit.

import ArgumentParser
import TreeRing
import TreeRingLive
import TreeRingLog

struct PutCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "put", abstract: "Writes one row in one commit.")

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The bucket.", transform: NegativeNumber.shown)
  var bucket: String
  @Argument(help: "The key.", transform: NegativeNumber.shown)
  var key: String
  @Argument(
    help: "The object, JSON or {\"$base64\":\"…\"}. By default standard input.",
    transform: NegativeNumber.shown)
  var object: String?
  @Option(help: "The metadata, JSON or {\"$base64\":\"…\"}.", transform: NegativeNumber.shown)
  var metadata: String?
  @Option(help: "Fail unless the row was last written at this commit (0: unless it is absent).")
  var expect: CommitNumber?

  func run(_ output: Output) throws {
    let text = try object.map { Array($0.utf8) } ?? StandardInput.all()
    let object = try Typed.content(text, "object")
    let metadata = try metadata.map {
      try Typed.content(Array($0.utf8), "metadata")
    }
    let key = try Typed.key(key)
    let store = try openForWriting()
    let written = try store.write { tx in
      if let expect { try tx.require(key, in: bucket, lastWrittenAt: expect) }
      try tx.put(object, metadata: metadata, for: key, in: .bytes(bucket))
    }
    try store.close()
    try output.commit(written.commit, "Wrote")
  }
}

extension Output {
  /// Prints the commit that a command made.
  func commit(_ number: CommitNumber, _ verb: String) throws {
    if isJSON {
      try object { $0.number("commit", number) }
    } else {
      try line("\(verb) in commit \(number).")
    }
  }
}
