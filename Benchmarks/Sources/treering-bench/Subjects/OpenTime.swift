// The time to open a store and read one row: after a clean close, and after a kill with commits
// since the last checkpoint.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import Foundation
internal import TreeRing

let openTime = Subject(name: "OpenTime") { context in
  for count in context.pick(small: [10_000], full: [10_000, 1_000_000, 10_000_000]) {
    let name = "\(count) rows"
    let clean = Measurement(
      "OpenTime", "open to first get after a clean close, \(name)", unit: "ms", .lower)
    let killed = Measurement(
      "OpenTime", "open to first get after a kill, \(name)", unit: "ms", .lower)
    let rows = PlainRows()
    for _ in 0..<context.runs {
      let folder = try context.folder()
      defer { try? context.remove(folder) }
      var random = Random(seed: 5)
      var store = try Store(at: folder)
      try rows.load(0..<count, into: store)
      try store.close()
      try measure(clean, folder, row: random.rows(1, below: count)[0])
      // Commits of which checkpoints cover few or none when the copy is made.
      store = try Store(at: folder)
      for _ in 0..<20 {
        try rows.update(100, below: count, version: 1, &random, in: store)
      }
      try store.sync()
      let copy = try context.killedCopy(of: folder)
      try store.close()
      try measure(killed, copy, row: random.rows(1, below: count)[0])
      try context.remove(copy)
    }
    try context.report.add(clean, bar: .absolute(1))
    try context.report.add(killed, bar: .absolute(20))
  }
}

private func measure(_ measurement: Measurement, _ folder: String, row: Int) throws {
  var opened: Store?
  var digest: UInt64 = 0
  let seconds = try Clocks.wallSeconds {
    let store = try Store(at: folder)
    digest = try PlainRows.get(row, in: store.snapshot())
    opened = store
  }
  measurement.add(TreeRingEngine.name, seconds * 1000)
  guard digest != 0 else { throw BenchmarkError("an empty row") }
  try opened?.close()
}
