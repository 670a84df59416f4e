// Costs that must not grow with the number of logged values, tags and live snapshots. Each line has
// three sizes, each twice the one before. The figures are per row, commit or snapshot, so they
// should stay the same.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import TreeRing

private let sizes: @Sendable (Context) -> [Int] = {
  $0.pick(small: [500, 1_000, 2_000], full: [4_000, 8_000, 16_000])
}

/// A scan of rows whose objects lie in the log, written by one commit or by one commit each.
let loggedValues = Subject(name: "LoggedValues") { context in
  for isBulk in [true, false] {
    for count in sizes(context) {
      let measurement = Measurement(
        "LoggedValues",
        isBulk
          ? "scan, \(count) logged values of one commit, CPU"
          : "scan, \(count) logged values, one a commit, CPU",
        unit: "µs per row", .lower)
      let folder = try context.folder()
      var store = try Store(at: folder, options: StoreOptions(durability: .unsynced))
      let values = Dataset(count: 1, kind: .v100)
      func put(_ row: Int, _ tx: Transaction) throws {
        let value = values.value(row, version: 0)
        try tx.put(
          Array(repeating: value, count: 20).flatMap { $0 }, for: PlainRows.key(row),
          in: PlainRows.bucket)
      }
      if isBulk {
        try store.write { tx in for row in 0..<count { try put(row, tx) } }
      } else {
        for row in 0..<count { try store.write { try put(row, $0) } }
      }
      try store.close()
      for _ in 0..<context.runs {
        store = try Store(at: folder, options: StoreOptions(durability: .unsynced))
        let snapshot = try store.snapshot()
        var digest: UInt64 = 0
        let seconds = try Clocks.threadSeconds {
          try snapshot.forEachRow(in: "rows") { row in
            digest = mix(digest ^ row.object.withUnsafeBytes { digestOf($0) })
            return true
          }
        }
        measurement.add(TreeRingEngine.name, seconds * 1e6 / Double(count))
        try measurement.check(digest, of: TreeRingEngine.name)
        try store.close()
      }
      try context.remove(folder)
      try context.report.add(measurement)
    }
  }
}

/// Compaction that keeps every commit for its tag, then a lookup of one of them.
let taggedCommits = Subject(name: "TaggedCommits") { context in
  for count in context.pick(small: [250, 500, 1_000], full: [2_000, 4_000, 8_000]) {
    let compaction = Measurement(
      "TaggedCommits", "compaction, \(count) tagged commits", unit: "µs per commit", .lower)
    let look = Measurement(
      "TaggedCommits", "commit at a tag, \(count) tags below the horizon, CPU", unit: "µs", .lower)
    for _ in 0..<context.pick(small: 1, full: min(3, context.runs)) {
      let folder = try context.folder()
      let store = try Store(at: folder, options: StoreOptions(durability: .unsynced))
      let rows = PlainRows()
      for number in 0..<count {
        try store.write { tx in
          tx.tags = ["tag \(number)"]
          try rows.put(number % 100, version: number, tx)
        }
      }
      try store.write { try rows.put(0, version: count, $0) }
      let seconds = try Clocks.wallSeconds { try store.compact(to: .dropHistory) }
      compaction.add(TreeRingEngine.name, seconds * 1e6 / Double(count))
      var digest: UInt64 = 0
      let looks = try Clocks.threadSeconds {
        for number in 0..<1_000 {
          digest = mix(digest ^ (try store.commit(at: .tag("tag \(number * 7 % count)"))))
        }
      }
      look.add(TreeRingEngine.name, looks * 1e3)
      try compaction.check(store.horizon, of: TreeRingEngine.name)
      try look.check(digest, of: TreeRingEngine.name)
      try store.close()
      try context.remove(folder)
    }
    try context.report.add(compaction)
    try context.report.add(look)
  }
}

/// A snapshot of a pinned commit beside many others, then the release of all, the newest first.
let manySnapshots = Subject(name: "ManySnapshots") { context in
  for count in context.pick(small: [500, 1_000, 2_000], full: [5_000, 10_000, 20_000]) {
    let taken = Measurement(
      "ManySnapshots", "snapshot of a pinned commit beside \(count) others, CPU", unit: "µs",
      .lower)
    let released = Measurement(
      "ManySnapshots", "release of \(count) snapshots, newest first", unit: "µs per snapshot",
      .lower)
    for _ in 0..<context.pick(small: 1, full: context.runs) {
      let store = try Store.inMemory(options: StoreOptions(durability: .unsynced))
      let rows = PlainRows()
      try rows.load(0..<20_000, into: store)
      var random = Random(seed: 23)
      var held: [Snapshot] = []
      for version in 0..<count {
        try rows.update(1, below: 20_000, version: version, &random, in: store)
        held.append(try store.snapshot())
      }
      let commits = (0..<200).map { held[$0 * 7 % count].commit }
      var digest: UInt64 = 0
      let seconds = try Clocks.threadSeconds {
        for commit in commits {
          digest = mix(digest ^ UInt64(try store.snapshot(at: .commit(commit)).count(in: "rows")))
        }
      }
      taken.add(TreeRingEngine.name, seconds * 1e6 / Double(commits.count))
      let release = try Clocks.wallSeconds {
        while held.popLast() != nil {}
        // A write waits for the release of their pages.
        try rows.update(1, below: 20_000, version: count, &random, in: store)
      }
      released.add(TreeRingEngine.name, release * 1e6 / Double(count))
      try taken.check(digest, of: TreeRingEngine.name)
      try released.check(store.newestCommit, of: TreeRingEngine.name)
      try store.close()
    }
    try context.report.add(taken)
    try context.report.add(released)
  }
}
