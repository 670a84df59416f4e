// The simulated disk on which the other tests rely: it keeps every synced byte, and no byte that
// was not written.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingLog

@Suite("The simulated disk")
struct SimulatedDiskTests {
  private func make(_ disk: SimulatedFileSystem, _ path: String, _ bytes: [UInt8]) throws
    -> any File
  {
    let file = try disk.open(path, .createNew)
    try file.write(bytes, at: 0)
    return file
  }

  private static func pattern(_ count: Int, _ seed: UInt8) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 / 512) &* 16 &+ seed }
  }

  @Test("Synced bytes survive every crash; others survive by sectors, also torn ones")
  func sectors() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let old = Self.pattern(8192, 1)
    let new = Self.pattern(8192, 2)
    let file = try make(disk, "a", old)
    try file.sync(.full)
    try disk.syncDirectory(".")
    try file.write(new, at: 0)
    var kept: Set<[Bool]> = []
    var torn = 0
    for seed in 0..<200 as Range<UInt64> {
      let bytes = try #require(disk.afterCrash(seed: seed, odds: 50).contents(of: "a"))
      #expect(bytes.count == 8192)
      var sectors: [Bool] = []
      for start in stride(from: 0, to: 8192, by: 512) {
        let sector = bytes[start..<start + 512]
        #expect(zip(sector.indices, sector).allSatisfy { $1 == old[$0] || $1 == new[$0] })
        if sector == new[start..<start + 512] {
          sectors.append(true)
        } else {
          if sector != old[start..<start + 512] { torn += 1 }
          sectors.append(false)
        }
      }
      kept.insert(sectors)
    }
    #expect(kept.count > 190)
    #expect(torn > 100)
    #expect(disk.afterCrash(seed: 1, odds: 0).contents(of: "a") == old)
    #expect(disk.afterKill().contents(of: "a") == new)
    try file.sync(.full)
    for seed in 0..<20 as Range<UInt64> {
      #expect(disk.afterCrash(seed: seed).contents(of: "a") == new)
    }
  }

  @Test("A sector that was written several times holds any of its contents")
  func versions() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let file = try make(disk, "a", [0])
    try file.sync(.full)
    try disk.syncDirectory(".")
    for value in 1...3 as ClosedRange<UInt8> { try file.write([value], at: 0) }
    var found: Set<UInt8> = []
    for seed in 0..<100 as Range<UInt64> {
      found.formUnion(disk.afterCrash(seed: seed, odds: 50).contents(of: "a") ?? [])
    }
    #expect(found == [0, 1, 2, 3])
  }

  @Test("Unsynced growth and truncation may be lost")
  func sizes() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let file = try make(disk, "a", [1, 2, 3])
    try file.sync(.full)
    try disk.syncDirectory(".")
    #expect(try file.allocate(1000, at: 3))
    try file.truncate(to: 2)
    var sizes: Set<Int> = []
    for seed in 0..<100 as Range<UInt64> {
      let bytes = try #require(disk.afterCrash(seed: seed, odds: 50).contents(of: "a"))
      sizes.insert(bytes.count)
      #expect(bytes.starts(with: [1, 2]) && bytes.dropFirst(3).allSatisfy { $0 == 0 })
    }
    #expect(sizes == [2, 3, 1003])
  }

  @Test("A truncation is durable after a whole sync; after a weaker one the old end may reappear")
  func cuts() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let file = try make(disk, "a", [1, 2, 3])
    try file.sync(.full)
    try disk.syncDirectory(".")
    try file.truncate(to: 1)
    try file.sync(.full)
    var found: Set<[UInt8]> = []
    for seed in 0..<50 as Range<UInt64> {
      found.insert(try #require(disk.afterCrash(seed: seed, odds: 50).contents(of: "a")))
    }
    #expect(found == [[1], [1, 2, 3]])
    try file.sync(.whole)
    for seed in 0..<20 as Range<UInt64> {
      #expect(disk.afterCrash(seed: seed).contents(of: "a") == [1])
    }
  }

  @Test("Names survive after a sync of their folder; the files of a lost folder are lost")
  func names() throws {
    let disk = SimulatedFileSystem(seed: 1)
    try disk.makeDirectory("a")
    try make(disk, "a/f", [1]).sync(.full)
    try disk.syncDirectory("a")
    #expect(disk.afterCrash(seed: 1, odds: 0).paths == [])
    try disk.syncDirectory("")
    #expect(disk.afterCrash(seed: 1, odds: 0).paths == ["a/f"])
    try disk.makeDirectory("b")
    try disk.syncDirectory(".")
    try make(disk, "b/g", [2]).sync(.full)
    try disk.rename("a/f", to: "a/h")
    try disk.link("a/h", to: "a/i")
    var found: Set<[String]> = []
    for seed in 0..<200 as Range<UInt64> {
      let crashed = disk.afterCrash(seed: seed, odds: 50)
      found.insert(crashed.paths)
      for path in crashed.paths {
        #expect(crashed.contents(of: path) == (path == "b/g" ? [2] : [1]))
      }
    }
    let renamed: [[String]] = [["a/f"], ["a/h"], ["a/f", "a/i"], ["a/h", "a/i"]]
    #expect(found == Set(renamed + renamed.map { $0 + ["b/g"] }))
    try disk.unlink("a/i")
    try disk.syncDirectory("b")
    #expect(disk.afterCrash(seed: 1, odds: 0).paths == ["a/f", "b/g"])
    try disk.syncDirectory("a")
    #expect(disk.afterCrash(seed: 1, odds: 0).paths == ["a/h", "b/g"])
  }

  @Test("A crash may keep everything up to a moment and nothing later")
  func moments() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let file = try disk.open("a", .createNew)
    try disk.syncDirectory(".")
    for number in 0..<20 { try file.write([UInt8(number + 1)], at: UInt64(number) * 512) }
    var prefixes: Set<Int> = []
    for seed in 0..<400 as Range<UInt64> {
      let bytes = disk.afterCrash(seed: seed).contents(of: "a") ?? []
      let sectors = stride(from: 0, to: bytes.count, by: 512).map { bytes[$0] }
      let length = sectors.count
      if sectors == (0..<length).map({ UInt8($0 + 1) }) { prefixes.insert(length) }
    }
    #expect(prefixes.count > 12)
  }

  @Test(
    "A failed sync leaves pages clean that are not on the device, and the next sync succeeds")
  func failedSync() throws {
    let disk = SimulatedFileSystem(seed: 3)
    let file = try make(disk, "a", Self.pattern(8192, 1))
    try disk.syncDirectory(".")
    disk.fail(after: 1, with: .inputOutput)
    #expect(throws: TreeRingError.self) { try file.sync(.full) }
    try file.sync(.full)
    #expect(disk.contents(of: "a") == Self.pattern(8192, 1))
    #expect(disk.afterCrash(seed: 1, odds: 0).contents(of: "a") != Self.pattern(8192, 1))
  }

  @Test("Calls fail once or from then on; a failed write is done in part; reads count separately")
  func failures() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let file = try make(disk, "a", [1])
    #expect(disk.callCount == 2 && disk.writeCount == 1)
    disk.fail(after: 2, with: .inputOutput)
    try file.write([2], at: 0)
    #expect(code { try file.write(Self.pattern(600, 3), at: 0) } == .io)
    #expect((disk.contents(of: "a")?.count ?? 601) <= 600)
    try file.write([2], at: 0)
    disk.failAll(after: 1, with: .noSpace)
    for _ in 0..<3 { #expect(code { try file.truncate(to: 1) } == .noSpace) }
    disk.failAll(after: nil, with: .noSpace)
    try file.truncate(to: 1)
    let reads = disk.readCount
    disk.failRead(after: 2)
    #expect(try disk.exists("a"))
    #expect(code { try disk.list("") } == .io)
    #expect(try disk.list("") == ["a"])
    #expect(disk.readCount == reads + 3)
    disk.failReads(of: "a", in: 0..<1)
    #expect(code { try read(file, 1, at: 0) } == .io)
    #expect(try read(file, 1, at: 1) == [])
    disk.failReads(of: "a", in: nil)
    #expect(try read(file, 5, at: 0) == [2])
    #expect(disk.faultCount == 6)
  }

  @Test("A lost write never happens, a misdirected one hits other sectors; both are confirmed")
  func lies() throws {
    for fault in SilentFault.allCases {
      let disk = SimulatedFileSystem(seed: 1)
      let old = Self.pattern(8192, 1)
      let file = try make(disk, "a", old)
      disk.deceive(after: 1, with: fault)
      try file.write([UInt8](repeating: 7, count: 100), at: 1000)
      try file.sync(.full)
      try disk.syncDirectory(".")
      let found = try #require(disk.afterCrash(seed: 1).contents(of: "a"))
      #expect(found[512..<1536] == old[512..<1536])
      #expect((found == old) == (fault == .lost))
      #expect(found.contains(7) == (fault == .misdirected))
      #expect(found.count == old.count && disk.faultCount == 1)
    }
  }

  @Test("Flipping a bit changes that bit only, on the device and in memory")
  func flips() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let file = try make(disk, "a", [UInt8](repeating: 0, count: 100))
    let mapping = try file.map(at: 0, count: 4096)
    try file.sync(.full)
    try disk.syncDirectory("")
    disk.flipBit("a", in: 10..<20, seed: 4)
    let bytes = try #require(disk.contents(of: "a"))
    #expect(bytes.reduce(0) { $0 + $1.nonzeroBitCount } == 1)
    #expect(bytes[10..<20].contains { $0 != 0 })
    #expect(disk.afterCrash(seed: 1, odds: 0).contents(of: "a") == bytes)
    #expect(mapping.withBytes { $0.prefix(100).elementsEqual(bytes) })
  }

  @Test("`observe` yields an independent disk for every moment of a run")
  func moment() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let moments = Moments()
    disk.observe { moments.add($0, $2) }
    let file = try make(disk, "a", [1, 2])
    try file.write([3], at: 0)
    disk.observe(nil)
    try file.write([4], at: 0)
    let seen = moments.all
    #expect(seen.map(\.call) == [1, 2, 3])
    #expect(seen.map { $0.disk.contents(of: "a") } == [nil, [], [1, 2]])
    try seen[2].disk.open("a", .readWrite).write([9], at: 1)
    #expect(disk.contents(of: "a") == [4, 2])
    #expect(disk.afterKill().contents(of: "a") == [4, 2])
  }

  @Test("After a power failure every call fails; the disk found afterwards works")
  func down() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let file = try make(disk, "a", [1])
    try file.sync(.full)
    try disk.syncDirectory("")
    disk.crash(after: 1)
    #expect(code { try file.write([2], at: 0) } == .io)
    #expect(disk.isDown)
    #expect(code { try read(file, 1, at: 0) } == .io)
    #expect(code { try disk.exists("a") } == .io)
    let found = disk.afterCrash(seed: 1, odds: 0)
    #expect(!found.isDown && found.callCount == 0)
    #expect(try read(found.open("a", .readWrite), 1, at: 0) == [1])
  }

  private func read(_ file: any File, _ count: Int, at offset: UInt64) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let read = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
    return Array(bytes[..<read])
  }

  private func code(_ body: () throws -> some Any) -> TreeRingError.Code? {
    do {
      _ = try body()
      return nil
    } catch { return (error as? TreeRingError)?.code }
  }
}

extension File {
  fileprivate func write(_ bytes: [UInt8], at offset: UInt64) throws(TreeRingError) {
    let result: Result<Void, TreeRingError> = bytes.withUnsafeBytes { bytes in
      do throws(TreeRingError) {
        return .success(try write(bytes, at: offset))
      } catch { return .failure(error) }
    }
    try result.get()
  }
}

/// Collects the observed moments.
private final class Moments: Sendable {
  private let moments = Mutex<[(call: Int, disk: SimulatedFileSystem)]>([])
  var all: [(call: Int, disk: SimulatedFileSystem)] { moments.withLock { $0 } }
  func add(_ call: Int, _ disk: SimulatedFileSystem) {
    moments.withLock { $0.append((call, disk)) }
  }
}
