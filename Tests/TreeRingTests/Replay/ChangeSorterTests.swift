// Sorting changes within bounded memory: the same order as that of a sort of all of them, whatever
// is in memory and what in the file; and a typed error, never a wrong change, if the file fails.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

/// A file in a file system, without a name.
func namelessFile(
  _ system: any FileSystem = MemoryFileSystem()
) throws(TreeRingError) -> any File {
  let file = try system.open("runs", .createNew)
  try system.unlink("runs")
  return file
}

@Suite("Sorting changes") struct ChangeSorterTests {
  /// A change with copies of its values, comparable.
  private struct Model: Equatable {
    var key: [UInt8]
    var stamp: Stamp
    var change: RowChange<[UInt8]>
  }

  @Test(
    "Changes come by row and then by time, in memory or in a file", arguments: seeds(1...60))
  func order(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let limit = [1, 200, 5_000, 1 << 20].randomElement(using: &random) ?? 1
    let hasThreads = Bool.random(using: &random)
    let sorter = ChangeSorter(
      byteLimit: limit, makeFile: { () throws(TreeRingError) in try namelessFile() },
      threadByteLimit: hasThreads ? 0 : .max)
    // Twice, since a sorter is used again.
    for _ in 1...2 {
      let models = Self.models(.random(in: 0...400, using: &random), &random)
      for model in models {
        try Self.add(model, to: sorter)
        if sorter.isFull { _ = try sorter.writeRun() }
      }
      #expect(limit > 200 || models.count < 100 || !sorter.runs.isEmpty)
      #expect(
        try Self.drain(sorter, fillsAhead: hasThreads) == Self.sorted(models),
        "seed \(seed), limit \(limit)")
      sorter.removeAll()
    }
    #expect(try Self.drain(sorter).isEmpty)
  }

  @Test("The blocks of all runs fit the limit, and so do the changes in memory")
  func memory() throws {
    let limit = 1 << 20
    let sorter = ChangeSorter(byteLimit: limit) { () throws(TreeRingError) in try namelessFile() }
    var count: UInt32 = 0
    func fill() throws {
      while !sorter.isFull {
        count += 1
        let key = withUnsafeBytes(of: count.byteSwapped) { Array($0) }
        let model = Model(
          key: key, stamp: Stamp(commit: 1, operation: count), change: .object(coder: 0, [1, 2]))
        try Self.add(model, to: sorter)
      }
    }
    try fill()
    // Small changes: what sorting takes counts, not only their records.
    #expect(Int(count) * 56 < limit)
    while try sorter.writeRun() { try fill() }
    #expect(sorter.runs.count > ChangeSorter.minRunCount)
    #expect(sorter.runs.reduce(0) { $0 + $1.longestBlock } <= limit)
    // No more runs: the changes in memory are still part of the order.
    #expect(try Self.drain(sorter).joined().count == count)
  }

  @Test("A changed byte of the file is an error, never another change", arguments: [false, true])
  func damage(hasThread: Bool) throws {
    var random = SeededGenerator(seed: 1)
    let file = try namelessFile()
    let sorter = ChangeSorter(byteLimit: 1) { () throws(TreeRingError) in file }
    let models = Self.models(12, &random)
    for model in models {
      try Self.add(model, to: sorter)
      if sorter.isFull { #expect(try sorter.writeRun()) }
    }
    let end = try #require(sorter.runs.last?.range.upperBound)
    for offset in 0..<end {
      var byte: [UInt8] = [0]
      _ = try byte.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
      let bit = UInt8(1) << UInt8(offset % 8)
      try file.write([byte[0] ^ bit], at: offset)
      let error = error { try Self.drain(sorter, fillsAhead: hasThread) }
      #expect(error?.code == .io, "byte \(offset)")
      try file.write(byte, at: offset)
    }
    try file.truncate(to: end - 1)
    #expect(code { try Self.drain(sorter, fillsAhead: hasThread) } == .io)
  }

  @Test(
    "If any call fails, the error is typed and the changes in memory stay",
    arguments: [false, true]
  )
  func failures(hasThread: Bool) throws {
    for call in 1...6 {
      var random = SeededGenerator(seed: UInt64(call))
      let system = SimulatedFileSystem(seed: 1)
      system.fail(after: call, with: .inputOutput)
      let sorter = ChangeSorter(
        byteLimit: 1, makeFile: { () throws(TreeRingError) in try namelessFile(system) },
        threadByteLimit: hasThread ? 0 : .max)
      let models = Self.models(40, &random)
      var failures = 0
      for model in models {
        try Self.add(model, to: sorter)
        let failure = sorter.isFull ? code { _ = try sorter.writeRun() } : nil
        if failure == .io {
          failures += 1
          // A failed creation may leave the name.
          try? system.unlink("runs")
        }
      }
      #expect(failures == 1)
      #expect(try Self.drain(sorter) == Self.sorted(models), "call \(call)")
    }
  }

  @Test("A change that fits no page is refused")
  func tooLarge() throws {
    let sorter = ChangeSorter(byteLimit: 1 << 20, makeFile: nil)
    let long = Model(
      key: [1], stamp: Stamp(commit: 1, operation: 0),
      change: .metadata([UInt8](repeating: 7, count: 5_000)))
    #expect(code { try Self.add(long, to: sorter) } == .corruption)
    #expect(try Self.drain(sorter).isEmpty)
    #expect(try !sorter.writeRun())
  }

  // MARK: - Parts

  private static func models(_ count: Int, _ random: inout SeededGenerator) -> [Model] {
    var stamp = Stamp(commit: 1, operation: 0)
    return (0..<count).map { _ in
      stamp.operation += 1
      if Bool.random(using: &random) { stamp.commit += .random(in: 0...300, using: &random) }
      // Few bytes, so that keys are equal, and prefixes of others.
      let key = (0..<Int.random(in: 0...20, using: &random)).map { _ in
        [0, 1, 255].randomElement(using: &random) ?? 0 as UInt8
      }
      let short = Bool.random(using: &random)
      return Model(
        key: short ? Array(key.prefix(1)) : key, stamp: stamp, change: change(at: stamp, &random))
    }
  }

  private static func change(
    at stamp: Stamp, _ random: inout SeededGenerator
  ) -> RowChange<[UInt8]> {
    func value() -> [UInt8] {
      (0..<Int.random(in: 0...30, using: &random)).map { _ in .random(in: 0...255, using: &random) }
    }
    let metadata = Bool.random(using: &random) ? value() : nil
    switch Int.random(in: 0..<6, using: &random) {
    case 0: return .put(coder: 3, object: value(), metadata: metadata)
    case 1: return .object(coder: 0, value())
    case 2: return .metadata(value())
    case 3: return .touch
    case 4: return .delete
    default:
      return .whole(
        created: Stamp(commit: stamp.commit / 2, operation: 9), touched: 0, coder: 1,
        object: value(), metadata: metadata)
    }
  }

  private static func add(_ model: Model, to sorter: ChangeSorter) throws {
    // The values must have addresses while the change is added.
    let values = ByteArena()
    let change = model.change.map { bytes, _ in
      StoredValue.inline(bytes.withUnsafeBytes { values.copy($0) })
    }
    var fields: [UInt8] = []
    change.encode(into: &fields, at: model.stamp)
    try model.key.withUnsafeBytes { key in
      try fields.withUnsafeBytes { try sorter.add(key, in: 7, change.kind, $0, at: model.stamp) }
    }
  }

  /// The rows with their changes. Each row must be in one batch.
  private static func drain(_ sorter: ChangeSorter, fillsAhead: Bool = false) throws -> [[Model]] {
    let supply = BatchSupply(try SortedChanges(sorter), fillsAhead: fillsAhead)
    var rows: [[Model]] = []
    while let batch = try supply.next() {
      var former: SortRecord?
      for record in batch.records {
        let next = try record.change()
        let change = next.change.map { value, _ -> [UInt8] in
          if case .inline(let bytes) = value { Array(bytes) } else { [] }
        }
        let key = Array(RowTreeKey.key(of: record.key))
        let model = Model(key: key, stamp: next.stamp, change: change)
        if former.map(record.hasKey(of:)) == true {
          rows[rows.count - 1].append(model)
        } else {
          rows.append([model])
        }
        former = record
      }
    }
    #expect(try supply.next() == nil)
    return rows
  }

  private static func sorted(_ models: [Model]) -> [[Model]] {
    let rows = Dictionary(grouping: models, by: \.key)
    return rows.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
  }
}
