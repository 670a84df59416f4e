// `treering import`: commits or rows from files or standard input into a store.

import ArgumentParser
import TreeRing
import TreeRingImport
import TreeRingLive
import TreeRingLog

struct ImportCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Imports commits, one per line, or rows, into a store; creates the store.",
    discussion: """
      A bad line ends the import with its number and exit code 65. The commits before it are kept, \
      and --resume goes on after them. Ctrl-C stops between two commits. Input whose first line is \
      the store's first commit, with its date, is refused, unless --resume or --again is given. \
      A line that breaks a rule of the store is a bad line, unless --unchecked is given.
      """)

  enum Format: String, ExpressibleByArgument, CaseIterable { case commits, rows }

  /// The durability of the commits, by the names of `Durability`.
  enum Syncing: String, ExpressibleByArgument, CaseIterable {
    case relaxed, full, barrier, unsynced

    /// Reads a name; “none” is an earlier one of `unsynced`, for scripts that have it.
    init?(argument: String) { self.init(rawValue: argument == "none" ? "unsynced" : argument) }
  }

  @OptionGroup var arguments: StoreArguments
  @Argument(
    help: "The files, LZ4-compressed or not. By default standard input.",
    transform: NegativeNumber.shown)
  var files: [String] = []
  @Option(help: "commits: one commit per line. rows: JSON Lines, a JSON array, or CSV.")
  var format = Format.commits
  @Option(help: "The bucket of the rows.", transform: NegativeNumber.shown)
  var bucket: String?
  @Option(help: "The field of a row that is its key.", transform: NegativeNumber.shown)
  var key: String?
  @Option(help: "The number of rows in a commit; by default 1.") var rowsPerCommit: Int?
  @Option(
    help: """
      relaxed: synced at least every second and before the summary. full: synced at each commit. \
      barrier: ordered before later writes. unsynced: synced at the end.
      """)
  var durability = Syncing.relaxed
  @Option(help: "Write commits at the pace of their dates, so many times as fast.")
  var speed: Double?
  @Option(
    help: "With --speed: write commits with an earlier date without delay.",
    transform: ImportDate.parse)
  var delayFrom: Timestamp?
  @Flag(help: "Skip the lines that are commits of the store already.") var resume = false
  @Flag(help: "Import commits once more that the store begins with.") var again = false
  @Flag(help: "Keep no rules: the lines are what another store has committed.")
  var unchecked = false

  func validate() throws {
    let options = [bucket != nil, key != nil, rowsPerCommit != nil]
    if format == .commits, options.contains(true) {
      throw ValidationError("--bucket, --key and --rows-per-commit go with --format rows.")
    }
    if format == .rows, bucket == nil || key == nil {
      throw ValidationError("--format rows needs --bucket and --key.")
    }
    if let speed, !(speed > 0 && speed.isFinite) || format == .rows {
      throw ValidationError("--speed is more than 0, and goes with --format commits.")
    }
    if delayFrom != nil, speed == nil { throw ValidationError("--delay-from goes with --speed.") }
    if unchecked, format == .rows {
      throw ValidationError("--unchecked goes with --format commits.")
    }
    if resume, again { throw ValidationError("--resume and --again exclude each other.") }
    if let rowsPerCommit, rowsPerCommit < 1 {
      throw ValidationError("--rows-per-commit must be at least 1.")
    }
  }

  func run(_ output: Output) throws {
    let input = try InputFiles(files)
    var bases = BaseImport(path: arguments.store, input: input)
    if format == .commits { try bases.run(resuming: resume) }
    let store = try StoreAccess.open(arguments.store, .create)
    defer { try? store.close() }
    Interrupt.watch()
    let pace = speed.map { ImportPace(speed: $0, begin: delayFrom) }
    var work = ImportWork(store: store, input: input, durability: logDurability, pace: pace)
    let start = ContinuousClock.now
    var failure: (any Error)?
    do {
      switch format {
      case .commits:
        try work.importCommits(
          after: bases, resuming: resume, again: again, unchecked: unchecked)
      case .rows:
        try work.importRows(
          bucket: bucket ?? "", key: key ?? "", perCommit: rowsPerCommit ?? 1, resuming: resume)
      }
    } catch {
      failure = error
    }
    // Commits before a bad line are kept; closing makes them durable.
    try store.close()
    if let failure { throw failure }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    try summarize(work, seconds: seconds, input, output)
    if work.wasInterrupted { throw Failure(.interrupted, "Interrupted; --resume goes on.") }
  }

  private var logDurability: Durability {
    switch durability {
    case .relaxed: .relaxed(within: .seconds(1))
    case .full: .full
    case .barrier: .barrier
    case .unsynced: .unsynced
    }
  }

  private func summarize(
    _ work: ImportWork, seconds: Double, _ input: InputFiles, _ output: Output
  ) throws {
    if output.isJSON {
      try output.object {
        $0.number("commits", work.commitCount)
        $0.number("operations", work.operationCount)
        $0.number("bytes", input.lines.lineByteCount)
        $0.number("seconds", seconds, digits: 3)
        $0.number("last", work.last)
        if work.clampedCount > 0 { $0.number("clamped", work.clampedCount) }
      }
      return
    }
    let rate = seconds > 0 ? Int(Double(work.commitCount) / seconds) : 0
    try output.line(
      "Imported \(Units.count(work.commitCount, "commit")) with "
        + "\(Units.count(work.operationCount, "operation")) in "
        + "\(Units.seconds(seconds)) (\(rate) commits/s, "
        + "\(Units.bytes(input.lines.lineByteCount))); the last commit is \(work.last).")
    if work.skippedCount > 0 {
      let lines = Units.count(work.skippedCount, "line")
      try output.line("Skipped \(lines) that the store has already.")
    }
    if work.clampedCount > 0 {
      try output.line(
        "\(Units.count(work.clampedCount, "commit")) got a later date than given, that of the "
          + "commit before.")
    }
  }
}
