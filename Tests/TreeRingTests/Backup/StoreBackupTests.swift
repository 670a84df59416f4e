// Backups that are refreshed, restored, or made from a store in memory.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Backing up and restoring", .leavesSoundStores) struct StoreBackupTests {
  @Test(
    "A backup refreshed across a compaction opens, for reading too, wherever power fails",
    arguments: [true, false])
  func refreshedAcrossCompaction(mayLink: Bool) throws {
    let base = SimulatedFileSystem(seed: 11)
    let store = try Store(path: "a", fileSystem: base, options: BackedUpStore.options())
    for number in 1...40 as ClosedRange<CommitNumber> {
      try BackedUpStore.commit(number, to: store)
    }
    try store.backUp(to: "b", on: base, mayLink: mayLink)
    for number in 41...60 as ClosedRange<CommitNumber> {
      try BackedUpStore.commit(number, to: store)
    }
    try store.compact(to: .before(50))
    try store.close()
    var call = 1
    while true {
      let disk = base.afterKill()
      let source = try Store(
        path: "a", fileSystem: disk, options: BackedUpStore.options(.readWrite))
      disk.crash(after: call)
      let isDone = code { try source.backUp(to: "b", on: disk, mayLink: mayLink) } == nil
      for keep in 0..<3 as Range<UInt64> {
        let context = "call \(call) keep \(keep)"
        let found = disk.afterCrash(seed: UInt64(call) &* 10 &+ keep)
        for mode in [StoreMode.readOnly, .readWrite] {
          let backup = try Store(path: "b", fileSystem: found, options: BackedUpStore.options(mode))
          #expect([40, 60].contains(backup.newestCommit), "\(context)")
          #expect(backup.horizon == (backup.newestCommit == 60 ? 50 : 0), "\(context)")
          try BackedUpStore.check(backup, "\(context), \(mode)")
          try backup.close()
        }
        try Store.restore(from: "b", to: "c", on: found)
        let restored = try Store(
          path: "c", fileSystem: found, options: BackedUpStore.options(.readOnly))
        try BackedUpStore.check(restored, "\(context), restored")
      }
      if isDone { break }
      call += 1
    }
    #expect(call > 10)
  }

  @Test(
    "Restoring refuses a folder that is not empty; a cancelled restore leaves nothing that opens")
  func restoring() throws {
    let files = MemoryFileSystem()
    let store = try Store(path: "a", fileSystem: files, options: BackedUpStore.options())
    for number in 1...60 as ClosedRange<CommitNumber> {
      try BackedUpStore.commit(number, to: store)
    }
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
      let opened = try? Store(
        path: folder, fileSystem: files, options: BackedUpStore.options(.readOnly))
      #expect(opened == nil)
    }
    try Store.restore(from: "b", to: "c", on: files)
    let copy = try Store(path: "c", fileSystem: files, options: BackedUpStore.options(.readWrite))
    try BackedUpStore.check(copy, "restored")
    // A backup of a restored store may go to the same folder, and the original continues too.
    try copy.backUp(to: "b", on: files, mayLink: true)
    try BackedUpStore.commit(61, to: store)
    try store.backUp(to: "b", on: files, mayLink: true)
    let again = try Store(path: "b", fileSystem: files, options: BackedUpStore.options(.readOnly))
    try BackedUpStore.check(again, "again")
    #expect(again.newestCommit == 61)
  }

  @Test("A store in memory can be backed up to the disk")
  func inMemory() throws {
    let folder = try TemporaryFolder()
    let store = try Store.inMemory(options: BackedUpStore.options())
    for number in 1...40 as ClosedRange<CommitNumber> {
      try BackedUpStore.commit(number, to: store)
    }
    try store.backUp(to: folder.path + "/b")
    let backup = try Store(at: folder.path + "/b", options: BackedUpStore.options(.readWrite))
    try BackedUpStore.check(backup, "from memory")
    try backup.close()
    try store.close()
    #expect(code { try store.backUp(to: folder.path + "/b") } == .closed)
  }
}
