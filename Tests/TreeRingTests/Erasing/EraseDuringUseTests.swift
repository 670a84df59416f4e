// Erasing beside readers of the past and writers: no snapshot brings the row back, and erasing does
// not remove new writes.

import Dispatch
import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Erasing with concurrent readers and writers", .leavesSoundStores) struct EraseDuringUseTests
{
  private static let secret = Key("the secret key of nobody")
  private static let others = Bucket<[UInt8]>.bytes("others")

  private func open(_ hook: CallHook) throws -> Store {
    let files = HookedFileSystem(MemoryFileSystem()) { hook.call($0) }
    return try Store(
      path: "store", fileSystem: files, options: StoreOptions(logger: quietLogger))
  }

  /// Makes enough commits that memory no longer keeps the states before them.
  private func writeMany(_ store: Store) throws {
    for number in 0..<100 as Range<UInt8> { try store.put([number], for: "other") }
  }

  // MARK: - Readers

  @Test("Later commits lack the row too, after the log has lost its last delete")
  func afterTheDelete() throws {
    let hook = CallHook()
    let store = try open(hook)
    try store.put([1], for: Self.secret)
    let deleted = try store.put([2], for: "other") + 1
    // The root of this checkpoint holds the row.
    try store.checkpoint()
    let taken = Mutex<Snapshot?>(nil)
    var isFirst = true
    try store.erase(Self.secret, in: "blobs") { _ in
      guard isFirst else { return }
      isFirst = false
      do { try writeMany(store) } catch { Issue.record(error) }
      // The trees are about to be rebuilt: the log is rewritten, and readers still use the old
      // trees.
      hook.set { path in
        guard path == "store/pages" else { return false }
        taken.withLock { $0 = try? store.snapshot(at: .commit(deleted + 1)) }
        return true
      }
    }
    let snapshot = try #require(taken.withLock { $0 })
    #expect(try snapshot.row("other", in: "blobs")?.object == [0])
    #expect(try !snapshot.contains(Self.secret, in: "blobs"))
    taken.withLock { $0 = nil }
    try store.close()
  }

  @Test("They lack it even if a replay was under way when the delete was removed")
  func replayedMeanwhile() throws {
    let hook = CallHook()
    let store = try open(hook)
    // Three segments: the row, another one, the delete.
    try store.put([1], for: Self.secret)
    try store.log.seal()
    let deleted = try store.put([2], for: "other") + 1
    let found = Mutex<Result<Bool, any Error>?>(nil)
    let (hasRead, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let hasEnded = DispatchSemaphore(value: 0)
    var isFirst = true
    try store.erase(Self.secret, in: "blobs") { _ in
      guard isFirst else { return }
      isFirst = false
      do { try writeMany(store) } catch { Issue.record(error) }
      // The reader stops after the first segment, which still holds the row.
      let segments = store.log.segments.map(\.path)
      hook.set { path in
        guard Thread.current.name == "reader", path == segments[1] else { return false }
        hook.set { path in
          guard path == "store/pages" else { return false }
          goesOn.signal()
          hasEnded.wait()
          return true
        }
        hasRead.signal()
        goesOn.wait()
        return true
      }
      _ = beginThreads { _ in
        Thread.current.name = "reader"
        let result = Result {
          try store.snapshot(at: .commit(deleted + 1)).contains(Self.secret, in: "blobs")
        }
        found.withLock { $0 = result }
        hasRead.signal()
        hasEnded.signal()
      }
      hasRead.wait()
    }
    let isThere = try #require(found.withLock { $0 }).get()
    #expect(!isThere)
    try store.close()
  }

  // MARK: - Writers

  @Test("A row written again during the erasing is a conflict, even if it was deleted again")
  func writtenAgain() throws {
    let store = try open(CallHook())
    for isDeleted in [false, true] {
      try store.put([1], for: Self.secret)
      var again: CommitNumber?
      let conflict = error {
        try store.erase(Self.secret, in: "blobs") { _ in
          guard again == nil else { return }
          again = try? store.put([2], for: Self.secret)
          if isDeleted { _ = try? store.write { try $0.delete(Self.secret, in: "blobs") } }
        }
      }
      #expect(conflict?.code == .conflict, "\(conflict as Any)")
      #expect(conflict?.commit == again)
      let row = try store.snapshot().row(Self.secret, in: "blobs")
      #expect(row?.object == (isDeleted ? nil : [2]))
      // The earlier version is gone nevertheless.
      #expect(try store.history(of: Self.secret, in: "blobs").first { $0.object == [1] } == nil)
      try store.erase(Self.secret, in: "blobs")
      #expect(try store.history(of: Self.secret, in: "blobs").isEmpty)
    }
    try store.close()
  }

  @Test("A commit that mentions the key during the erasing is counted, however late it is")
  func mentionedMeanwhile() throws {
    let hook = CallHook()
    let store = try open(hook)
    try store.put([1], for: Self.secret)
    @Sendable func mention() {
      do {
        try store.write { try $0.put([3], for: Self.secret, in: Self.others) }
        try store.checkpoint()
      } catch { Issue.record(error) }
    }
    var isFirst = true
    let early = try store.erase(Self.secret, in: "blobs") { _ in
      if isFirst { mention() }
      isFirst = false
    }
    #expect(early.mentioningCommitCount == 1 && !early.searchedPageFile)
    try store.erase(Self.secret, in: Self.others.name)
    // The next mention comes after the search of the log and before that of the page file.
    try store.put([1], for: Self.secret)
    let old = store.engine
    hook.set { path in
      guard path == "store/pages", store.engine !== old else { return false }
      mention()
      return true
    }
    let late = try store.erase(Self.secret, in: "blobs")
    #expect(late.mentioningCommitCount == 1 && !late.searchedPageFile)
    #expect(try store.snapshot().row(Self.secret, in: "others")?.object == [3])
    try store.close()
  }
}
