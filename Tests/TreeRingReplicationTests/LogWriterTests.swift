// Appends through a log whose answers are lost: each happens once or not at all, and its writer
// knows which, or knows that it does not know.

import TestSupport
import Testing
import TreeRingLog
import TreeRingPlatform

@testable import TreeRingReplication

struct LogWriterTests {
  /// One replica of a history: the batches that it was told of, and its place in the log.
  private struct Writer {
    var writer: LogWriter
    var assembly: EntryAssembly
    var appended: [String] = []
    var overtaken: [String] = []
    var unknown: [String] = []
  }

  /// A time that passes with sleep alone.
  private final class VirtualTime: Sendable {
    private let time = Mutex(ContinuousClock.now)
    var now: ContinuousClock.Instant { time.withLock { $0 } }
    func sleep(_ duration: Duration) { time.withLock { $0 += max(duration, .milliseconds(1)) } }
  }

  /// Reads what is new, and returns the batches.
  private static func catchUp(_ writer: inout Writer, _ log: FaultyLog) throws -> [String] {
    var batches: [String] = []
    while true {
      let first = writer.assembly.place.sequence + 1
      let entries: [[UInt8]]
      do { entries = try log.read(from: first, byteLimit: .max, within: .zero) } catch {
        return batches
      }
      if entries.isEmpty { return batches }
      for entry in entries {
        guard let item = try writer.assembly.take(entry), item.header.kind == .commits else {
          continue
        }
        batches.append(String(decoding: item.body.prefix(24), as: UTF8.self))
      }
    }
  }

  private static func history(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let log = FaultyLog(MemoryLog(), seed: seed &+ 1, faults: .many, entryByteLimit: 200)
    let time = VirtualTime()
    let ids = Counter()
    var writers = (0..<3).map { _ in
      var writer = LogWriter(log: log, storeID: 7, limit: .seconds(1))
      writer.random = { UInt64(ids.next()) + 1 }
      writer.now = { time.now }
      writer.sleep = { time.sleep($0) }
      return Writer(
        writer: writer,
        assembly: EntryAssembly(storeID: 7, after: LogPlace(sequence: 0, id: nil)))
    }
    var commit: UInt64 = 1
    for step in 0..<Int.random(in: 3...12, using: &random) {
      let index = Int.random(in: 0..<3, using: &random)
      if Int.random(in: 0..<3, using: &random) > 0 { _ = try catchUp(&writers[index], log) }
      let name = "writer \(index) step \(step) of it"
      let padded = name + String(repeating: " ", count: 24 - min(24, name.utf8.count))
      // Some take several parts.
      let count = Int.random(in: 0..<4, using: &random) == 0 ? 350 : 40
      let body = Array(padded.utf8) + [UInt8](repeating: 1, count: count)
      let outcome = body.withUnsafeBytes {
        writers[index].writer.append(
          .commits, (commit, commit), $0, after: writers[index].assembly.place)
      }
      let batch = String(padded.prefix(24))
      switch outcome {
      case .appended(let place):
        writers[index].appended.append(batch)
        writers[index].assembly.skip(to: place, newest: commit)
        commit += 1
      case .overtaken: writers[index].overtaken.append(batch)
      case .unknown, .refused: writers[index].unknown.append(batch)
      case .setBack(let last): Issue.record("seed \(seed): the log seems to end with \(last)")
      }
    }
    log.heal()
    var reader = Writer(
      writer: writers[0].writer,
      assembly: EntryAssembly(storeID: 7, after: LogPlace(sequence: 0, id: nil)))
    let found = try catchUp(&reader, log)
    let appended = writers.flatMap(\.appended)
    let unknown = writers.flatMap(\.unknown)
    try #require(Set(found).count == found.count, "seed \(seed): twice among \(found)")
    try #require(Set(appended).isSubset(of: found), "seed \(seed): \(appended), not \(found)")
    let overtaken = writers.flatMap(\.overtaken)
    try #require(
      Set(overtaken).isDisjoint(with: found), "seed \(seed): none of \(overtaken), but \(found)")
    try #require(Set(found).subtracting(appended).isSubset(of: unknown), "seed \(seed)")
    for writer in writers {
      try #require(found.filter(Set(writer.appended).contains) == writer.appended, "seed \(seed)")
    }
  }

  @Test(
    "Of 100,000 histories with lost, late and repeated answers, none loses or doubles a batch",
    arguments: (0..<20).map(UInt64.init))
  func histories(part: UInt64) throws {
    let base = (seeds(1...1).first ?? 1) &* 1_000_000
    for number in 0..<5_000 as Range<UInt64> { try Self.history(base + part * 5_000 + number) }
  }

  @Test("An append to a log that never answers is unknown, and refused if the log refuses it")
  func silence() throws {
    let body: [UInt8] = [1, 2, 3]
    let time = VirtualTime()
    var faults = LogFaults()
    faults.unavailable = 100
    let log = FaultyLog(MemoryLog(), seed: 1, faults: faults)
    var writer = LogWriter(log: log, storeID: 7, limit: .seconds(30))
    writer.now = { time.now }
    writer.sleep = { time.sleep($0) }
    let outcome = body.withUnsafeBytes {
      writer.append(.commits, (1, 1), $0, after: LogPlace(sequence: 0, id: nil))
    }
    #expect(outcome == .unknown("no quorum"))
    log.set { $0 = LogFaults(refused: 100) }
    let refusal = body.withUnsafeBytes {
      writer.append(.commits, (1, 1), $0, after: LogPlace(sequence: 0, id: nil))
    }
    #expect(refusal == .refused("The log is full."))
  }

  @Test("A log that ends before the expected entry is found at the limit, not taken for silent")
  func shortLog() throws {
    let time = VirtualTime()
    let log = MemoryLog()
    _ = try log.append([[1], [2]], after: 0, within: .zero)
    var writer = LogWriter(log: log, storeID: 7, limit: .seconds(2))
    writer.now = { time.now }
    writer.sleep = { time.sleep($0) }
    let start = time.now
    let outcome = [1, 2, 3].withUnsafeBytes {
      writer.append(.commits, (1, 1), $0, after: LogPlace(sequence: 5, id: 9))
    }
    #expect(outcome == .setBack(2))
    #expect(time.now - start >= .seconds(2))
    #expect(try log.ends(within: .zero).last == 2)
  }

  @Test("Every byte of an entry is checked")
  func damage() throws {
    let header = EntryHeader(kind: .commits, storeID: 7, id: 1, previous: 0, first: 3, last: 5)
    let entry = [9, 8, 7].withUnsafeBytes { header.entry($0) }
    #expect(try EntryHeader(of: entry, at: 1) == header)
    for index in entry.indices {
      for bit in 0..<8 {
        var damaged = entry
        damaged[index] ^= 1 << bit
        let error = #expect(throws: TreeRingError.self) { try EntryHeader(of: damaged, at: 1) }
        #expect(error?.code == .corruption)
      }
    }
    for count in 0..<entry.count {
      #expect(throws: TreeRingError.self) { try EntryHeader(of: Array(entry[..<count]), at: 1) }
    }
  }
}
