// Zeros are written ahead of synced batches, so that each block is begun once: all bytes ahead of
// larger batches, a byte of each block ahead of smaller ones; never over a frame, nor beyond the
// reserved room. They are cut off like all reserved room.

import Logging
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingLog

@Suite("Reserved room")
struct ReservedRoomTests {
  /// The writes to the segments of a log.
  private final class Writes: Sendable {
    private let all = Mutex<[(path: String, range: Range<UInt64>, isZero: Bool)]>([])

    func note(_ path: String, _ offset: Int, _ bytes: [UInt8]) {
      guard path.hasSuffix(".lz4") else { return }
      let range = UInt64(offset)..<UInt64(offset + bytes.count)
      all.withLock { $0.append((path, range, bytes.allSatisfy { $0 == 0 })) }
    }

    /// The writes since the last call.
    func take() -> [(path: String, range: Range<UInt64>, isZero: Bool)] {
      all.withLock { all in
        defer { all = [] }
        return all
      }
    }
  }

  private static func open(
    on disk: SimulatedFileSystem, _ access: LogAccess = .create, segmentSize: UInt64 = 64 << 20
  ) throws -> CommitLog {
    var options = LogOptions(access: access, segmentSize: segmentSize)
    options.logger.logLevel = .critical
    return try CommitLog(directory: "log", fileSystem: disk, options: options)
  }

  private static func draft(
    _ number: CommitNumber, byteCount: Int, _ durability: Durability,
    _ random: inout SeededGenerator
  ) -> CommitDraft {
    CommitDraft(
      number: number, timestamp: Timestamp(microseconds: Int64(number)), operationCount: 1,
      payload: (0..<byteCount).map { _ in UInt8.random(in: 0...255, using: &random) }, values: [],
      durability: durability)
  }

  @Test(
    "Random batches: zeros lie after frames, within the room, and are as few as they can be",
    arguments: 1...20 as ClosedRange<UInt64>)
  func randomBatches(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let disk = SimulatedFileSystem(seed: seed)
    let writes = Writes()
    disk.watchWrites { path, offset, _, bytes in writes.note(path, offset, bytes) }
    let segmentSize: UInt64 = [100_000, 700_000, 4 << 20].randomElement(using: &random) ?? 0
    var log = try Self.open(on: disk, segmentSize: segmentSize)
    // The end of the zeros in the active segment.
    var zeroEnd: UInt64 = 0
    var byteCountBefore: UInt64 = 0
    // The offset of the first frame since the segment was opened or begun.
    var start: UInt64?
    var lastPath = ""
    for number in 1...60 as ClosedRange<CommitNumber> {
      if Int.random(in: 0..<20, using: &random) == 0 {
        try log.close()
        log = try Self.open(on: disk, .readWrite, segmentSize: segmentSize)
        (zeroEnd, start, byteCountBefore) = (0, nil, log.statistics.writtenByteCount)
        _ = writes.take()
      }
      let byteCount = [37, 900, 1100, 20_000, 300_000].randomElement(using: &random) ?? 0
      let durability: Durability = Int.random(in: 0..<4, using: &random) == 0 ? .unsynced : .full
      try log.complete(log.append(Self.draft(number, byteCount: byteCount, durability, &random)))
      let made = writes.take()
      // The frame's header and those of LZ4 take 107 to 123 bytes.
      let sizes = byteCount + 100..<byteCount + 130
      let statistics = log.statistics
      let written = statistics.writtenByteCount - byteCountBefore
      byteCountBefore = statistics.writtenByteCount
      let bodies = made.filter { $0.isZero || sizes.contains($0.range.count) }
      #expect(written == bodies.reduce(0) { $0 + UInt64($1.range.count) }, "\(made)")
      if durability == .unsynced { #expect(!made.contains { $0.isZero }, "seed \(seed)") }
      for frame in made where !frame.isZero && sizes.contains(frame.range.count) {
        if frame.path != lastPath { (zeroEnd, start) = (0, nil) }
        let first = start ?? frame.range.lowerBound
        start = first
        lastPath = frame.path
        let zeros = made.filter { $0.isZero && $0.path == frame.path }.map(\.range)
        let end = frame.range.upperBound
        // A batch that the room of its segment ends with needs no more of it.
        let needsZeros =
          durability == .full && end > zeroEnd && end < segmentSize
          && frame.range.count <= ReservedRoom.largestBatch
        let fileEnd = UInt64(try #require(disk.contents(of: frame.path)).count)
        let zeroed = end..<min(end + min(256 << 10, end - first), fileEnd)
        if !needsZeros {
          #expect(zeros.isEmpty, "seed \(seed), commit \(number), \(made)")
        } else if frame.range.count >= ReservedRoom.smallestWholeBatch {
          #expect(zeros == [zeroed], "seed \(seed), commit \(number), \(made)")
          zeroEnd = zeroed.upperBound
        } else {
          let next = (end + 4095) / 4096 * 4096
          let blocks = Array(stride(from: next, to: zeroed.upperBound, by: 4096))
          #expect(zeros == blocks.map { $0..<$0 + 1 }, "seed \(seed), commit \(number), \(made)")
          zeroEnd = min(blocks.last.map { $0 + 4096 } ?? next, fileEnd)
        }
      }
    }
    try log.close()
  }

  @Test("A closed log has files of the same lengths with zeros and without")
  func sameLengths() throws {
    var logs: [[String: Int]] = []
    for overwrites in [true, false] {
      var random = SeededGenerator(seed: 3)
      let disk = SimulatedFileSystem(seed: 3, overwritesInPlace: overwrites)
      let log = try Self.open(on: disk, segmentSize: 40_000)
      for number in 1...40 as ClosedRange<CommitNumber> {
        let byteCount = Int.random(in: 10...9000, using: &random)
        try log.complete(log.append(Self.draft(number, byteCount: byteCount, .full, &random)))
      }
      try log.close()
      var files: [String: Int] = [:]
      for name in try disk.list("log") { files[name] = disk.contents(of: "log/" + name)?.count }
      logs.append(files)
    }
    #expect(logs[0] == logs[1] && logs[0].count > 2)
  }

  @Test("Commits of 300 bytes begin few blocks that no zero has begun, and are written once")
  func smallCommits() throws {
    var random = SeededGenerator(seed: 1)
    let disk = SimulatedFileSystem(seed: 1)
    let writes = Writes()
    let log = try Self.open(on: disk)
    disk.watchWrites { path, offset, _, bytes in writes.note(path, offset, bytes) }
    var begun: Set<UInt64> = []
    var withNewBlock = 0
    for number in 1...4000 as ClosedRange<CommitNumber> {
      try log.complete(log.append(Self.draft(number, byteCount: 300, .full, &random)))
      let made = writes.take()
      let ends = made.flatMap { [$0.range.lowerBound, $0.range.upperBound - 1] }
      let blocks = Set(ends.map { $0 / 4096 })
      if !blocks.isSubset(of: begun) { withNewBlock += 1 }
      begun.formUnion(blocks)
      #expect(made.filter { !$0.isZero }.map(\.range.count).allSatisfy { $0 < 420 })
      #expect(made.filter(\.isZero).allSatisfy { $0.range.count == 1 })
    }
    // Seven while the zeros grow to 256 KiB, then one for each 256 KiB.
    let wanted = withNewBlock < 16 && (390..<520).contains(begun.count)
    #expect(wanted, "\(withNewBlock) commits, \(begun.count) blocks")
    try log.close()
  }
}
