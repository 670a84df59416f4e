// `treering export`: a store's history as lines that can be imported, or its rows at one commit.

import ArgumentParser
import TreeRing
import TreeRingImport
import TreeRingLive
import TreeRingLog

struct ExportCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Writes the history in import format, or the rows at one commit.",
    discussion: """
      The history of a compacted store begins with bases, lines that each hold the state at a tag \
      before the horizon, or at the horizon. CSV has a column for each member of the objects; \
      `import --format rows` reads it back.
      """)

  enum Format: String, ExpressibleByArgument, CaseIterable { case commits, rows, csv }

  @OptionGroup var arguments: StoreArguments
  @Option(
    help: "The last commit to export, or the one whose rows to export.", transform: Point.parse)
  var at: Point?
  @Option(
    help: """
      commits: the history, one commit per line. rows: the state in key order, one row per line. \
      csv: the rows of one bucket.
      """)
  var format = Format.commits
  @Option(
    help: "The bucket of the rows; --format csv needs it.", transform: NegativeNumber.shown)
  var bucket: String?
  @Option(
    help: "The name of a first column with the keys (with --format csv).",
    transform: NegativeNumber.shown)
  var key: String?
  @Option(help: "The first commit (with --format commits).", transform: Point.parse)
  var from: Point?
  @Option(help: "The last commit (with --format commits).", transform: Point.parse)
  var to: Point?

  func validate() throws {
    if format == .commits, bucket != nil {
      throw ValidationError("--bucket goes with --format rows and --format csv.")
    }
    if format == .csv, bucket == nil { throw ValidationError("--format csv needs --bucket.") }
    if format != .csv, key != nil { throw ValidationError("--key goes with --format csv.") }
    if format != .commits, from != nil || to != nil {
      throw ValidationError("--from and --to go with --format commits; rows have --at.")
    }
    if at != nil, to != nil { throw ValidationError("--at and --to mean the same; give one.") }
  }

  func run(_ output: Output) throws {
    let store = try openForReading()
    switch format {
    case .commits: try exportCommits(store, output)
    case .rows: try snapshot(of: store).exportRows(of: bucket) { try output.write($0) }
    case .csv:
      try snapshot(of: store).exportCSV(of: bucket ?? "", keyColumn: key) { try output.write($0) }
    }
  }

  private func exportCommits(_ store: Store, _ output: Output) throws {
    let newest = store.newestCommit
    let last = try at?.commit(in: store) ?? min(to?.number(in: store) ?? newest, newest)
    let first = max(try from?.number(in: store) ?? 1, 1)
    let total = last + 1 - min(max(first, store.horizon + 1), last + 1)
    let progress = ProgressBar("Exporting", total: total)
    defer { progress.finish() }
    try store.exportCommits(from: first, through: last) { lines, count in
      try output.write(lines)
      progress.update(done: count, count: count, unit: "commits")
    }
  }

  private func snapshot(of store: Store) throws -> Snapshot {
    let snapshot = try store.snapshot(at: at)
    if let bucket { try snapshot.checkKnows(bucket: bucket) }
    return snapshot
  }
}
