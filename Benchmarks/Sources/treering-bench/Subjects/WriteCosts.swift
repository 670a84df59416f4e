// The cost of a write beside items that it does not affect, and the additional cost of its own
// indexes: indexes over other buckets, buckets created before, closures over the same row, groups
// of one row.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import TreeRing

let writeCosts: [Subject] = [
  Subject(name: "WriteBesideIndexes") { context in
    for count in context.pick(small: [0, 20], full: [0, 100, 500]) {
      try commitLine(context, besideIndexes: count)
    }
  },
  Subject(name: "WriteNewBuckets") { context in
    for count in context.pick(small: [100, 400], full: [2_000, 16_000]) {
      try newBucketLine(context, after: count)
    }
  },
  Subject(name: "WriteClosureIndexes") { context in
    for count in [0, 1, 3, 6] { try closureLines(context, indexes: count) }
  },
  Subject(name: "WriteManyGroups") { context in
    for count in context.pick(small: [50, 200], full: [500, 4_000]) {
      try groupLine(context, groups: count)
    }
  },
]

/// Adds a sample of the processor time of each of `count` turns, in microseconds.
private func measure(
  _ measurement: Measurement, _ count: Int, _ body: (Int) throws -> Void
) throws {
  let seconds = try Clocks.threadSeconds { for turn in 0..<count { try body(turn) } }
  measurement.add(TreeRingEngine.name, seconds / Double(count) * 1e6)
}

private func open(_ context: Context, indexes: [GroupIndex] = []) throws -> (Store, String) {
  let folder = try context.folder()
  let store = try Store(
    at: folder, options: StoreOptions(durability: .unsynced, indexes: indexes))
  return (store, folder)
}

/// Commits of one row, beside indexes over buckets that no commit writes.
private func commitLine(_ context: Context, besideIndexes count: Int) throws {
  let measurement = Measurement(
    "WriteBesideIndexes", "commit of a row beside \(count) indexes over other buckets, CPU",
    unit: "µs", .lower)
  let (store, folder) = try open(context)
  try store.write { tx in
    for number in 0..<count {
      try tx.define(
        "index \(number)", FieldIndex(bucket: "other \(number)", group: "g", order: [.init("n")]))
    }
  }
  let rows = PlainRows()
  let turns = context.pick(small: 100, full: 2_000)
  for run in 0..<context.runs {
    try measure(measurement, turns) { turn in
      try store.write { try rows.put(run * turns + turn, $0) }
    }
  }
  try store.close()
  try context.remove(folder)
  try context.report.add(measurement)
}

/// Commits of one row each in a bucket of its own.
private func newBucketLine(_ context: Context, after count: Int) throws {
  let measurement = Measurement(
    "WriteNewBuckets", "commit that makes a bucket known after \(count) others, CPU", unit: "µs",
    .lower)
  let (store, folder) = try open(context)
  func put(_ number: Int, _ transaction: Transaction) throws {
    try transaction.put([1], for: "key", in: Bucket.bytes("bucket \(number)"))
  }
  try store.write { tx in for number in 0..<count { try put(number, tx) } }
  let turns = context.pick(small: 20, full: 200)
  for run in 0..<context.runs {
    try measure(measurement, turns) { turn in
      try store.write { try put(count + run * turns + turn, $0) }
    }
  }
  try store.close()
  try context.remove(folder)
  try context.report.add(measurement)
}

private struct Departure: Codable, Sendable {
  var carrier: String
  var number: Int
  var delay: Int
}

/// Rows of JSON under closure indexes, put and replaced in commits of a hundred.
private func closureLines(_ context: Context, indexes count: Int) throws {
  let bucket = Bucket<Departure>("lines")
  let indexes = (0..<count).map { index in
    GroupIndex("index \(index)", on: bucket, version: 1) { line in
      Place(in: line.carrier, by: .ascending(line.delay + index), .ascending(line.number))
    }
  }
  let (store, folder) = try open(context, indexes: indexes)
  let puts = Measurement(
    "WriteClosureIndexes", "put of a JSON row, \(count) closure indexes, CPU", unit: "µs", .lower)
  let replacements = Measurement(
    "WriteClosureIndexes", "replacement of a JSON row, \(count) closure indexes, CPU",
    unit: "µs", .lower)
  let (turns, rows) = (context.pick(small: 4, full: 50), 100)
  for run in 0..<context.runs {
    for (measurement, version) in [(puts, 0), (replacements, 1)] {
      let seconds = try Clocks.threadSeconds {
        for turn in 0..<turns {
          try store.write { tx in
            for row in 0..<rows {
              let number = (run * turns + turn) * rows + row
              let hash = mix(UInt64(number * 2 + version))
              let departure = Departure(
                carrier: "c\(hash % 16)", number: number, delay: Int(hash >> 8 & 1023))
              try tx.put(departure, for: Key("\(number)"), in: bucket)
            }
          }
        }
      }
      measurement.add(TreeRingEngine.name, seconds / Double(turns * rows) * 1e6)
    }
  }
  try store.close()
  try context.remove(folder)
  try context.report.add(puts)
  try context.report.add(replacements)
}

/// One row in many groups: put, moved in all of them, and deleted.
private func groupLine(_ context: Context, groups count: Int) throws {
  let measurement = Measurement(
    "WriteManyGroups", "row in \(count) groups put, moved and deleted, CPU for each group",
    unit: "µs", .lower)
  let bucket = Bucket<Departure>("lines")
  let index = GroupIndex("groups", on: bucket, version: 1) { line in
    (0..<line.number).map { Place(in: "\($0)", by: .ascending(line.delay)) }
  }
  let (store, folder) = try open(context, indexes: [index])
  for _ in 0..<context.runs {
    let seconds = try Clocks.threadSeconds {
      for delay in 1...2 {
        try store.write {
          try $0.put(Departure(carrier: "", number: count, delay: delay), for: "row", in: bucket)
        }
      }
      try store.write { try $0.delete("row", in: bucket) }
    }
    measurement.add(TreeRingEngine.name, seconds / Double(count) * 1e6)
  }
  try store.close()
  try context.remove(folder)
  try context.report.add(measurement)
}
