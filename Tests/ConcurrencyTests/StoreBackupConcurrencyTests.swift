// Backups of a store in use, and stores made from them.

import Dispatch
import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Backing up concurrently and restoring", .leavesSoundStores)
struct StoreBackupConcurrencyTests {
  /// The rows at a commit, if commit n puts row n % 50 and deletes row n % 7.
  private static func rows(at commit: CommitNumber) -> [String: [UInt8]] {
    var rows: [String: [UInt8]] = [:]
    for number in 1...max(commit, 1) where commit > 0 {
      rows["k\(number % 50)"] = object(number)
      rows["k\(number % 7)"] = nil
    }
    return rows
  }

  private static func object(_ number: CommitNumber) -> [UInt8] {
    Array(repeating: UInt8(truncatingIfNeeded: number), count: Int(number * 131 % 3000))
  }

  private static func commit(_ number: CommitNumber, to store: Store) throws {
    let written = try store.write(durability: number % 5 == 0 ? .full : Durability.none) { tx in
      try tx.put(object(number), for: Key("k\(number % 50)"), in: blobs)
      try tx.delete(Key("k\(number % 7)"), in: "blobs")
    }
    #expect(written.commit == number)
  }

  private static func check(_ store: Store, _ context: String) throws {
    var found: [String: [UInt8]] = [:]
    try store.snapshot().forEachRow(in: "blobs") { row in
      found[row.key.description] = row.object
      return true
    }
    let isRight = found == rows(at: store.newestCommit)
    #expect(isRight, "\(context): at \(store.newestCommit)")
    #expect(try store.checkInvariants() == [], "\(context)")
  }

  private func options(_ mode: StoreMode = .create) -> StoreOptions {
    StoreOptions(mode: mode, segmentSize: 2 << 10, logger: quietLogger)
  }

  @Test("Backups made while a writer commits are the store at their commit")
  func whileWriting() throws {
    let folder = try TemporaryFolder()
    for isMemory in [true, false] {
      let files: any FileSystem = isMemory ? MemoryFileSystem() : PosixFileSystem()
      if isMemory { try files.makeDirectory(folder.path) }
      let store = try Store(path: folder.path + "/a", fileSystem: files, options: options())
      let group = beginThreads { _ in
        do {
          for number in 1...300 as ClosedRange<CommitNumber> { try Self.commit(number, to: store) }
        } catch { Issue.record("\(error)") }
      }
      var last: CommitNumber = 0
      for round in 0..<8 {
        let before = store.newestCommit
        let report = try store.backUp(
          to: folder.path + "/b", on: files, mayLink: round % 3 != 2)
        #expect(report.lastCommit >= max(before, last))
        last = report.lastCommit
        let backup = try Store(
          path: folder.path + "/b", fileSystem: files, options: options(.readOnly))
        #expect(backup.newestCommit == last)
        try Self.check(backup, "round \(round)")
        try backup.close()
      }
      group.wait()
      try store.backUp(to: folder.path + "/b", on: files, mayLink: true)
      // A backup is a store: it can also be opened for writing, and then diverges.
      let restored = folder.path + "/c"
      let report = try Store.restore(from: folder.path + "/b", to: restored, on: files)
      #expect(report.lastCommit == 300 && report.linkedByteCount == 0)
      try store.close()
      let copy = try Store(path: restored, fileSystem: files, options: options())
      try Self.check(copy, "restored")
      try Self.commit(301, to: copy)
      try copy.close()
      let backup = try Store(path: folder.path + "/b", fileSystem: files, options: options())
      try Self.check(backup, "backup")
      #expect(backup.newestCommit == 300)
    }
  }

