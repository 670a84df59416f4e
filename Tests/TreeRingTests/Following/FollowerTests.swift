// A store open for reading follows the writer through all its operations.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

struct FollowerTests {
  static func options(_ mode: StoreMode, segmentSize: UInt64 = 64 << 20) -> StoreOptions {
    var options = StoreOptions(
      mode: mode, segmentSize: segmentSize, indexes: [byGroup()], logger: quietLogger)
    options.pageCellCapacity = 8
    return options
  }

  static func open(
    _ disk: any FileSystem, _ mode: StoreMode, segmentSize: UInt64 = 64 << 20
  ) throws -> Store {
    try Store(
      path: "store", fileSystem: disk, options: options(mode, segmentSize: segmentSize))
  }

  /// Everything that readers see: rows, and the index in order.
  static func contents(_ snapshot: Snapshot) throws -> [String] {
    var lines = ["commit \(snapshot.commit)"]
    for (key, note) in try snapshot.rows(in: notes) { lines.append("\(key) \(note)") }
    let index = try snapshot.index("byGroup")
    for group in try index.groups() {
      lines.append("\(group): \(try index.keys(group).joined(separator: " "))")
    }
    return lines
  }

  /// Makes a commit of some puts and deletes.
  static func write(
    _ store: Store, _ random: inout SeededGenerator, operations: Int = 4, keys: Int = 300
  ) throws {
    var generator = random
    try store.write { tx in
      for _ in 0..<operations {
        let key = Key("k\(Int.random(in: 0..<keys, using: &generator))")
        if Int.random(in: 0..<4, using: &generator) == 0 {
          try tx.delete(key, in: notes.name)
        } else {
          let note = Note(
            group: "g\(Int.random(in: 0..<5, using: &generator))",
            number: Int.random(in: 0..<1000, using: &generator),
            text: String(repeating: "x", count: Int.random(in: 0..<300, using: &generator)))
          try tx.put(note, for: key, in: notes)
        }
      }
    }
    random = generator
  }

