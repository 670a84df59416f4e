// Opening: modes, locks, durability, closing.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Opening and closing a store", .leavesSoundStores)
struct OpeningTests {
  @Test("Mode create makes a store if there is none, and otherwise opens it")
  func create() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/s"
    let first = try Store(at: path)
    try first.put([1], for: "a")
    try first.close()
    let second = try Store(at: path)
    #expect(try second.snapshot().get("a", in: blobs) == [1])
  }

  @Test("Modes readWrite and readOnly throw notFound if there is no store, and create nothing")
  func notFound() throws {
    let folder = try TemporaryFolder()
    for mode in [StoreMode.readWrite, .readOnly] {
      let path = folder.path + "/s"
      #expect(code { try Store(at: path, options: StoreOptions(mode: mode)) } == .notFound)
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }

  @Test("A second writer is refused with locked, until the first has closed")
  func locked() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/s"
    let first = try Store(at: path)
    #expect(code { try Store(at: path) } == .locked)
    try first.close()
    let second = try Store(at: path)
    try second.put([1], for: "a")
  }

  @Test("The lock is released with the last of store and snapshots")
  func lockGoes() throws {
    let disk = Disk()
    var store: Store? = try disk.open()
    var snapshot = try store?.snapshot()
    store = nil
    #expect(code { try disk.open() } == .locked)
    #expect(snapshot?.commit == 0)
    snapshot = nil
    try disk.open().close()
  }

  @Test("An opening that fails releases the lock")
  func failedOpen() throws {
    let disk = Disk()
    try disk.open().close()
    disk.files.failAll(after: 1, with: .inputOutput)
    #expect(code { try disk.open(indexes: [byGroup()]) } != nil)
    disk.files.failAll(after: nil, with: .inputOutput)
    try disk.open().close()
  }

  @Test("Mode readOnly changes no byte: with a writer, after a clean close, and after a crash")
  func readOnly() throws {
    let disk = Disk(seed: 7)
    let store = try disk.open(segmentSize: 4096, indexes: [byGroup()])
    for number in 0..<40 { try store.put(Note(group: "g", number: number), for: Key("\(number)")) }
    for crash in [false, true] {
      if !crash { try store.close() }
      let found = Disk(crash ? disk.files.afterCrash(seed: 3) : disk.files)
      let before = found.contents
      let calls = found.files.callCount
      let reader = try found.open(mode: .readOnly, indexes: [byGroup()])
      #expect(try reader.snapshot().count(in: "notes") == 40)
      #expect(try reader.snapshot().index("byGroup").count(in: "g") == 40)
      #expect(try reader.snapshot(at: .commit(10)).count(in: "notes") == 9)
      #expect(try reader.history(of: "3", in: "notes").count == 1)
      #expect(code { try reader.put([1], for: "a") } == .notAllowed)
      #expect(code { try reader.removeIndex("byGroup") } == .notAllowed)
      #expect(code { try reader.revert(to: .commit(3)) } == .notAllowed)
      try reader.close()
      #expect(found.contents == before)
      // The calls that create and remove its file in `readers/`.
      #expect(found.files.callCount <= calls + 3)
    }
  }

  @Test("Mode readOnly needs no lock, and shows commits made after it was opened")
  func readOnlyBesideWriter() async throws {
    let disk = Disk()
    let writer = try disk.open()
    try writer.put([1], for: "a")
    let reader = try disk.open(mode: .readOnly)
    let before = try reader.snapshot()
    #expect(try before.get("a", in: blobs) == [1])
    try await reader.reached(try writer.put([2], for: "a"))
    #expect(try reader.snapshot().get("a", in: blobs) == [2])
    #expect(try before.get("a", in: blobs) == [1])
  }

  @Test("A commit of full durability has survived every crash once write returns")
  func full() throws {
    let disk = Disk(seed: 11)
    let store = try disk.open()
    for number in UInt8(0)..<20 {
      try store.put([number], for: "a")
      let found = Disk(disk.files.afterCrash(seed: UInt64(number), odds: 0))
      #expect(try found.open().snapshot().get("a", in: blobs) == [number])
    }
  }

  @Test(
    "A commit of less durability survives after a sync, and after a close",
    arguments: [Durability.unsynced, .relaxed(within: .seconds(3600)), .barrier])
  func lesser(durability: Durability) throws {
    let disk = Disk(seed: 12)
    let store = try disk.open(durability: durability)
    try store.put([1], for: "a")
    try store.sync()
    let afterSync = Disk(disk.files.afterCrash(seed: 1, odds: 0))
    #expect(try afterSync.open().snapshot().get("a", in: blobs) == [1])
    try store.put([2], for: "a")
    try store.close()
    let afterClose = Disk(disk.files.afterCrash(seed: 2, odds: 0))
    #expect(try afterClose.open().snapshot().get("a", in: blobs) == [2])
  }

  @Test("A single write may ask for more durability than the store's")
  func perWrite() throws {
    let disk = Disk(seed: 13)
    let store = try disk.open(durability: .unsynced)
    try store.put([1], for: "a")
    try store.write(durability: .full) { try $0.put([2], for: "b", in: blobs) }
    let found = Disk(disk.files.afterCrash(seed: 1, odds: 0))
    #expect(try found.open().snapshot().get("a", in: blobs) == [1])
  }

  @Test("After close every call throws closed, even on snapshots; closing twice does nothing")
  func closed() async throws {
    let store = try Store.inMemory(options: StoreOptions(indexes: [byGroup()]))
    try store.put([UInt8](repeating: 7, count: 5000), for: "large")
    let snapshot = try store.snapshot()
    try await store.close()
    try await store.close()
    #expect(code { try store.snapshot() } == .closed)
    #expect(code { try store.snapshot(at: .commit(1)) } == .closed)
    #expect(code { try store.put([1], for: "a") } == .closed)
    #expect(await error { try await store.write { try $0.touch("a", in: "b") } }?.code == .closed)
    #expect(code { try store.sync() } == .closed)
    #expect(code { try store.statistics() } == .closed)
    #expect(code { try store.history(of: "large", in: "blobs") } == .closed)
    #expect(code { try store.commit(1) } == .closed)
    #expect(code { try store.commit(at: .tag("t")) } == .closed)
    #expect(await error { try await store.reached(99) }?.code == .closed)
    #expect(code { try snapshot.get("large", in: blobs) } == .closed)
    #expect(code { try snapshot.count(in: "blobs") } == .closed)
    #expect(code { try snapshot.index("byGroup") } == .closed)
    #expect(code { try snapshot.tags() } == .closed)
  }

  @Test("Closing inside a write is refused and closes nothing")
  func closeInsideWrite() throws {
    let disk = Disk()
    let store = try disk.open()
    try store.write { tx in
      try tx.put([1], for: "a", in: blobs)
      #expect(code { try store.close() } == .notAllowed)
      #expect(code { try disk.open() } == .locked)
    }
    #expect(try store.snapshot().get("a", in: blobs) == [1])
    try store.close()
    #expect(try disk.open().snapshot().get("a", in: blobs) == [1])
  }
}
