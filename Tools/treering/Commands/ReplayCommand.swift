// `treering replay`: rebuilds every tree from the log alone.

import ArgumentParser
import Foundation
import TreeRing
import TreeRingLog

struct ReplayCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay",
    abstract: "Rebuilds every tree from the log alone, and compares or keeps the result.",
    discussion: """
      Without --into, compares with what the store holds: exit code 1 if they differ. With --into, \
      writes a new store that ends at the commit given. Of a compacted store what is left of the \
      commits up to the horizon is replayed as a whole.
      """)

  @OptionGroup var arguments: StoreArguments
  @Option(help: "The last commit to replay.", transform: Point.parse) var to: Point?
  @Option(help: "The folder of a new store.") var into: String?

  func run(_ output: Output) throws {
    let store = try openForReading()
    let last = try to.map { try $0.commit(in: store) } ?? store.newestCommit
    let start = ContinuousClock.now
    var rows = 0
    var differences: [String]?
    if let into {
      guard !FileManager.default.fileExists(atPath: into) else {
        throw Failure(.cannotCreate, "There is something at \(into) already; name a new folder.")
      }
      let copy = try Replayer(store).replay(into: into, on: PosixFileSystem(), through: last) {
        try StoreAccess.open(into, .create)
      }
      rows = try copy.statistics().rows
      try copy.close()
    } else {
      differences = try Replayer.differences(in: store, at: arguments.store, commit: last)
      rows = try store.snapshot(at: .commit(last)).buckets().reduce(0) { $0 + $1.rows }
    }
    // The newest one of those that what is replayed begins with.
    let base = try store.baseCommits().last { $0 <= last } ?? 0
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    if output.isJSON {
      try output.object {
        $0.number("commits", last)
        if base > 0 { $0.number("base", base) }
        $0.number("rows", rows)
        $0.number("seconds", seconds, digits: 3)
        if let differences { $0.bool("equal", differences.isEmpty) }
      }
    } else {
      let commits = Units.count(last - base, "commit")
      let replayed = base == 0 ? commits : "the base of commit \(base) and \(commits)"
      try output.line(
        "Replayed \(replayed) to \(Units.count(rows, "row")) in "
          + "\(Units.seconds(seconds)).")
      for difference in differences ?? [] { try output.line(difference) }
      if let into {
        try output.line("The new store is at \(into).")
      } else if differences?.isEmpty == true {
        try output.line("It is the same as what the store holds.")
      }
    }
    if differences?.isEmpty == false { throw Failure(.no) }
  }
}
