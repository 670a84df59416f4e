// Positions in one large group: the position of a row, and the row at a position; and the same in a
// list that shows the group.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import TreeRing
internal import TreeRingMappings

let rankSelect = Subject(name: "RankSelect") { context in
  let lines = [
    "position of a row in its group, CPU", "row at a position of a group, CPU",
    "path of a row of a list, CPU", "row at a path of a list, CPU",
  ].map { Measurement("RankSelect", $0, unit: "ns", .lower) }
  for _ in 0..<context.runs {
    let read = Clocks.dependentReadNanoseconds(byteCount: context.rows.logicalByteCount)
    for line in lines { line.add(EngineName.read, read) }
    let store = try ordered(context.rows)
    try measurePositions(context, store, rank: lines[0], select: lines[1])
    try measurePaths(context, store, path: lines[2], row: lines[3])
    try store.close()
  }
  for (line, bar) in zip(lines, [1000.0, 700, 1000, 700]) {
    try context.report.add(line, bar: .absolute(bar))
  }
}

extension Context {
  /// The number of rows asked for.
  fileprivate var asked: Int { pick(small: 5000, full: 200_000) }
  /// Random rows, the same in every run.
  fileprivate func wantedIDs() -> [RowID] {
    var random = Random(seed: 0)
    return rows.copies(ofKeys: random.rows(asked, below: rows.count))
      .map { RowID(bucket: "rows", key: Key(bytes: $0)) }
  }
}

/// A store in memory with all rows in one group.
private func ordered(_ rows: Dataset) throws -> Store {
  let store = try Store.inMemory()
  let bucket = Bucket.bytes("rows")
  try store.define("order", FieldIndex(bucket: "rows", group: "g", order: [.init("n")]))
  for start in stride(from: 0, to: rows.count, by: 1000) {
    try store.write(durability: .unsynced) { tx in
      for row in start..<min(start + 1000, rows.count) {
        let object = Array("{\"g\":\"all\",\"n\":\(mix(UInt64(row)) >> 12)}".utf8)
        try tx.put(object, for: Key(bytes: rows.keys[row]), in: bucket)
      }
    }
  }
  return store
}

private func measurePositions(
  _ context: Context, _ store: Store, rank: Measurement, select: Measurement
) throws {
  let group = try store.snapshot().index("order").group("all")
  let ids = context.wantedIDs()
  var positions: [Int] = []
  positions.reserveCapacity(ids.count)
  let ranking = try Clocks.threadSeconds {
    for id in ids { positions.append(try group.index(of: id) ?? -1) }
  }
  rank.add(TreeRingEngine.name, ranking / Double(ids.count) * 1e9)
  var found = 0
  var last: RowID?
  let selecting = try Clocks.threadSeconds {
    for position in positions {
      last = try group.id(at: position)
      if last != nil { found += 1 }
    }
  }
  select.add(TreeRingEngine.name, selecting / Double(ids.count) * 1e9)
  guard last == ids.last, found == ids.count else {
    throw BenchmarkError("the row at a row's position is another row")
  }
  try rank.check(positions.reduce(0) { mix($0 ^ UInt64($1)) }, of: TreeRingEngine.name)
}

/// Paths of rows in a list that shows all rows of the group.
private func measurePaths(
  _ context: Context, _ store: Store, path: Measurement, row: Measurement
) throws {
  var observer = store.observer(of: Mappings(of: "order", groups: ["all"]))
  let shown = try observer.advance().after
  let ids = context.wantedIDs()
  var paths: [RowPath] = []
  paths.reserveCapacity(ids.count)
  let finding = try Clocks.threadSeconds {
    for id in ids {
      if let path = try shown.path(of: id) { paths.append(path) }
    }
  }
  path.add(TreeRingEngine.name, finding / Double(ids.count) * 1e9)
  var last: RowID?
  let reading = try Clocks.threadSeconds { for path in paths { last = try shown.row(at: path) } }
  row.add(TreeRingEngine.name, reading / Double(ids.count) * 1e9)
  guard last == ids.last, paths.count == ids.count else {
    throw BenchmarkError("the row at a row's path is another row")
  }
  try path.check(paths.reduce(0) { mix($0 ^ UInt64($1.row)) }, of: TreeRingEngine.name)
}
