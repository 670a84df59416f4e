// Backups of a store in use.

import Dispatch
import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Backing up concurrently", .leavesSoundStores) struct StoreBackupConcurrencyTests {
  @Test("Backups made while a writer commits are the store at their commit")
  func whileWriting() throws {
    let folder = try TemporaryFolder()
    for isMemory in [true, false] {
      let files: any FileSystem = isMemory ? MemoryFileSystem() : PosixFileSystem()
      if isMemory { try files.makeDirectory(folder.path) }
      let store = try Store(
        path: folder.path + "/a", fileSystem: files, options: BackedUpStore.options())
      let group = beginThreads { _ in
        do {
          for number in 1...300 as ClosedRange<CommitNumber> {
            try BackedUpStore.commit(number, to: store)
          }
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
          path: folder.path + "/b", fileSystem: files, options: BackedUpStore.options(.readOnly))
        #expect(backup.newestCommit == last)
        try BackedUpStore.check(backup, "round \(round)")
        try backup.close()
      }
      group.wait()
      try store.backUp(to: folder.path + "/b", on: files, mayLink: true)
      // A backup is a store: it can also be opened for writing, and then diverges.
      let restored = folder.path + "/c"
      let report = try Store.restore(from: folder.path + "/b", to: restored, on: files)
      #expect(report.lastCommit == 300 && report.linkedByteCount == 0)
      try store.close()
      let copy = try Store(path: restored, fileSystem: files, options: BackedUpStore.options())
      try BackedUpStore.check(copy, "restored")
      try BackedUpStore.commit(301, to: copy)
      try copy.close()
      let backup = try Store(
        path: folder.path + "/b", fileSystem: files, options: BackedUpStore.options())
      try BackedUpStore.check(backup, "backup")
      #expect(backup.newestCommit == 300)
    }
  }

  @Test("A backup waits for compaction and erasing, and they wait for a backup")
  func besideCompaction() throws {
    let files = MemoryFileSystem()
    let store = try Store(path: "a", fileSystem: files, options: BackedUpStore.options())
    for number in 1...80 as ClosedRange<CommitNumber> {
      try BackedUpStore.commit(number, to: store)
    }
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
      let backup = try Store(
        path: "b", fileSystem: files, options: BackedUpStore.options(.readOnly))
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
}
