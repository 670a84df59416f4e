// The families of lines: each has a table and a picture.

internal import BenchmarkResults

/// The lines of some subjects, in this order.
struct Family {
  /// The name of the picture's file.
  let name: String
  let title: String
  let subjects: [String]
  /// Whether the lines are points of curves instead of bars.
  var isCurves = false

  static let all = [
    Family(name: "commits", title: "Commits", subjects: ["Commits"]),
    Family(name: "loads", title: "Batches and loads", subjects: ["Batches", "BulkLoad"]),
    Family(name: "reads", title: "Reads", subjects: ["RandomGets", "Scans", "TypedGets"]),
    Family(
      name: "reads-beside-writer", title: "Reads beside a writer", subjects: ["ReadsBesideWriter"]),
    Family(name: "lists", title: "Observed lists", subjects: ["ObservedLists"]),
    Family(name: "space", title: "Space", subjects: ["DiskUse", "BytesWritten"]),
    Family(name: "opening", title: "Opening", subjects: ["Opening", "OpenTime"]),
    Family(
      name: "history", title: "History, positions, pinned snapshots",
      subjects: ["Replay", "AsOf", "RankSelect", "PinnedUpdates"]),
    Family(name: "growth", title: "Growth with rows", subjects: ["RowGrowth"], isCurves: true),
  ]

  func lines(of results: ResultFile) -> [Line] {
    subjects.flatMap { subject in results.lines.filter { $0.subject == subject } }
  }
}

/// The engines with a figure or a failure in any of the lines: the own first, then the peers as the
/// benchmarks list them, then others by name.
func engines(of lines: [Line]) -> [String] {
  var names: Set<String> = []
  for line in lines { names.formUnion(Array(line.samples.keys) + Array(line.failures.keys)) }
  names = names.filter(EngineName.isCompared)
  let known = [EngineName.own, "LMDB", "RocksDB", "LevelDB", "SQLite", "GRDB"]
  return known.filter { names.contains($0) } + names.subtracting(known).sorted()
}
