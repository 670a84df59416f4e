// `treering bench`: measures workloads on a copy of a store.

import ArgumentParser
import TreeRing
import TreeRingLive
import TreeRingLog

struct BenchCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench", abstract: "Measures workloads on a copy of a store.",
    discussion: """
      The store itself is only read. The copy lies in the folder for temporary files, or in \
      --folder, and is removed at the end, also after Ctrl-C. Without --workload, all workloads \
      run. They always run in this order: gets, scan, index, asof, replay, open, puts, batches.
      """)

  @OptionGroup var arguments: StoreArguments
  @Option(help: "A workload. May be repeated; by default all.", transform: Workload.parse)
  var workload: [Workload] = []
  @Option(help: "The time of each workload, in seconds.") var seconds = 2.0
  @Option(
    help: "The memory budget: bytes, or a number with KiB, MiB or GiB.",
    transform: MemorySize.parse)
  var memory: Int?
  @Option(help: "An existing folder for the copy.", transform: NegativeNumber.shown)
  var folder: String?

  func validate() throws {
    guard seconds > 0, seconds <= 86_400 else {
      throw ValidationError("--seconds must be above 0 and at most 86400.")
    }
  }

  func run(_ output: Output) throws {
    let wanted = Workload.allCases.filter { workload.isEmpty || workload.contains($0) }
    try BenchCopy.with(of: arguments.store, in: folder, memory: memory) { copy in
      try head(copy.store, output)
      let workloads = try Workloads(copy, seconds: seconds)
      let table = Table(
        output,
        [
          .left("workload"), .left("operation"), .right("operations"), .right("per second"),
          .right("p50"), .right("p99"), .right("max"),
        ])
      for workload in wanted {
        try workloads.run(workload) { outcome in
          if output.isJSON {
            try object(workload, outcome, output)
          } else {
            try row(workload, outcome, table)
          }
        }
      }
      try table.finish()
    }
  }

  /// Prints the sizes of the store.
  private func head(_ store: Store, _ output: Output) throws {
    let statistics = try store.statistics()
    let indexes = try store.snapshot().indexes.count
    if output.isJSON {
      try output.object {
        $0.number("commits", statistics.commits)
        $0.number("rows", statistics.rows)
        $0.number("indexes", indexes)
        $0.number("logBytes", statistics.logByteCount)
        $0.number("pageFileBytes", statistics.pageFileByteCount)
        $0.number("memoryBudget", statistics.memoryBudget)
      }
      try output.flush()
    } else {
      try output.line(
        "A copy of \(arguments.store): \(Units.count(statistics.commits, "commit")), "
          + "\(Units.count(statistics.rows, "row")), "
          + "\(indexes == 1 ? "1 index" : "\(indexes) indexes"); log "
          + "\(Units.bytes(statistics.logByteCount)), page file "
          + "\(Units.bytes(statistics.pageFileByteCount)), memory budget "
          + "\(Units.bytes(statistics.memoryBudget)).")
      try output.flush()
    }
  }

  private func row(_ workload: Workload, _ outcome: Workloads.Outcome, _ table: Table) throws {
    switch outcome {
    case .measured(let figures):
      let name = figures.index.map { "\(workload.rawValue) \($0)" } ?? workload.rawValue
      let latencies = figures.latencies
      try table.row(
        name, figures.operation, "\(latencies.count)", Units.rate(figures.rate),
        Units.latency(latencies.percentile(0.5)), Units.latency(latencies.percentile(0.99)),
        Units.latency(latencies.maximum))
    case .nothing(let reason):
      try table.row(workload.rawValue, "nothing to do: \(reason)", "", "", "", "", "")
    }
  }

  private func object(_ workload: Workload, _ outcome: Workloads.Outcome, _ output: Output) throws {
    try output.object { object in
      object.text("workload", workload.rawValue)
      switch outcome {
      case .measured(let figures):
        if let index = figures.index { object.text("index", index) }
        object.text("operation", figures.operation)
        object.number("operations", figures.latencies.count)
        object.number("seconds", figures.seconds, digits: 3)
        object.number("rate", figures.rate, digits: 1)
        for (name, value) in [
          ("p50", figures.latencies.percentile(0.5)), ("p99", figures.latencies.percentile(0.99)),
          ("max", figures.latencies.maximum),
        ] {
          object.number(name, Double(value) / 1e9, digits: 9)
        }
      case .nothing(let reason): object.text("nothing", reason)
      }
    }
    try output.flush()
  }
}

/// A number of bytes on the command line.
enum MemorySize {
  private static let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("", 0)]

  static func parse(_ text: String) throws -> Int {
    for (unit, shift) in units where text.hasSuffix(unit) {
      guard let number = Int(text.dropLast(unit.count)), number > 0, number <= Int.max >> shift
      else { break }
      return number << shift
    }
    throw ValidationError(
      "“\(text)” is not a size. Write a number of bytes, or a number with KiB, MiB or GiB.")
  }
}
