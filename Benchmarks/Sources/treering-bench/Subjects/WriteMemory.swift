// The peak of anonymous memory while commits write little beside many indexes or buckets, or delete
// far more than the budget at once.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import TreeRing

let writeMemory: [Subject] = [
  Subject(name: "MemoryBesideIndexes") { context in
    let (indexes, commits) = context.pick(small: (20, 500), full: (200, 40_000))
    try line(
      context, "MemoryBesideIndexes", "\(commits) commits beside \(indexes) indexes", budget: 64
    ) { store in
      try store.write { tx in
        for number in 0..<indexes {
          try tx.define(
            "index \(number)", FieldIndex(bucket: "other \(number)", group: "g", order: []))
        }
      }
      let rows = PlainRows()
      return { for row in 0..<commits { try store.write { try rows.put(row % 1_000, $0) } } }
    }
  },
  Subject(name: "MemoryNewBuckets") { context in
    let count = context.pick(small: 300, full: 16_000)
    try line(
      context, "MemoryNewBuckets", "\(count) commits, each in a bucket of its own", budget: 64
    ) { store in
      {
        for number in 0..<count {
          try store.write { try $0.put([1], for: "key", in: Bucket.bytes("bucket \(number)")) }
        }
      }
    }
  },
  Subject(name: "MemoryDeleteAll") { context in
    let count = context.pick(small: 20_000, full: 1_000_000)
    try line(
      context, "MemoryDeleteAll", "\(count) rows deleted at once", budget: 16
    ) { store in
      try PlainRows().load(0..<count, into: store)
      try store.checkpoint()
      return { try store.write { _ = try $0.deleteAll(in: PlainRows.bucket) } }
    }
  },
]

/// - Parameters:
///   - budget: the memory budget, in MiB.
///   - prepare: returns the work to measure.
private func line(
  _ context: Context, _ subject: String, _ what: String, budget: Int,
  _ prepare: (Store) throws -> () throws -> Void
) throws {
  guard MemoryWatch.anonymousByteCount != nil else { return }
  let measurement = Measurement(
    subject, "anonymous memory, \(what), peak (budget \(budget) MiB)", unit: "MB", .lower)
  let folder = try context.folder()
  let peak = try MemoryWatch.peak {
    let store = try Store(
      at: folder, options: StoreOptions(durability: .unsynced, memoryBudget: budget << 20))
    try prepare(store)()
    try store.close()
  }
  measurement.add(TreeRingEngine.name, Double(peak) / 1e6)
  try context.remove(folder)
  try context.report.add(measurement)
}
