// Followers beside a writer that compacts and erases: their reads stay right, or are refused with a
// typed error.

import Dispatch
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Following through compaction", .leavesSoundStores) struct FollowerCompactionTests {
  /// A writer with small segments, some commits, and a checkpoint.
  private func writer(
    _ disk: any FileSystem, commits: Int, pinLimit: PinLimit? = nil
  ) throws -> Store {
    var options = FollowerTests.options(.create, segmentSize: 2_000)
    options.pinLimit = pinLimit
    let store = try Store(path: "store", fileSystem: disk, options: options)
    for number in 0..<commits { try commit(number, to: store) }
    try store.checkpoint()
    return store
  }

  /// Puts a large row and a small one of a few, and deletes another.
  private func commit(_ number: Int, to store: Store) throws {
    try store.write { tx in
      let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 1_500)
      try tx.put(bytes, for: Key("large \(number % 5)"), in: blobs)
      try tx.put(
        Note(group: "g\(number % 3)", number: number), for: Key("k\(number % 7)"), in: notes)
      try tx.delete(Key("k\((number + 3) % 7)"), in: notes.name)
    }
  }

  /// All contents of a snapshot, including logged values.
  private func contents(_ snapshot: Snapshot) throws -> [String] {
    var lines = try FollowerTests.contents(snapshot)
    try snapshot.forEachRow(in: "blobs") { row in
      lines.append("\(row.key) \(row.object.first ?? 0) \(row.written)")
      return true
    }
    return lines
  }

  @Test("A root that a follower reads holds the horizon back, and is listed with process and age")
  func pins() throws {
    let disk = MemoryFileSystem()
    let writer = try writer(disk, commits: 30)
    let reader = try FollowerTests.open(disk, .readOnly)
    let root = try #require(reader.follower?.rootCommit)
    let kept = try reader.snapshot()
    let before = try contents(kept)
    for number in 30..<60 { try commit(number, to: writer) }
    let estimate = try writer.compact(to: .dropHistory, isDryRun: true)
    let report = try writer.compact(to: .dropHistory)
    #expect(report.horizon == root && estimate.horizon == root)
    #expect(report.held.map(\.kind) == [.follower] && report.held.map(\.commit) == [root])
    let text = try #require(report.held.first?.description)
    #expect(text.hasPrefix("process ") && text.hasSuffix(" s"), "\(text)")
    #expect(try contents(kept) == before)
    // A store that is itself open for reading does not count its own pin.
    #expect(try reader.holdings(against: .dropHistory).filter { $0.kind == .follower } == [])
    try reader.close()
    #expect(try writer.compact(to: .dropHistory).horizon == writer.newestCommit)
  }

  @Test("A follower moves over to the checkpoint after a compaction, and releases older history")
  func movesOver() async throws {
    let disk = MemoryFileSystem()
    let writer = try writer(disk, commits: 30)
    let reader = try FollowerTests.open(disk, .readOnly)
    var kept: Snapshot? = try reader.snapshot()
    let first = try #require(reader.follower?.rootCommit)
    for number in 30..<60 { try commit(number, to: writer) }
    try await reader.reached(writer.newestCommit)
    try await writer.checkpoint()
    try await until("the follower moves over") { (reader.follower?.rootCommit ?? 0) > first }
    #expect(try contents(reader.snapshot()) == contents(writer.snapshot()))
    #expect(try await writer.compact(to: .dropHistory).horizon == first)
    withExtendedLifetime(kept) {}
    kept = nil
    try await until("the old root is let go of") {
      try disk.list("store/readers").allSatisfy { !$0.hasPrefix("\(first)-") }
    }
    #expect(try await writer.compact(to: .dropHistory).horizon == writer.newestCommit)
    try commit(60, to: writer)
    try await reader.reached(writer.newestCommit)
    #expect(try contents(reader.snapshot()) == contents(writer.snapshot()))
    #expect(reader.horizon == writer.horizon)
    #expect(try reader.checkInvariants() == [])
  }

  private func until(_ what: String, _ condition: () throws -> Bool) async throws {
    var naps = 0
    while try !condition() {
      try await Task.sleep(for: .milliseconds(1))
      naps += 1
      try #require(naps < 20_000, "\(what)")
    }
  }

  @Test("A follower over the pin limit holds no history; its reads of it throw beyondHorizon")
  func pinLimit() async throws {
    let disk = MemoryFileSystem()
    let writer = try writer(disk, commits: 30, pinLimit: PinLimit(commits: 10))
    let reader = try FollowerTests.open(disk, .readOnly)
    let kept = try reader.snapshot()
    let rows = try FollowerTests.contents(kept)
    let whole = try contents(kept)
    for number in 30..<60 { try commit(number, to: writer) }
    try await reader.reached(writer.newestCommit)
    let horizon = try await writer.compact(to: .dropHistory).horizon
    #expect(horizon == writer.newestCommit)
    // Pinned pages keep the rows; values in the log are dropped. A file that is still open may hold
    // them until the follower has read of the compaction.
    #expect(try FollowerTests.contents(kept) == rows)
    func refusal() -> TreeRingError? {
      error {
        let found = try contents(kept)
        #expect(found == whole)
      }
    }
    if let first = refusal() {
      #expect(first.code == .beyondHorizon && first.current == horizon, "\(first)")
    }
    try commit(60, to: writer)
    try await reader.reached(writer.newestCommit)
    let second = refusal()
    #expect(second?.code == .beyondHorizon && second?.current == horizon, "\(second as Any)")
    #expect(try contents(reader.snapshot()) == contents(writer.snapshot()))
    #expect(code { try reader.snapshot(at: .commit(40)) } == .beyondHorizon)
  }

  @Test("A follower that learns of a compaction only by reading throws beyondHorizon")
  func hearsByReading() async throws {
    let disk = MemoryFileSystem()
    let writer = try writer(disk, commits: 30)
    try await writer.write { try $0.tag("kept", commit: 13) }
    try await writer.checkpoint()
    let kept = try await contents(writer.snapshot(at: .commit(13)))
    // Each reader reads once, because its first read shows it the log's new state. It has had the
    // last segments open since the beginning, and their contents are whole.
    func readers() throws -> [CommitNumber: Store] {
      try Dictionary(
        uniqueKeysWithValues: stride(from: 1, to: 26, by: 4).map {
          ($0, try FollowerTests.open(disk, .readOnly))
        })
    }
    let (states, operations, commits, feeds) = try (readers(), readers(), readers(), readers())
    let horizon = writer.newestCommit
    #expect(try await writer.compact(to: .dropHistory).horizon == horizon)
    for (number, reader) in states {
      if number == 13 {
        #expect(try await contents(reader.snapshot(at: .commit(number))) == kept)
      } else {
        let refusal = error { try reader.snapshot(at: .commit(number)) }
        #expect(refusal?.code == .beyondHorizon && refusal?.current == horizon, "\(number)")
        #expect(reader.pins.isEmpty)
      }
      #expect(try contents(reader.snapshot()) == contents(writer.snapshot()))
    }
    for (number, reader) in operations {
      #expect(code { try reader.operations(of: number) } == .beyondHorizon, "\(number)")
    }
    for (number, reader) in commits where number != 13 {
      #expect(code { try reader.commit(number) } == .beyondHorizon, "\(number)")
    }
    for (number, reader) in feeds {
      let refusal = await error { () async throws in
        var feed = reader.commits(from: number).makeAsyncIterator()
        _ = try await feed.next()
      }
      #expect(refusal?.code == .beyondHorizon, "\(number)")
    }
  }

  @Test("Erasing is refused while another process reads older commits")
  func erasing() throws {
    let disk = MemoryFileSystem()
    let writer = try writer(disk, commits: 30)
    let reader = try FollowerTests.open(disk, .readOnly)
    let refusal = error { try writer.erase("large 2", in: "blobs") }
    #expect(refusal?.code == .notAllowed)
    #expect(refusal?.message.contains("process ") ?? false)
    #expect(try writer.snapshot().contains("large 2", in: "blobs"))
    try reader.close()
    try writer.erase("large 2", in: "blobs")
    #expect(try !writer.snapshot().contains("large 2", in: "blobs"))
  }

  @Test("A follower without the closure of an index does not maintain that index")
  func unknownClosure() async throws {
    let disk = MemoryFileSystem()
    let writer = try writer(disk, commits: 10)
    let options = StoreOptions(mode: .readOnly, logger: quietLogger)
    let reader = try Store(path: "store", fileSystem: disk, options: options)
    #expect(reader.follower?.rootCommit != nil)
    for number in 10..<14 { try commit(number, to: writer) }
    try await reader.reached(writer.newestCommit)
    #expect(
      try reader.snapshot().rows(in: notes).map(\.key)
        == writer.snapshot().rows(in: notes).map(\.key))
    #expect(code { try reader.snapshot().index("byGroup") } == .indexDefinedInCode)
  }

  @Test("A follower of the log alone is listed; it holds back compaction and erasing")
  func logAlone() async throws {
    let disk = MemoryFileSystem()
    let writer = try writer(disk, commits: 30)
    try disk.unlink("store/pages")
    let reader = try FollowerTests.open(disk, .readOnly)
    let first = writer.newestCommit
    #expect(reader.follower?.rootCommit == nil)
    for number in 30..<40 { try commit(number, to: writer) }
    try await reader.reached(writer.newestCommit)
    let refusal = error { try writer.erase("large 2", in: "blobs") }
    #expect(refusal?.code == .notAllowed)
    #expect(refusal?.message.contains("commit \(first): process") == true, "\(refusal as Any)")
    let report = try await writer.compact(to: .dropHistory)
    #expect(report.horizon == first && report.held.map(\.kind) == [.follower])
    #expect(try contents(reader.snapshot()) == contents(writer.snapshot()))
    // A store that is itself open for reading does not count its own pin.
    #expect(try reader.holdings(against: .dropHistory).filter { $0.kind == .follower } == [])
    try await reader.close()
    #expect(try disk.list("store/readers") == [])
    try await writer.erase("large 2", in: "blobs")
    #expect(try await writer.compact(to: .dropHistory).horizon == writer.newestCommit)
  }

  @Test("An unlisted follower does not keep a row whose delete was removed from the log")
  func lagsBehindErasing() async throws {
    let disk = MemoryFileSystem()
    let writer = try writer(disk, commits: 31)
    // The gate holds the follower at its next call, so that it reads the log only after the delete
    // is gone.
    let gate = DispatchSemaphore(value: 1)
    let files = HookedFileSystem(disk) {
      gate.wait()
      gate.signal()
    }
    var options = FollowerTests.options(.readOnly)
    options.readsPages = false
    let reader = try Store(path: "store", fileSystem: files, options: options)
    let before = try reader.snapshot().commit
    #expect(try reader.snapshot().contains("k2", in: notes.name))
    try await onThread {
      gate.wait()
      defer { gate.signal() }
      try writer.erase("k2", in: notes.name)
      try commit(0, to: writer)
    }
    try await reader.reached(writer.newestCommit)
    #expect(try contents(reader.snapshot()) == contents(writer.snapshot()))
    #expect(try await reader.history(of: "k2", in: notes.name).isEmpty)
    #expect(try await !reader.snapshot(at: .commit(before)).contains("k2", in: notes.name))
    #expect(try reader.checkInvariants() == [])
    try await reader.close()
  }

  @Test("A follower whose visible commit was rewritten by an erasing continues")
  func standsOnErased() async throws {
    let disk = MemoryFileSystem()
    let writer = try writer(disk, commits: 30)
    // It reads the log alone and is in no list, as in a folder without write permission.
    var options = FollowerTests.options(.readOnly)
    options.readsPages = false
    let reader = try Store(path: "store", fileSystem: disk, options: options)
    #expect(reader.follower?.rootCommit == nil)
    try await writer.erase("large 2", in: "blobs")
    try await reader.reached(writer.newestCommit)
    for number in 0..<4 {
      try commit(2, to: writer)
      if number == 2 { try await writer.erase("k2", in: notes.name) }
      try await reader.reached(writer.newestCommit)
      #expect(try contents(reader.snapshot()) == contents(writer.snapshot()), "round \(number)")
    }
  }

  @Test(
    "A reader during compaction and new segments has the writer's rows",
    arguments: seeds(1...2))
  func beside(seed: UInt64) async throws {
    let disk = MemoryFileSystem()
    let writer = try writer(disk, commits: 20)
    var random = SeededGenerator(seed: seed)
    var readers: [Store] = []
    for round in 0..<40 {
      let context = "seed \(seed) round \(round)"
      for number in 0..<Int.random(in: 1...8, using: &random) {
        try commit(round * 8 + number, to: writer)
      }
      let group = beginThreads { _ in
        do {
          try writer.compact(to: .keeping(.last(commits: 5)))
        } catch { Issue.record("\(context): \(error)") }
      }
      if readers.count < 3 { readers.append(try FollowerTests.open(disk, .readOnly)) }
      try await onThread { group.wait() }
      for reader in readers {
        try await reader.reached(writer.newestCommit)
        let (seen, wanted) = (try reader.snapshot(), try writer.snapshot())
        #expect(try contents(seen) == contents(wanted), "\(context)")
      }
      if Int.random(in: 0..<3, using: &random) == 0, !readers.isEmpty {
        try await readers.removeFirst().close()
      }
      if Int.random(in: 0..<4, using: &random) == 0 { try await writer.checkpoint() }
    }
    for reader in readers { #expect(try reader.checkInvariants() == []) }
  }
}
