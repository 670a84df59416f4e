// A follower reads the page file from the first checkpoint on, and checks its pages again under
// each root.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("The page file of a follower") struct FollowedPagesTests {
  /// Rewrites every row.
  private func rewrite(_ store: Store, _ value: UInt8, rows: Int = 200) throws {
    try store.write { tx in
      for number in 0..<rows { try tx.put([value], for: Key("row \(number)"), in: blobs) }
    }
  }

  private func expect(_ snapshot: Snapshot, _ value: UInt8, rows: Int = 200) throws {
    let found = try snapshot.rows(in: blobs)
    #expect(found.count == rows && found.allSatisfy { $0.1 == [value] })
  }

  /// Polls with a follower until a condition holds.
  private func look(_ reader: Store, until isDone: () throws -> Bool) throws {
    let follower = try #require(reader.follower)
    for _ in 0..<20_000 where try !isDone() { follower.poll() }
    #expect(try isDone())
  }

  private func names(_ disk: any FileSystem) throws -> [String] {
    try disk.list("store/readers")
  }

  @Test("A follower opened before the first checkpoint moves over to it, and releases its commit")
  func firstCheckpoint() throws {
    let disk = MemoryFileSystem()
    let writer = try FollowerTests.open(disk, .create)
    try rewrite(writer, 1)
    #expect(try disk.exists("store/pages"))
    let reader = try FollowerTests.open(disk, .readOnly)
    let first = writer.newestCommit
    #expect(reader.follower?.rootCommit == nil && reader.newestCommit == first)
    var kept: Snapshot? = try reader.snapshot()
    try rewrite(writer, 2)
    try look(reader) { reader.newestCommit == writer.newestCommit }
    #expect(reader.follower?.rootCommit == nil)
    try writer.checkpoint()
    try look(reader) { reader.follower?.rootCommit == writer.newestCommit }
    try expect(reader.snapshot(), 2)
    if let kept { try expect(kept, 1) }
    // The follower pins its state from the log alone while a snapshot reads it.
    #expect(try writer.compact(to: .dropHistory).horizon == first)
    kept = nil
    try look(reader) {
      reader.reclaimer.settle()
      return try names(disk).allSatisfy { $0.hasPrefix("\(writer.newestCommit)-") }
    }
    #expect(try writer.compact(to: .dropHistory).horizon == writer.newestCommit)
    try rewrite(writer, 3, rows: 20)
    try rewrite(writer, 3)
    try look(reader) { reader.newestCommit == writer.newestCommit }
    try expect(reader.snapshot(), 3)
    try writer.checkpoint()
    try look(reader) { reader.follower?.rootCommit == writer.newestCommit }
    #expect(leaves(of: reader).keys.allSatisfy { $0 < PageTable.firstPrivateNumber })
    #expect(try reader.checkInvariants() == [])
    try reader.close()
    #expect(try names(disk) == [])
  }

  @Test("A page whose number was reused is checked, although it was read under an older root")
  func usedAgain() throws {
    let disk = SimulatedFileSystem(seed: 1)
    var options = FollowerTests.options(.create)
    // A small budget, so that memory keeps few earlier states.
    options.memoryBudget = 8 << 20
    let writer = try Store(path: "store", fileSystem: disk, options: options)
    try rewrite(writer, 1)
    try writer.checkpoint()
    let reader = try FollowerTests.open(disk, .readOnly)
    let first = try #require(reader.follower?.rootCommit)
    try expect(reader.snapshot(), 1)
    let touched = leaves(of: reader)
    var value: UInt8 = 1
    var again: PageNumber?
    while again == nil, value < 40 {
      value += 1
      try rewrite(writer, value)
      try writer.checkpoint()
      try look(reader) {
        reader.reclaimer.settle()
        return try names(disk).allSatisfy { $0.hasPrefix("\(writer.newestCommit)-") }
      }
      try writer.compact(to: .dropHistory)
      #expect(reader.follower?.rootCommit == writer.newestCommit && writer.horizon > first)
      again = leaves(of: writer).keys.filter { touched[$0] != nil }.min()
    }
    let page = try #require(again, "no number was used again")
    let start = Int(PageFileLayout.offset(of: page))
    disk.flipBit("store/pages", in: start..<start + PageLayout.pageByteCount, seed: 1)
    #expect(code { try reader.snapshot().rows(in: blobs) } == .corruption)
    try reader.close()
  }

  @Test("When the page file is rebuilt, a follower moves over to the new one")
  func treesRebuilt() throws {
    let disk = MemoryFileSystem()
    var writer = try FollowerTests.open(disk, .create)
    try rewrite(writer, 1)
    try writer.checkpoint()
    let reader = try FollowerTests.open(disk, .readOnly)
    let first = try #require(reader.follower?.rootCommit)
    var kept: Snapshot? = try reader.snapshot()
    try rewrite(writer, 2)
    try look(reader) { reader.newestCommit == writer.newestCommit }
    try writer.close()
    try disk.unlink("store/pages")
    writer = try FollowerTests.open(disk, .readWrite)
    try rewrite(writer, 3)
    try writer.checkpoint()
    // While the old file is read, the follower follows the log alone.
    try look(reader) {
      reader.newestCommit == writer.newestCommit && reader.follower?.rootCommit == nil
    }
    try expect(reader.snapshot(), 3)
    for _ in 0..<2_000 { reader.follower?.poll() }
    #expect(reader.follower?.rootCommit == nil)
    if let kept { try expect(kept, 1) }
    kept = nil
    try look(reader) {
      reader.reclaimer.settle()
      return reader.follower?.rootCommit == writer.newestCommit
    }
    try expect(reader.snapshot(), 3)
    #expect(leaves(of: reader).keys.allSatisfy { $0 < PageTable.firstPrivateNumber })
    #expect(try reader.checkInvariants() == [])
    try look(reader) {
      reader.reclaimer.settle()
      return try names(disk).allSatisfy { $0.hasPrefix("\(writer.newestCommit)-") }
    }
    #expect(writer.newestCommit > first)
    try reader.close()
    try writer.close()
  }

  /// The leaves of the visible rows, with their births.
  private func leaves(of store: Store) -> [PageNumber: PageBirth] {
    var leaves: [PageNumber: PageBirth] = [:]
    Tree(store.queue.visible.roots.rows, pages: store.pages).forEachPage { page in
      if page.level == 0 { leaves[page.number] = page.birth }
    }
    return leaves
  }
}
