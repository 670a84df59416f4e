// `treering replay`: rebuilds every tree from the log alone.

import ArgumentParser
import Foundation
import TreeRing
import TreeRingLive
import TreeRingLog

struct ReplayCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay",
    abstract: "Rebuilds every tree from the log alone, and compares or keeps the result.",
    discussion: """
      Without --into, compares the result with the store; exit code 1 if they differ. With --into, \
      writes a new store that ends at the given commit. The replay of a compacted store begins \
      with its bases, the states at the horizon and at the tags before it.
      """)

  @OptionGroup var arguments: StoreArguments
  @Option(help: "The last commit to replay.", transform: Point.parse) var to: Point?
  @Option(help: "The folder of a new store.", transform: NegativeNumber.shown)
  var into: String?

  /// The result of a replay.
  private struct Report {
    var last: CommitNumber
    /// The commit of the newest base; 0 without bases.
    var base: CommitNumber
    var rows: Int
    /// The differences from the store; nil if they were not compared.
    var differences: [String]?
  }

  func run(_ output: Output) throws {
    if let into {
      try CopyWork.refusing {
        try UnfinishedCopy.checkMayBegin(.replay, in: into, fileSystem: PosixFileSystem())
      }
    }
    let start = ContinuousClock.now
    let report = try WholeHistory.reading(arguments.store) { store in
      let last = try to.map { try $0.commit(in: store) } ?? store.newestCommit
      return try into.map { try replay(store, through: last, into: $0) }
        ?? compare(store, through: last)
    }
    try show(report, seconds: (ContinuousClock.now - start) / .seconds(1), output)
    if report.differences?.isEmpty == false { throw Failure(.no) }
  }

  private func compare(_ store: Store, through last: CommitNumber) throws -> Report {
    let differences = try Replayer.differences(in: store, at: arguments.store, commit: last)
    let rows = try store.snapshot(at: .commit(last)).buckets().reduce(0) { $0 + $1.rows }
    return Report(
      last: last, base: try base(of: store, through: last), rows: rows, differences: differences)
  }

  private func replay(
    _ store: Store, through last: CommitNumber, into folder: String
  ) throws -> Report {
    Interrupt.watch()
    let disk = PosixFileSystem()
    let marker = try CopyWork.refusing {
      try UnfinishedCopy.begin(.replay, in: folder, fileSystem: disk)
    }
    defer { marker.release() }
    let copy = try Replayer(store).replay(into: folder, on: disk, through: last) {
      try StoreAccess.open(folder, .create, isUnfinishedCopy: true)
    }
    defer { try? copy.close() }
    let report = Report(
      last: last, base: try base(of: store, through: last), rows: try copy.statistics().rows)
    try copy.close()
    try marker.finish()
    return report
  }

  private func base(of store: Store, through last: CommitNumber) throws -> CommitNumber {
    try store.baseCommits().last { $0 <= last } ?? 0
  }

  private func show(_ report: Report, seconds: Double, _ output: Output) throws {
    let (last, base, rows) = (report.last, report.base, report.rows)
    let differences = report.differences
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
        try output.line("The result equals the store.")
      }
    }
  }
}