  @Test(
    "A follower shows the writer's commits one by one, across segments and restarts",
    arguments: seeds(1...4))
  func follow(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let disk = MemoryFileSystem()
    let segmentSize = [3_000, 64 << 20].randomElement(using: &random) ?? 3_000
    var writer = try Self.open(disk, .create, segmentSize: UInt64(segmentSize))
    for _ in 0..<20 { try Self.write(writer, &random) }
    var reader = try Self.open(disk, .readOnly)
    var feed = reader.commits(from: 1).makeAsyncIterator()
    for step in 0..<120 {
      let context = "seed \(seed) step \(step)"
      switch Int.random(in: 0..<20, using: &random) {
      case 0:
        try await writer.close()
        writer = try Self.open(disk, .readWrite, segmentSize: UInt64(segmentSize))
      case 1:
        try await reader.close()
        reader = try Self.open(disk, .readOnly)
        let next = feed.next
        feed = reader.commits(from: next).makeAsyncIterator()
      case 2:
        try await writer.write { $0.tags = ["t\(step)"] }
      default: try Self.write(writer, &random, operations: Int.random(in: 1..<9, using: &random))
      }
      let newest = writer.newestCommit
      try await reader.reached(newest)
      #expect(reader.newestCommit == newest, "\(context)")
      while feed.next <= newest {
        let expected = feed.next
        let info = try await feed.next()
        let written = try writer.commit(expected)
        #expect(info?.number == expected && info?.timestamp == written.timestamp, "\(context)")
        #expect(info?.tags == written.tags, "\(context)")
      }
      let (seen, wanted) = (try reader.snapshot(), try writer.snapshot())
      #expect(try Self.contents(seen) == Self.contents(wanted), "\(context)")
      let past = CommitNumber.random(in: 1...newest, using: &random)
      if step % 10 == 0 {
        #expect(
          try await Self.contents(reader.snapshot(at: .commit(past)))
            == Self.contents(writer.snapshot(at: .commit(past))), "\(context) past \(past)")
      }
    }
    #expect(try reader.checkInvariants() == [])
  }

  @Test("A follower moves over to newer checkpoints, and its old snapshots do not change")
  func moveOver() async throws {
    var random = SeededGenerator(seed: 5)
    let disk = MemoryFileSystem()
    var writer = try Self.open(disk, .create)
    for _ in 0..<30 { try Self.write(writer, &random, operations: 50, keys: 3_000) }
    try await writer.close()
    writer = try Self.open(disk, .readWrite)
    let reader = try Self.open(disk, .readOnly)
    let first = try #require(reader.follower?.rootCommit)
    var root = first
    #expect(first == writer.newestCommit)
    let kept = try reader.snapshot()
    let before = try Self.contents(kept)
    for round in 0..<2 {
      for _ in 0..<30 { try Self.write(writer, &random, operations: 200, keys: 3_000) }
      try await writer.close()
      writer = try Self.open(disk, .readWrite)
      try await reader.reached(writer.newestCommit)
      // The follower looks for a newer checkpoint at intervals.
      var naps = 0
      while reader.follower?.rootCommit == root, naps < 10_000 {
        try await Task.sleep(for: .milliseconds(1))
        naps += 1
      }
      #expect(reader.follower?.rootCommit ?? 0 > root, "round \(round)")
      root = reader.follower?.rootCommit ?? 0
      let (seen, wanted) = (try reader.snapshot(), try writer.snapshot())
      #expect(try Self.contents(seen) == Self.contents(wanted))
      #expect(try Self.contents(kept) == before)
      #expect(try reader.checkInvariants() == [])
      let affected = try reader.affectedRows(ofIndex: "byGroup", from: first, to: seen)
      let expected = try writer.affectedRows(ofIndex: "byGroup", from: first, to: wanted)
      // Merged records may name rows that have returned to their old state.
      let isWhole = Set(expected.rows.keys).isSubset(of: affected.rows.keys)
      #expect(isWhole, "round \(round)")
    }
    let names = try disk.list("store/readers")
    #expect(names.count >= 2 && names.contains { $0.hasPrefix("\(first)-") })
    try await reader.close()
    #expect(try disk.list("store/readers") == [])
  }

  @Test("The writer keeps a root that is read, and removes the files of dead readers")
  func readers() async throws {
    var random = SeededGenerator(seed: 9)
    let disk = MemoryFileSystem()
    var writer = try Self.open(disk, .create)
    for _ in 0..<20 { try Self.write(writer, &random, operations: 20) }
    try await writer.close()
    let reader = try Self.open(disk, .readOnly)
    let root = try #require(reader.follower?.rootCommit)
    let file = try disk.open("store/readers/7-dead", .createNew)
    file.close()
    let kept = try reader.snapshot()
    let before = try Self.contents(kept)
    for _ in 0..<12 {
      writer = try Self.open(disk, .readWrite)
      for _ in 0..<40 { try Self.write(writer, &random, operations: 60, keys: 100) }
      try await writer.close()
    }
    #expect(try disk.list("store/readers").filter { $0.hasSuffix("dead") } == [])
    #expect(try disk.list("store/readers").contains { $0.hasPrefix("\(root)-") })
    #expect(try Self.contents(kept) == before)
    withExtendedLifetime(reader) {}
  }

  @Test("Without a page file the log alone is followed")
  func logAlone() async throws {
    var random = SeededGenerator(seed: 3)
    let disk = MemoryFileSystem()
    let writer = try Self.open(disk, .create)
    for _ in 0..<20 { try Self.write(writer, &random) }
    if try disk.exists("store/pages") { try disk.unlink("store/pages") }
    let reader = try Self.open(disk, .readOnly)
    #expect(reader.follower?.rootCommit == nil)
    for _ in 0..<20 { try Self.write(writer, &random) }
    try await reader.reached(writer.newestCommit)
    #expect(try Self.contents(reader.snapshot()) == Self.contents(writer.snapshot()))
  }

  @Test("Commits that are not durable yet are not shown")
  func durableOnly() async throws {
    let disk = MemoryFileSystem()
    let writer = try Self.open(disk, .create)
    try writer.put(Note(number: 1), for: "a")
    let durable = writer.newestCommit
    let reader = try Self.open(disk, .readOnly)
    for number in 0..<5 {
      try await writer.write(durability: .unsynced) { tx in
        try tx.put(Note(number: number), for: "b", in: notes)
      }
    }
    #expect(reader.newestCommit == durable)
    let another = try Self.open(disk, .readOnly)
    #expect(another.newestCommit == durable)
    try await writer.sync()
    try await reader.reached(durable + 5)
    #expect(try reader.snapshot().get("b", in: notes)?.number == 4)
  }

  @Test("A reader that cannot detect a writer throws, and shows no commit that is not durable")
  func unknownWriter() throws {
    let disk = SimulatedFileSystem(seed: 6)
    let writer = try Self.open(disk, .create)
    try writer.put(Note(number: 1), for: "a")
    let durable = writer.newestCommit
    try writer.write(durability: .unsynced) { tx in
      try tx.put(Note(number: 2), for: "a", in: notes)
    }
    var options = Self.options(.readOnly)
    options.readsPages = false
    var failures = 0
    for read in 1... {
      let faults = disk.faultCount
      disk.failRead(after: read)
      do {
        let reader = try Store(path: "store", fileSystem: disk, options: options)
        #expect(reader.newestCommit == durable, "read \(read)")
        try reader.close()
      } catch let error as TreeRingError {
        #expect(error.code == .io, "read \(read): \(error)")
        failures += 1
      }
      disk.failRead(after: nil)
      if disk.faultCount == faults { break }
    }
    #expect(failures > 3)
  }

  @Test("Followers of a store that was set back to an earlier state throw storeRewound")
  func rewound() async throws {
    let disk = MemoryFileSystem()
    var writer = try Self.open(disk, .create)
    try writer.put(Note(number: 1), for: "a")
    try await writer.close()
    var saved: [String: [UInt8]] = [:]
    for name in try disk.list("store/log") {
      saved[name] = disk.contents(of: "store/log/\(name)")
    }
    writer = try Self.open(disk, .readWrite)
    try writer.put(Note(number: 2), for: "a")
    let reader = try Self.open(disk, .readOnly)
    #expect(reader.newestCommit == writer.newestCommit)
    try await writer.close()
    for (name, bytes) in saved { disk.setContents(of: "store/log/\(name)", to: bytes) }
    try disk.unlink("store/pages")
    writer = try Self.open(disk, .readWrite)
    try writer.put(Note(number: 3), for: "c")
    let failure = await error { try await reader.reached(1_000) }
    #expect(failure?.code == .storeRewound)
    #expect(code { try reader.snapshot() } == .storeRewound)
  }

  @Test("A long replay ends when the store is closed")
  func replayEnds() throws {
    let store = try Store.inMemory()
    for number in 0..<50 as Range<UInt8> { try store.put([number], for: Key("\(number)")) }
    let replay = PrivateReplay(
      pages: store.pages, pins: store.engine.pins, reclaimer: store.reclaimer, log: store.log,
      code: [], recordByteLimit: 1 << 20)
    let base = try replay.version(of: Roots())
    var asked = 0
    let failure = code {
      _ = try replay.version(on: base, through: 50) {
        asked += 1
        return asked > 3
      }
    }
    #expect(failure == .closed && asked < 10)
    #expect(try replay.version(on: base, through: 50).roots.commit == 50)
  }
}