  @Test(
    "A backup refreshed across a compaction opens, for reading too, wherever power fails",
    arguments: [true, false])
  func refreshedAcrossCompaction(mayLink: Bool) throws {
    let base = SimulatedFileSystem(seed: 11)
    let store = try Store(path: "a", fileSystem: base, options: options())
    for number in 1...40 as ClosedRange<CommitNumber> { try Self.commit(number, to: store) }
    try store.backUp(to: "b", on: base, mayLink: mayLink)
    for number in 41...60 as ClosedRange<CommitNumber> { try Self.commit(number, to: store) }
    try store.compact(to: .before(50))
    try store.close()
    var call = 1
    while true {
      let disk = base.afterKill()
      let source = try Store(path: "a", fileSystem: disk, options: options(.readWrite))
      disk.crash(after: call)
      let isDone = code { try source.backUp(to: "b", on: disk, mayLink: mayLink) } == nil
      for keep in 0..<3 as Range<UInt64> {
        let context = "call \(call) keep \(keep)"
        let found = disk.afterCrash(seed: UInt64(call) &* 10 &+ keep)
        for mode in [StoreMode.readOnly, .readWrite] {
          let backup = try Store(path: "b", fileSystem: found, options: options(mode))
          #expect([40, 60].contains(backup.newestCommit), "\(context)")
          #expect(backup.horizon == (backup.newestCommit == 60 ? 50 : 0), "\(context)")
          try Self.check(backup, "\(context), \(mode)")
          try backup.close()
        }
        try Store.restore(from: "b", to: "c", on: found)
        let restored = try Store(path: "c", fileSystem: found, options: options(.readOnly))
        try Self.check(restored, "\(context), restored")
      }
      if isDone { break }
      call += 1
    }
    #expect(call > 10)
  }

  @Test("A backup waits for compaction and erasing, and they wait for a backup")
  func besideCompaction() throws {
    let files = MemoryFileSystem()
    let store = try Store(path: "a", fileSystem: files, options: options())
    for number in 1...80 as ClosedRange<CommitNumber> { try Self.commit(number, to: store) }
    let group = beginThreads { _ in
      do {
        for _ in 0..<6 {
          try store.compact(to: .keeping(.last(commits: 10)))
          try store.erase(Key("k\(store.newestCommit % 50)"), in: "blobs")
          try store.put([1], for: "other")
        }
      } catch { Issue.record("\(error)") }
    }
    for round in 0..<12 {
      try store.backUp(to: "b", on: files, mayLink: round % 2 == 0)
      let backup = try Store(path: "b", fileSystem: files, options: options(.readOnly))
      let now = try backup.snapshot()
      #expect(try backup.checkInvariants() == [], "round \(round)")
      // A half-erased store has rows without values.
      try now.forEachRow(in: "blobs") { _ in true }
      if backup.horizon > 0 {
        try backup.snapshot(at: .commit(backup.horizon)).forEachRow(in: "blobs") { _ in true }
      }
      try backup.close()
    }
    group.wait()
    #expect(
      code { _ = try store.write { _ in try store.backUp(to: "b", on: files, mayLink: true) } }
        == .notAllowed)
  }

  @Test(
    "Restoring refuses a folder that is not empty; a cancelled restore leaves nothing that opens")
  func restoring() throws {
    let files = MemoryFileSystem()
    let store = try Store(path: "a", fileSystem: files, options: options())
    for number in 1...60 as ClosedRange<CommitNumber> { try Self.commit(number, to: store) }
    try store.backUp(to: "b", on: files, mayLink: true)
    #expect(code { try Store.restore(from: "b", to: "a", on: files) } == .alreadyExists)
    #expect(code { try Store.restore(from: "nothing", to: "c", on: files) } == .notFound)
    for stop in 0..<100 {
      var seen = 0
      let folder = "cancelled\(stop)"
      let outcome = code {
        try Store.restore(from: "b", to: folder, on: files) { _ in
          seen += 1
          return seen <= stop
        }
      }
      if outcome == nil, stop > 2 { break }
      #expect(outcome == .cancelled)
      let opened = try? Store(path: folder, fileSystem: files, options: options(.readOnly))
      #expect(opened == nil)
    }
    try Store.restore(from: "b", to: "c", on: files)
    let copy = try Store(path: "c", fileSystem: files, options: options(.readWrite))
    try Self.check(copy, "restored")
    // A backup of a restored store may go to the same folder, and the original continues too.
    try copy.backUp(to: "b", on: files, mayLink: true)
    try Self.commit(61, to: store)
    try store.backUp(to: "b", on: files, mayLink: true)
    let again = try Store(path: "b", fileSystem: files, options: options(.readOnly))
    try Self.check(again, "again")
    #expect(again.newestCommit == 61)
  }

  @Test("A store in memory can be backed up to the disk")
  func inMemory() throws {
    let folder = try TemporaryFolder()
    let store = try Store.inMemory(options: options())
    for number in 1...40 as ClosedRange<CommitNumber> { try Self.commit(number, to: store) }
    try store.backUp(to: folder.path + "/b")
    let backup = try Store(at: folder.path + "/b", options: options(.readWrite))
    try Self.check(backup, "from memory")
    try backup.close()
    try store.close()
    #expect(code { try store.backUp(to: folder.path + "/b") } == .closed)
  }
}
