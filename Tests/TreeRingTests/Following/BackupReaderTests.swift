// Readers of a backup that changes from one whole log to another: each finds one of the two.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Reading a backup while it is refreshed") struct BackupReaderTests {
  private static func object(_ number: CommitNumber) -> [UInt8] {
    Array(repeating: UInt8(truncatingIfNeeded: number), count: Int(number * 131 % 3000))
  }

  /// A store whose next backup replaces segments of the previous one.
  private struct Scene {
    let disk = MemoryFileSystem()
    let store: Store
    /// The newest commits of both backups.
    let old: CommitNumber
    let new: CommitNumber

    init() throws {
      let options = StoreOptions(segmentSize: 2 << 10, logger: quietLogger)
      store = try Store(path: "store", fileSystem: disk, options: options)
      for _ in 0..<30 { try Self.commit(to: store) }
      try store.backUp(to: "backup", on: disk, mayLink: true)
      old = store.newestCommit
      for _ in 0..<10 { try Self.commit(to: store) }
      try store.compact(to: .keeping(.last(commits: 15)))
      new = store.newestCommit
    }

    private static func commit(to store: Store) throws {
      try store.write { tx in
        try tx.put(
          BackupReaderTests.object(tx.commit), for: Key("k\(tx.commit % 9)"), in: blobs)
      }
    }

    func open(on files: any FileSystem) throws -> Store {
      let options = StoreOptions(mode: .readOnly, logger: quietLogger)
      return try Store(path: "backup", fileSystem: files, options: options)
    }

    /// Compares a reader with one of the two states. A read of history that compaction dropped
    /// during the read may be refused with a typed error.
    func check(_ reader: Store, _ context: String) throws {
      #expect(reader.newestCommit == old || reader.newestCommit == new, "\(context)")
      var rows: [Key: [UInt8]] = [:]
      for number in 1...reader.newestCommit {
        rows[Key("k\(number % 9)")] = BackupReaderTests.object(number)
      }
      do {
        var count = 0
        try reader.snapshot().forEachRow(in: "blobs") { row in
          #expect(rows[row.key] == row.object, "\(context)")
          count += 1
          return true
        }
        #expect(count == rows.count, "\(context)")
      } catch let error as TreeRingError where error.code == .beyondHorizon {
        #expect(reader.newestCommit == old, "\(context): \(error)")
      }
    }
  }

  @Test("The backup changes at any call of the reader") func changesUnderReader() throws {
    var count = 0
    while true {
      count += 1
      let moment = count
      let scene = try Scene()
      let calls = Mutex(0)
      let isNow = { @Sendable in
        calls.withLock { calls in
          calls += 1
          return calls == moment
        }
      }
      let files = HookedFileSystem(scene.disk) {
        guard isNow() else { return }
        do {
          try scene.store.backUp(to: "backup", on: scene.disk, mayLink: true)
        } catch { Issue.record("call \(moment): \(error)") }
      }
      do {
        let reader = try scene.open(on: files)
        try scene.check(reader, "call \(moment)")
        try reader.close()
      } catch { Issue.record("call \(moment): \(error)") }
      if calls.withLock({ $0 }) < moment { break }
    }
    #expect(count > 10)
  }

  @Test("The reader opens, or continues, at any call of the backup") func readsAmidBackup() throws {
    let scene = try Scene()
    let early = try scene.open(on: scene.disk)
    let calls = Mutex(0)
    let files = HookedFileSystem(scene.disk) {
      let call = calls.withLock { calls in
        calls += 1
        return calls
      }
      do {
        try scene.check(early, "opened before, call \(call)")
        let reader = try scene.open(on: scene.disk)
        try scene.check(reader, "call \(call)")
        try reader.close()
      } catch { Issue.record("call \(call): \(error)") }
    }
    try scene.store.backUp(to: "backup", on: files, mayLink: true)
    let count = calls.withLock { $0 }
    #expect(count > 20)
    let late = try scene.open(on: scene.disk)
    #expect(late.newestCommit == scene.new)
    try scene.check(late, "afterwards")
  }
}
