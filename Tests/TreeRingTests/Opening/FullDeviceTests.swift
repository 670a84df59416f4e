// A full device at an opening after a crash: the store opens, and can be made smaller.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Opening on a full device")
struct FullDeviceTests {
  private static func options() -> StoreOptions {
    StoreOptions(segmentSize: 64 << 10, logger: quietLogger)
  }

  private static func open(_ disk: SimulatedFileSystem) throws -> Store {
    try Store(path: "store", fileSystem: disk, options: options())
  }

  /// A store with a page file whose writer was killed while the last commits were unsynced.
  private static func killed() throws -> (disk: SimulatedFileSystem, newest: CommitNumber) {
    let disk = SimulatedFileSystem(seed: 1)
    let store = try open(disk)
    for round in 0..<6 as Range<UInt8> {
      try store.write { tx in
        for key in 0..<300 {
          try tx.put(Array(repeating: round, count: 200), for: Key("k\(key)"), in: blobs)
        }
      }
      try store.checkpoint()
    }
    for number in 0..<20 as Range<UInt8> {
      try store.write(durability: .unsynced) { tx in
        try tx.put((0..<250).map { $0 &* number }, for: Key("tail \(number)"), in: blobs)
      }
    }
    return (disk.afterKill(), store.newestCommit)
  }

  private static func used(_ disk: SimulatedFileSystem) -> Int {
    disk.paths.reduce(0) { $0 + (disk.contents(of: $1)?.count ?? 0) }
  }

  /// The bytes that the log has reserved ahead.
  private static func reserved(_ disk: SimulatedFileSystem) -> Int {
    guard let last = disk.paths.last(where: { $0.hasSuffix(".lz4") }) else { return 0 }
    return disk.contents(of: last)?.reversed().prefix { $0 == 0 }.count ?? 0
  }

  private static func check(_ disk: SimulatedFileSystem, newest: CommitNumber) throws {
    let store = try open(disk)
    #expect(store.newestCommit == newest)
    #expect(try store.snapshot().count(in: "blobs") == 320)
    #expect(try store.checkInvariants() == [])
    let before = try store.statistics().logByteCount
    try store.compact(to: .keeping(.last(commits: 1)))
    #expect(try store.statistics().logByteCount < before)
    #expect(try store.put([1], for: "more") == newest + 1)
    try store.close()
    disk.setCapacity(nil)
    #expect(try open(disk).newestCommit == newest + 1)
  }

  @Test("Room that the log had reserved ahead serves its recovery; the page file stays")
  func reservedRoom() throws {
    let (disk, newest) = try Self.killed()
    #expect(Self.reserved(disk) > 0)
    disk.setCapacity(Self.used(disk))
    let pages = try disk.open("store/pages", .readOnly)
    let store = try Self.open(disk)
    #expect(store.newestCommit == newest)
    #expect(try pages.size() > 0 && disk.exists("store/pages"))
    #expect(disk.calls(after: 0).allSatisfy { $0 != "unlink store/pages" })
  }

  @Test("Without reserved room the page file is removed, and compaction is possible")
  func pageFileGivesWay() throws {
    let (disk, newest) = try Self.killed()
    disk.setCapacity(Self.used(disk) - Self.reserved(disk))
    try Self.check(disk, newest: newest)
  }

  @Test("A store larger than the memory budget opens too")
  func beyondMemory() throws {
    let (disk, newest) = try Self.killed()
    disk.setCapacity(Self.used(disk) - Self.reserved(disk))
    // No write of the opening finds room.
    disk.replace("store/pages", with: nil)
    var options = Self.options()
    options.memoryBudget = 1 << 20
    options.pageCellCapacity = 4
    disk.setCapacity(Self.used(disk) - Self.reserved(disk) + 20_000)
    let store = try Store(path: "store", fileSystem: disk, options: options)
    #expect(store.newestCommit == newest)
    #expect(try store.snapshot().count(in: "blobs") == 320)
    #expect(try store.checkInvariants() == [])
  }
}
