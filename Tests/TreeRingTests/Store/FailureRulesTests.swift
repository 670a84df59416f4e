// Eleven ways in which storage engines have failed their users, one test for each. The sweeps try
// the same and far more; here each rule is readable.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Failure rules")
struct FailureRulesTests {
  private static func value(_ number: Int) -> [UInt8] { Array("value \(number)".utf8) }

  private static let firstSegment = "store/log/00000000000000000001.0.lz4"

  @Test(
    "Rule 1: a failed sync is never retried; waiting commits are unknown until reopening")
  func failedSync() throws {
    for seed in 0..<10 as Range<UInt64> {
      let disk = Disk(seed: seed)
      let store = try disk.open()
      try store.put([1], for: "a")
      let calls = disk.files.callCount
      disk.files.fail(after: 2, with: .inputOutput)
      #expect(code { try store.put([2], for: "a") } == .unknown)
      #expect(disk.files.calls(after: calls).last?.hasPrefix("sync") == true)
      let failed = disk.files.callCount
      #expect(code { try store.put([3], for: "a") } == .poisoned)
      #expect(code { try store.sync() } != nil)
      #expect(try store.snapshot().get("a", in: blobs) == [1])
      #expect(code { try store.close() } != nil)
      #expect(disk.files.calls(after: failed).allSatisfy { !$0.hasPrefix("sync store/log") })
      // The system's memory still holds the commit that the device lost. The store does not take it
      // for durable, but copies it to a new segment and syncs that before the commit is visible.
      let found = Disk(disk.files.afterKill())
      let reopened = try found.open()
      let seen = try #require(try reopened.snapshot().get("a", in: blobs))
      #expect(
        found.contents.keys.contains { $0.hasPrefix("store/log/") && $0 != Self.firstSegment })
      let later = try Disk(found.files.afterCrash(seed: seed, odds: 0)).open()
      #expect(try later.snapshot().get("a", in: blobs) == seen)
    }
  }

  @Test(
    "Rule 2: a bad record at the end is a torn tail and cut; one before sound ones is corruption")
  func tornOrCorrupt() throws {
    let disk = Disk()
    let store = try disk.open()
    var ends: [Int] = []
    for number in 1...4 {
      try store.put(Self.value(number), for: "a")
      ends.append(Int(try store.statistics().logByteCount))
    }
    let bytes = try #require(disk.files.contents(of: Self.firstSegment))
    func opened(_ change: (inout [UInt8]) -> Void) -> Result<UInt64, TreeRingError> {
      var damaged = bytes
      change(&damaged)
      let found = Disk(disk.files.afterKill())
      found.files.replace(Self.firstSegment, with: damaged)
      return Result { try found.open().newestCommit }.mapError { error in
        (error as? TreeRingError) ?? TreeRingError(.unknown, "\(error)")
      }
    }
    #expect(try opened { $0[ends[2] + 50] ^= 1 }.get() == 3)
    #expect(try opened { $0.removeSubrange((ends[3] - 1)...) }.get() == 3)
    guard case .failure(let error) = opened({ $0[ends[0] + 50] ^= 1 }) else {
      Issue.record("damage in the middle was taken for a torn tail")
      return
    }
    #expect(error.code == .corruption && error.offset != nil && error.file == Self.firstSegment)
    #expect(error.description.contains("salvage"))
    // Old bytes of another log at this offset do not pass for new ones.
    let other = Disk(seed: 2)
    let stranger = try other.open()
    for number in 1...4 { try stranger.put(Self.value(9 - number), for: "a") }
    let foreign = try #require(other.files.contents(of: Self.firstSegment))
    #expect(try opened { $0.replaceSubrange(ends[2]..., with: foreign[ends[2]...]) }.get() == 3)
  }

  @Test("Rule 3: file names are synced before any commit that needs them is acknowledged")
  func namesAreSynced() throws {
    let disk = Disk()
    var store = try disk.open(segmentSize: 400)
    for number in 1...40 {
      try store.put(Self.value(number), for: Key("k\(number)"))
      // Power fails: every name created, changed or removed since its folder's last sync is lost.
      let found = try Disk(disk.files.afterCrash(seed: UInt64(number), odds: 0)).open()
      #expect(try found.snapshot().count(in: "blobs") == number)
      if number % 10 == 0 {
        try store.close()
        store = try disk.open(segmentSize: 400)
      }
    }
  }

  @Test("Rule 4: a full device fails that commit alone; reads continue, and writing resumes")
  func fullDevice() throws {
    let disk = Disk()
    let store = try disk.open(durability: .unsynced)
    try store.put([1], for: "a")
    let used = disk.contents.values.reduce(0) { $0 + $1.count }
    disk.files.setCapacity(used)
    for _ in 0..<3 { #expect(code { try store.put([2], for: "a") } == .noSpace) }
    #expect(try store.snapshot().get("a", in: blobs) == [1])
    #expect(disk.contents.values.reduce(0) { $0 + $1.count } <= used)
    disk.files.setCapacity(nil)
    #expect(try store.put([3], for: "a") == 2)
    try store.close()
    #expect(try disk.open().history(of: "a", in: "blobs").map(\.commit) == [2, 1])
  }

  @Test("Rule 5: full durability asks for a full sync, barrier for a barrier, none for neither")
  func strengths() throws {
    let disk = Disk()
    let store = try disk.open()
    try store.put([1], for: "a")
    for (durability, expected) in [
      (Durability.full, "sync"), (.barrier, "barrier"), (.unsynced, nil),
      (.relaxed(within: .seconds(1000)), nil),
    ] as [(Durability, String?)] {
      let calls = disk.files.callCount
      try store.write(durability: durability) { try $0.put([2], for: "a", in: blobs) }
      let made = disk.files.calls(after: calls).compactMap { $0.split(separator: " ").first }
      let syncs = made.filter { ["sync", "barrier"].contains($0) }.map(String.init)
      #expect(syncs == [expected].compactMap(\.self), "\(durability)")
    }
  }

  @Test(
    "Rule 6: damaged bits and misplaced writes are detected by reads and by verify"
  )
  func rot() throws {
    let disk = Disk()
    let store = try disk.open()
    var random = SeededGenerator(seed: 1)
    let large = (0..<9000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    try store.put([1], for: "small")
    let before = Int(try store.statistics().logByteCount)
    try store.put(large, for: "large")
    try store.put([2], for: "after")
    // A cold value rots while the store is open.
    disk.files.damage(Self.firstSegment, at: before + 5000) { $0 ^ 0x10 }
    let snapshot = try store.snapshot()
    let failure = error { try snapshot.get("large", in: blobs) }
    #expect(failure?.code == .corruption && failure?.file == Self.firstSegment)
    #expect(try snapshot.get("small", in: blobs) == [1])
    #expect(!verifyLog(directory: "store/log", fileSystem: disk.files).isEmpty)
    // Sound bytes at a wrong offset are as bad: a frame copied over another one.
    let other = Disk()
    let second = try other.open()
    try second.put([1], for: "a")
    let first = Int(try second.statistics().logByteCount)
    try second.put([2], for: "a")
    let end = Int(try second.statistics().logByteCount)
    try second.put([3], for: "a")
    var bytes = try #require(other.files.contents(of: Self.firstSegment))
    bytes.replaceSubrange(end..<end + (end - first), with: bytes[first..<end])
    other.files.replace(Self.firstSegment, with: bytes)
    let found = try Disk(other.files.afterKill()).open()
    #expect(found.newestCommit == 2, "a frame at another's place was believed")
  }

  @Test("Rule 7: a clock that goes backwards changes no order; dates are clamped")
  func clock() throws {
    let store = try Store.inMemory()
    for (number, time) in [10, 30, 20, 5, 40].enumerated() {
      try store.write { tx in
        tx.timestamp = Timestamp(microseconds: Int64(time))
        tx.timestampAllowance = .clamping
        try tx.put(Self.value(number), for: "a", in: blobs)
      }
    }
    let times = try (1...5).map { try store.commit(UInt64($0)).timestamp.microseconds }
    #expect(times == [10, 30, 30, 30, 40])
    for (time, commit) in [(9, 0), (10, 1), (29, 1), (30, 4), (39, 4), (40, 5)] as [(Int64, UInt64)]
    {
      #expect(try store.commit(at: .date(Timestamp(microseconds: time))) == commit, "at \(time)")
    }
  }

  @Test("Rule 8: an absurd length in a damaged record allocates nothing and loops nowhere")
  func lengths() throws {
    let disk = Disk()
    let store = try disk.open()
    try store.put(Self.value(1), for: "a")
    let start = Int(try store.statistics().logByteCount)
    try store.put([UInt8](repeating: 7, count: 5000), for: "a")
    try store.close()
    let bytes = try #require(disk.files.contents(of: Self.firstSegment))
    let length = 8 + Int(bytes[start + 4]) + Int(bytes[start + 5]) << 8
    // Every field of the commit's header and value table, with a checksum that matches the damage.
    for field in stride(from: start, to: start + length, by: 4) where field != start + 12 {
      for value in [0, 1, 0x7FFF_FFFF, 0xFFFF_FFFF] as [UInt32] {
        for width in [4, 8] where field + width <= start + length {
          var damaged = bytes
          for byte in 0..<width {
            damaged[field + byte] = UInt8(truncatingIfNeeded: value >> (8 * UInt32(byte % 4)))
          }
          let header = damaged[start..<start + 12] + damaged[start + 16..<start + length]
          let sum = crc32c(Array(header))
          for byte in 0..<4 {
            damaged[start + 12 + byte] = UInt8(truncatingIfNeeded: sum >> (8 * UInt32(byte)))
          }
          let found = Disk(disk.files.afterKill())
          found.files.replace(Self.firstSegment, with: damaged)
          _ = verifyLog(directory: "store/log", fileSystem: found.files)
          let outcome = error {
            let store = try found.open()
            try store.snapshot().forEachRow(in: "blobs") { _ in true }
          }
          // Not found: the value exists, but under the number of another operation.
          let codes: [TreeRingError.Code?] = [.corruption, .unsupportedFormat, .notFound, nil]
          #expect(codes.contains(outcome?.code), "\(field - start) = \(value): \(outcome as Any)")
        }
      }
    }
  }

  @Test("Rule 9: a failed iteration skips nothing: it throws until the cause is removed")
  func iterators() async throws {
    let disk = Disk()
    let store = try disk.open()
    for number in 1...150 {
      try store.put(Self.value(number), for: Key(number <= 6 ? "k\(number)" : "m\(number)"))
    }
    var feed = store.commits(from: 1).makeAsyncIterator()
    // The feed reads commits ahead, and gives those that it has read.
    #expect(try await feed.next()?.number == 1)
    disk.files.failReads(of: Self.firstSegment, in: 0..<Int.max)
    for number in 2...64 as ClosedRange<UInt64> {
      #expect(try await feed.next()?.number == number)
    }
    for _ in 0..<3 {
      do {
        _ = try await feed.next()
        Issue.record("the feed read what cannot be read")
      } catch { #expect((error as? TreeRingError)?.code == .io) }
    }
    disk.files.failReads(of: Self.firstSegment, in: nil)
    for number in 65...150 as ClosedRange<UInt64> {
      #expect(try await feed.next()?.number == number)
    }
    // A scan ends with the error of the unreadable row.
    let large = [UInt8](repeating: 3, count: 5000)
    try store.put(large, for: "k3")
    disk.files.failReads(of: Self.firstSegment, in: 0..<Int.max)
    var seen: [Key] = []
    let failure = error {
      try store.snapshot().forEachRow(in: "blobs") { row in
        seen.append(row.key)
        return true
      }
    }
    #expect(failure?.code == .io)
    #expect(seen == ["k1", "k2"])
  }

  @Test(
    "Rule 10: a kill loses no returned commit; a power failure only those without a sync")
  func killAndPower() throws {
    for (durability, kept) in [(Durability.full, true), (.unsynced, false)] {
      let disk = Disk()
      let store = try disk.open()
      try store.put([1], for: "a")
      try store.write(durability: durability) { try $0.put([2], for: "a", in: blobs) }
      let killed = try Disk(disk.files.afterKill()).open()
      #expect(try killed.snapshot().get("a", in: blobs) == [2])
      let dark = try Disk(disk.files.afterCrash(seed: 1, odds: 0)).open()
      #expect(try dark.snapshot().get("a", in: blobs) == [kept ? 2 : 1])
      // A commit found once remains.
      let again = try Disk(killed.path.map { _ in disk.files.afterKill() } ?? disk.files).open()
      #expect(again.newestCommit == 2)
    }
  }

  @Test(
    "Rule 11: a second writer is refused, in this process and others, until the first closes")
  func lockFile() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/s"
    func isFree() throws -> Bool? {
      try TemporaryFolder.run("flock", ["-n", path + "/LOCK", "true"]).map { $0.0 == 0 }
    }
    var store: Store? = try Store(at: path)
    #expect(code { try Store(at: path) } == .locked)
    if let isFree = try isFree() { #expect(!isFree) }
    // With locks that belong to the process, any close of the file would release the lock.
    for _ in 0..<2 { _ = FileManager.default.contents(atPath: path + "/LOCK") }
    #expect(code { try Store(at: path) } == .locked)
    if let isFree = try isFree() { #expect(!isFree) }
    try store?.put([1], for: "a")
    store = nil
    if let isFree = try isFree() { #expect(isFree) }
    #expect(try Store(at: path).snapshot().get("a", in: blobs) == [1])
  }
}
