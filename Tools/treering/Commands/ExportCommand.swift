// `treering export`: a store's history as lines that can be imported, or its rows at one commit.

import ArgumentParser
import TreeRing
import TreeRingLog

struct ExportCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Writes the history in import format, or the rows at one commit.",
    discussion: """
      The history of a compacted store begins with the state at the horizon, after those at the \
      tags before it, in lines that begin with “base”.
      """)

  enum Format: String, ExpressibleByArgument, CaseIterable { case commits, rows }

  @OptionGroup var arguments: StoreArguments
  @Option(
    help: "The last commit to export, or the one whose rows to export.", transform: Point.parse)
  var at: Point?
  @Option(help: "commits: the history, one line each. rows: the state in key order.")
  var format = Format.commits
  @Option(help: "Only rows of this bucket (with --format rows).", transform: NegativeNumber.shown)
  var bucket: String?
  @Option(help: "The first commit (with --format commits).", transform: Point.parse)
  var from: Point?
  @Option(help: "The last commit (with --format commits).", transform: Point.parse)
  var to: Point?

  func validate() throws {
    if format == .commits, bucket != nil {
      throw ValidationError("--bucket goes with --format rows.")
    }
    if format == .rows, from != nil || to != nil {
      throw ValidationError("--from and --to go with --format commits; rows have --at.")
    }
    if at != nil, to != nil { throw ValidationError("--at and --to say the same; give one.") }
  }

  func run(_ output: Output) throws {
    let store = try openForReading()
    switch format {
    case .commits: try exportCommits(store, output)
    case .rows: try exportRows(try store.snapshot(at: at), output)
    }
  }

  private func exportCommits(_ store: Store, _ output: Output) throws {
    let newest = store.newestCommit
    let last = try at?.commit(in: store) ?? min(to?.number(in: store) ?? newest, newest)
    var first = max(try from?.number(in: store) ?? 1, 1)
    let bases = try store.baseCommits()
    if let horizon = bases.last, first <= horizon {
      if last < horizon { _ = try store.commit(last) }
      try BasePrinter(store: store, output: output).print(bases.filter { $0 <= last })
      first = horizon + 1
    }
    guard first <= last else { return }
    let progress = ProgressBar("Exporting", total: last + 1 - first)
    defer { progress.finish() }
    var writer = CommitLineWriter()
    for number in first...last {
      let (info, operations) = try store.operations(of: number)
      writer.commit(info, operations)
      if writer.output.count >= 1 << 15 {
        try output.write(writer.output)
        writer.output.removeAll(keepingCapacity: true)
        progress.update(done: number + 1 - first, count: number + 1 - first, unit: "commits")
      }
    }
    try output.write(writer.output)
  }

  private func exportRows(_ snapshot: Snapshot, _ output: Output) throws {
    if let bucket { try snapshot.checkKnows(bucket: bucket) }
    for (name, rows) in try snapshot.buckets() where rows > 0 {
      if let bucket, !bucket.utf8.elementsEqual(name.utf8) { continue }
      try snapshot.forEachRow(in: name) { row in
        try output.object(isExact: true) {
          $0.text("bucket", name)
          $0.key("key", row.key.bytes)
          $0.exactContent("object", row.object)
          if let metadata = row.metadata { $0.exactContent("metadata", metadata) }
        }
        return true
      }
    }
  }
}
