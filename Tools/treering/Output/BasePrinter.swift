// The beginning of a compacted store's history as lines of the import format, one for each base.

import TreeRing
import TreeRingLog

/// Prints bases. It holds only a piece of a line in memory, however long the line is.
struct BasePrinter {
  let store: Store
  let output: Output

  /// Prints the bases of these commits, which must be the first of `Store.baseCommits`.
  func print(_ commits: [CommitNumber]) throws {
    var previous: CommitNumber = 0
    for commit in commits {
      try print(commit, after: previous)
      previous = commit
    }
  }

  private func print(_ commit: CommitNumber, after previous: CommitNumber) throws {
    let info = try store.baseInfo(of: commit)
    var writer = CommitLineWriter()
    var dates: [(commit: CommitNumber, at: Timestamp)] = []
    writer.begin(base: commit)
    try store.forEachBaseOperation(of: commit, after: previous) { operation in
      writer.operation(operation.operation)
      let number = operation.stamp.commit
      if case .row(_, .put) = operation.operation {
        writer.numbers(
          written: operation.stamp, created: operation.created, touched: operation.touched)
      } else {
        writer.numbers(written: operation.stamp, created: nil, touched: 0)
      }
      if number != commit, number != dates.last?.commit {
        dates.append((number, operation.timestamp))
      }
      if writer.output.count >= 1 << 15 {
        try output.write(writer.output)
        writer.output.removeAll(keepingCapacity: true)
      }
    }
    writer.endBase(at: info.timestamp, note: info.note, buckets: info.buckets, dates: dates)
    try output.write(writer.output)
  }
}
