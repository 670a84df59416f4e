// Positions in one large group: the position of a row, and the row at a position; and the same in a
// list that shows the group.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import TreeRing
internal import TreeRingMappings

let rankSelect = Subject(name: "RankSelect") { context in
  let count = context.rows.count
  let asked = context.pick(small: 5000, full: 200_000)
  let rank = Measurement("RankSelect", "position of a row in its group, CPU", unit: "ns", .lower)
  let select = Measurement("RankSelect", "row at a position of a group, CPU", unit: "ns", .lower)
  let store = try Store.inMemory()
  let bucket = Bucket.bytes("rows")
  try store.define("order", FieldIndex(bucket: "rows", group: "g", order: [.init("n")]))
  for start in stride(from: 0, to: count, by: 1000) {
    try store.write(durability: Durability.none) { tx in
      for row in start..<min(start + 1000, count) {
        let object = Array("{\"g\":\"all\",\"n\":\(mix(UInt64(row)) >> 12)}".utf8)
        try tx.put(object, for: Key(bytes: context.rows.keys[row]), in: bucket)
      }
    }
  }
  let group = try store.snapshot().index("order").group("all")
  for run in 0..<context.runs {
    var random = Random(seed: UInt64(run))
    let wanted = random.rows(asked, below: count)
    let ids = context.rows.copies(ofKeys: wanted).map { RowID(bucket: "rows", key: Key(bytes: $0)) }
    var positions: [Int] = []
    positions.reserveCapacity(asked)
    let ranking = try Clocks.threadSeconds {
      for id in ids { positions.append(try group.index(of: id) ?? -1) }
    }
    rank.add(TreeRingEngine.name, ranking / Double(asked) * 1e9)
    var found = 0
    var last: RowID?
    let selecting = try Clocks.threadSeconds {
      for position in positions {
        last = try group.id(at: position)
        if last != nil { found += 1 }
      }
    }
    select.add(TreeRingEngine.name, selecting / Double(asked) * 1e9)
    guard last == ids.last, found == asked else {
      throw BenchmarkError("the row at a row's position is another row")
    }
    if run == 0 { try rank.check(positions.reduce(0) { mix($0 ^ UInt64($1)) }, of: "TreeRing") }
  }
  try context.report.add(rank, bar: .absolute(1000))
  try context.report.add(select, bar: .absolute(700))
  try pathLines(context, store, asked: asked)
}

/// Paths of rows in a list that shows all rows of the group.
private func pathLines(_ context: Context, _ store: Store, asked: Int) throws {
  let path = Measurement("RankSelect", "path of a row of a list, CPU", unit: "ns", .lower)
  let row = Measurement("RankSelect", "row at a path of a list, CPU", unit: "ns", .lower)
  var observer = store.observer(of: Mappings(of: "order", groups: ["all"]))
  let shown = try observer.advance().after
  for run in 0..<context.runs {
    var random = Random(seed: UInt64(run))
    let wanted = random.rows(asked, below: context.rows.count)
    let ids = context.rows.copies(ofKeys: wanted).map { RowID(bucket: "rows", key: Key(bytes: $0)) }
    var paths: [RowPath] = []
    paths.reserveCapacity(asked)
    let finding = try Clocks.threadSeconds {
      for id in ids {
        if let path = try shown.path(of: id) { paths.append(path) }
      }
    }
    path.add(TreeRingEngine.name, finding / Double(asked) * 1e9)
    var last: RowID?
    let reading = try Clocks.threadSeconds { for path in paths { last = try shown.row(at: path) } }
    row.add(TreeRingEngine.name, reading / Double(asked) * 1e9)
    guard last == ids.last, paths.count == asked else {
      throw BenchmarkError("the row at a row's path is another row")
    }
    if run == 0 {
      try path.check(paths.reduce(0) { mix($0 ^ UInt64($1.row)) }, of: TreeRingEngine.name)
    }
  }
  try context.report.add(path, bar: .absolute(1000))
  try context.report.add(row, bar: .absolute(700))
}
