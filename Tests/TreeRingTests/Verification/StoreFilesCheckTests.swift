// Verification of a store beside its writer: it reports no false problems, and still finds damage.

import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Checking files during writes")
struct StoreFilesCheckTests {
  private static func options(_ mode: StoreMode = .create) -> StoreOptions {
    var options = StoreOptions(
      mode: mode, durability: .unsynced, memoryBudget: 1 << 20, segmentSize: 32 << 10,
      logger: quietLogger)
    options.pageCellCapacity = 8
    return options
  }

  @Test("Commits, checkpoints, sealed segments, compaction: a sound store has no findings")
  func besideWriter() throws {
    let folder = try TemporaryFolder()
    let store = try Store(at: folder.path + "/s", options: Self.options())
    let isDone = Atomic<Bool>(false)
    let group = beginThreads { _ in
      do {
        for round in 0..<100_000 where !isDone.load(ordering: .acquiring) {
          try store.write { tx in
            for row in 0..<20 {
              let key = Key("row \((round * 7 + row * 13) % 400)")
              try tx.put([UInt8](repeating: UInt8(round & 255), count: 60), for: key, in: blobs)
            }
          }
          if round % 5 == 0 { try store.checkpoint() }
          if round % 50 == 49 { try store.compact(to: .keeping(.last(commits: 20))) }
        }
      } catch { Issue.record("\(error)") }
    }
    for look in 0..<40 {
      let check = try StoreFilesCheck(of: folder.path + "/s", fileSystem: PosixFileSystem())
      #expect(check.findings == [], "look \(look)")
    }
    isDone.store(true, ordering: .releasing)
    group.wait()
    let check = try StoreFilesCheck(of: folder.path + "/s", fileSystem: PosixFileSystem())
    #expect(check.findings == [] && !check.isPartial)
    try store.close()
  }

  @Test("A missing segment is found during writes too")
  func missingSegment() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/s"
    let store = try Store(at: path, options: Self.options())
    var random = SeededGenerator(seed: 1)
    for number in 0..<400 {
      let noise = (0..<300).map { _ in UInt8.random(in: 0...255, using: &random) }
      try store.put(noise, for: Key("\(number)"))
    }
    try store.sync()
    let segments = try FileManager.default.contentsOfDirectory(atPath: path + "/log").sorted()
    try #require(segments.count > 3)
    try FileManager.default.removeItem(atPath: "\(path)/log/\(segments[1])")
    #expect(try !StoreFilesCheck(of: path, fileSystem: PosixFileSystem()).findings.isEmpty)
    withExtendedLifetime(store) {}
  }

  @Test("Damage is found during writes too: in a segment, and in the page file")
  func damaged() throws {
    for place in ["log", "pages"] {
      let disk = SimulatedFileSystem(seed: 3)
      let store = try Store(path: "store", fileSystem: disk, options: Self.options())
      for number in 0..<200 {
        try store.put([UInt8](repeating: 1, count: 300), for: Key("row \(number)"))
      }
      try store.checkpoint()
      let found = disk.afterKill()
      let writer = try Store(path: "store", fileSystem: found, options: Self.options(.readWrite))
      #expect(try StoreFilesCheck(of: "store", fileSystem: found).findings == [])
      let segments = try found.list("store/log").sorted()
      let path = place == "log" ? "store/log/\(segments[0])" : "store/pages"
      let size = try #require(found.contents(of: path)?.count)
      // Verification reads every bit of a segment, and those of all pages in use.
      var isFound = false
      for seed in 0..<20 as Range<UInt64> where !isFound {
        found.flipBit(path, in: (place == "log" ? 0 : 8192)..<size, seed: seed)
        isFound = try !StoreFilesCheck(of: "store", fileSystem: found).findings.isEmpty
        if place == "log" { break }
      }
      #expect(isFound, "\(place)")
      withExtendedLifetime((store, writer)) {}
    }
  }
}
