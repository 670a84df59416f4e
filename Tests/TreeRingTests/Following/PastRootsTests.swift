// A follower reads the past from the roots that the writer's page file keeps.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("The roots of a follower's past") struct PastRootsTests {
  /// A writer that has made some checkpoints, and what readers saw at each commit.
  private struct History {
    var writer: Store
    var contents: [[String]] = [[]]
    var roots: [CommitNumber] = []
    private var random: SeededGenerator

    init(_ disk: any FileSystem, seed: UInt64, rounds: Int = 5) throws {
      writer = try FollowerTests.open(disk, .create)
      // The commit that defines the index.
      random = SeededGenerator(seed: seed)
      for commit in 1...writer.newestCommit {
        contents.append(try FollowerTests.contents(writer.snapshot(at: .commit(commit))))
      }
      for _ in 0..<rounds { try addRound() }
    }

    /// Makes thirty commits and a checkpoint.
    mutating func addRound() throws {
      for _ in 0..<30 {
        try FollowerTests.write(writer, &random, operations: 20, keys: 200)
        contents.append(try FollowerTests.contents(writer.snapshot()))
      }
      try writer.checkpoint()
      roots.append(writer.newestCommit)
    }
  }

  private func names(_ disk: any FileSystem) throws -> [String] {
    try disk.list("store/readers")
  }

  /// Polls until only the newest root is registered.
  private func releasePast(_ reader: Store, _ disk: any FileSystem) throws {
    reader.engine.timeTravel.evict(unusedFor: .zero)
    let follower = try #require(reader.follower)
    for _ in 0..<20_000 {
      follower.poll()
      reader.reclaimer.settle()
      if try names(disk).count == 1 { return }
      // The thread that lets go of a root may wait for a processor.
      Platform.sleep(.microseconds(100))
    }
    Issue.record("registered: \(try names(disk))")
  }

  @Test("A follower replays from the nearest root of the page file", arguments: seeds(1...8))
  func nearest(seed: UInt64) throws {
    let disk = MemoryFileSystem()
    var history = try History(disk, seed: seed)
    let reader = try FollowerTests.open(disk, .readOnly)
    var random = SeededGenerator(seed: seed)
    for look in 0..<40 {
      if look == 20 { try history.addRound() }
      let commit = CommitNumber.random(in: 1...history.roots[4], using: &random)
      let snapshot = try reader.snapshot(at: .commit(commit))
      let found = try FollowerTests.contents(snapshot)
      #expect(found == history.contents[Int(commit)], "seed \(seed) look \(look)")
      let version = try snapshot.version
      let base = version.origin ?? (version.depth == 0 ? version : nil)
      let nearest = history.roots.last { $0 <= commit }
      #expect(base?.roots.commit == nearest, "seed \(seed) look \(look) commit \(commit)")
    }
    try releasePast(reader, disk)
    #expect(try reader.checkInvariants() == [])
    try reader.close()
    #expect(try names(disk) == [])
    try history.writer.close()
  }

  @Test("A root of the past holds back the horizon while a state on it is in use")
  func held() throws {
    let disk = MemoryFileSystem()
    let history = try History(disk, seed: 9)
    let writer = history.writer
    let reader = try FollowerTests.open(disk, .readOnly)
    let root = history.roots[1]
    var snapshot: Snapshot? = try reader.snapshot(at: .commit(root + 7))
    #expect(try names(disk).contains { $0.hasPrefix("\(root)-") })
    #expect(try writer.compact(to: .dropHistory).horizon == root)
    let found = try snapshot.map(FollowerTests.contents)
    #expect(found == history.contents[Int(root) + 7])
    // A state that nobody uses is evicted after some time, and its root released.
    reader.engine.timeTravel.evict(unusedFor: .seconds(60))
    #expect(reader.engine.timeTravel.versions.count == 1)
    snapshot = nil
    try releasePast(reader, disk)
    #expect(reader.engine.timeTravel.versions.isEmpty)
    #expect(try writer.compact(to: .dropHistory).horizon == writer.newestCommit)
    try reader.close()
    try writer.close()
  }

  @Test("A root that is registered amid the checkpoint that drops it keeps its pages")
  func droppedMeanwhile() throws {
    let hook = CallHook()
    let disk = MemoryFileSystem()
    var history = try History(HookedFileSystem(disk) { hook.call($0) }, seed: 4)
    let checkpointer = try #require(history.writer.engine.checkpointer)
    let reader = try FollowerTests.open(disk, .readOnly)
    let root = history.roots[1]
    let taken = Box<Snapshot>()
    checkpointer.forgetRoots(before: history.roots[4], keeping: [])
    // The writer has listed the readers when it asks for the lock of the first.
    hook.set { path in
      guard path.hasPrefix("store/readers/") else { return false }
      taken.value = try? reader.snapshot(at: .commit(root + 3))
      return true
    }
    try checkpointer.run(isForced: true)
    let snapshot = try #require(taken.value)
    #expect(try snapshot.version.origin?.roots.commit == root)
    #expect(try history.writer.statistics().retainedRootCount == 1)
    let expected = history.contents[Int(root) + 3]
    for round in 0..<4 {
      try history.addRound()
      reader.pages.adopt(bound: reader.pages.pageNumberBound, free: BitSet())
      #expect(try FollowerTests.contents(snapshot) == expected, "round \(round)")
    }
    #expect(checkpointer.pins.pinnedCommits.contains { $0.commit == root })
    taken.value = nil
    withExtendedLifetime(snapshot) {}
    try reader.close()
    try history.addRound()
    #expect(!checkpointer.pins.pinnedCommits.contains { $0.commit == root })
    #expect(try history.writer.checkInvariants() == [])
    try history.writer.close()
  }
}

/// A value that a closure sets. One thread at a time uses it.
private final class Box<Value>: @unchecked Sendable {
  var value: Value?
}
