// `treering watch`: follows a store that another process writes.

import ArgumentParser
import Foundation
import TreeRing
import TreeRingLive
import TreeRingLog
import TreeRingMappings

struct WatchCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Prints commits, or changesets of an index, as another process writes them.",
    discussion: """
      Prints only what is durable. Ends on Ctrl-C, or when the reader of its output exits. Commits \
      that arrive together are printed as one changeset.
      """)

  @OptionGroup var arguments: StoreArguments
  @Argument(
    help: "The index whose changes to print. By default commits are printed.",
    transform: NegativeNumber.shown)
  var index: String?
  @OptionGroup var shown: MappingArguments
  @Option(
    help: "The first commit to print, or the state before the first change. By default now.",
    transform: Point.parse)
  var from: Point?
  @Option(help: "End after this many commits or changesets.") var limit: Int?

  func run(_ output: Output) throws {
    let store = try openForReading()
    Interrupt.watch()
    if let index {
      try watch(index, store, output)
    } else {
      try watchCommits(store, output)
    }
    try store.close()
    if Interrupt.isRequested { throw Failure(.interrupted) }
  }

  private func watchCommits(_ store: Store, _ output: Output) throws {
    var next = try from?.number(in: store) ?? store.newestCommit + 1
    var count = 0
    while count < limit ?? .max, try wait(for: next, in: store) {
      let newest = store.newestCommit
      while next <= newest, count < limit ?? .max {
        let info = try store.commit(next)
        if output.isJSON {
          try output.object { $0.commit(info, tags: info.tags) }
        } else {
          try CommitPrinter.line(info, output)
        }
        next += 1
        count += 1
      }
      try output.flush()
    }
  }

  private func watch(_ index: String, _ store: Store, _ output: Output) throws {
    let first = try store.snapshot(at: from)
    var observer = store.observer(of: shown.mappings(of: index), limit: 100_000)
    _ = try observer.advance(to: first)
    var last = first.commit
    var count = 0
    while count < limit ?? .max, try wait(for: last + 1, in: store) {
      let snapshot = try store.snapshot()
      let change = try observer.advance(to: snapshot)
      last = snapshot.commit
      guard change.isReset || change.changeset.count > 0 else { continue }
      try ChangePrinter(output: output, change: change).print(.batch)
      try output.flush()
      count += 1
    }
  }

  /// Waits for a commit; false if watching should end.
  private func wait(for commit: CommitNumber, in store: Store) throws -> Bool {
    try store.wait(for: commit) {
      if Output.isClosed { throw OutputClosed() }
      return Interrupt.isRequested
    }
  }
}
