// `treering compact`: drops history and reports the gain.

import ArgumentParser
import TreeRing
import TreeRingLive
import TreeRingLog

struct CompactCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Drops the history before a point, the horizon, and shrinks the log.",
    discussion: """
      Tags below the horizon stay readable, except with --drop-history, which removes them unless \
      --keep-tags is given. Ctrl-C stops between two steps; the next run goes on. Fails while \
      another process has the store open for writing.
      """)

  @OptionGroup var arguments: StoreArguments
  @Option(help: "Keep this many of the newest commits.") var keepLast: Int?
  @Option(
    help: "Keep every commit from this point on: a commit, a date, tag:NAME or -K.",
    transform: Point.parse)
  var keepSince: Point?
  @Flag(help: "Keep the newest commit only.") var dropHistory = false
  @Flag(help: "With --drop-history: keep the commits of tags too.") var keepTags = false
  @Flag(help: "Report what would be done; change nothing.") var dryRun = false

  func validate() throws {
    guard [keepLast != nil, keepSince != nil, dropHistory].count(where: { $0 }) == 1 else {
      throw ValidationError("Give one of --keep-last N, --keep-since X and --drop-history.")
    }
    if let keepLast, keepLast < 1 {
      throw ValidationError("--keep-last must be at least 1.")
    }
  }

  func run(_ output: Output) throws {
    let store = try openForWriting()
    Interrupt.watch()
    let target = try target(in: store)
    let progress = ProgressBar("Compacting", total: 1000)
    let report = try store.compact(
      to: target, keepsTags: keepTags || !dropHistory, isDryRun: dryRun
    ) { done in
      let part = Double(done.doneByteCount) / Double(max(1, done.totalByteCount))
      progress.update(done: UInt64(part * 1000), count: done.doneByteCount >> 20, unit: "MB")
      return !Interrupt.isRequested
    }
    progress.finish()
    try store.close()
    try summarize(report, output)
  }

  private func target(in store: Store) throws -> CompactionTarget {
    if let keepLast { return .keeping(.last(commits: keepLast)) }
    if let keepSince { return .before(try keepSince.commit(in: store)) }
    return .dropHistory
  }

  private func summarize(_ report: CompactionReport, _ output: Output) throws {
    if output.isJSON {
      try output.object {
        $0.number("horizon", report.horizon)
        $0.number("bytesBefore", report.bytesBefore)
        $0.number("bytesAfter", report.bytesAfter)
        $0.raw("held", JSONText.held(report.held))
      }
      return
    }
    let verb = report.isDryRun ? "would be" : "is"
    if report.horizon <= 1 {
      try output.line("Every commit \(report.isDryRun ? "would stay" : "stays") readable.")
    } else {
      try output.line("The oldest readable commit \(verb) \(report.horizon) now.")
    }
    let about = report.isDryRun ? "about " : ""
    try output.line(
      "The log: \(Units.bytes(report.bytesBefore)) before, "
        + "\(about)\(Units.bytes(report.bytesAfter)) after.")
    for holding in report.held {
      try output.line("Commit \(holding.commit) stays readable for \(holding.description).")
    }
  }
}
