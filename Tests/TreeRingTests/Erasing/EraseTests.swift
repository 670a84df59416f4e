// Erasing a row: no file keeps any of its bytes, everything else is unchanged, and history
// continues.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Erasing", .leavesSoundStores) struct EraseTests {
  /// Bytes that do not compress and occur nowhere by chance.
  private static func noise(_ count: Int, seed: UInt64) -> [UInt8] {
    var random = SeededGenerator(seed: seed)
    return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
  }

  private static let secret = Key("the secret key of nobody")

  /// Fills a store with rows that have large and small objects, metadata, indexes, tags and a long
  /// history. One of them will be erased.
  private func fill(_ store: Store, big: [UInt8]) throws {
    try store.define("byGroup", RandomHistory.fieldIndex)
    let items = Bucket<Item>("items")
    for round in 0..<40 {
      try store.write { tx in
        for row in 0..<10 {
          try tx.put(
            Item(group: "g\(row % 3)", number: row + round, text: "text"), for: Key("row \(row)"),
            in: items)
          try tx.put(Self.noise(40, seed: UInt64(row)), for: Key("row \(row)"), in: blobs)
        }
        if round % 9 == 0 {
          try tx.put(
            Item(group: "hidden", number: round, text: "the secret text"), for: Self.secret,
            in: items)
          try tx.put(big, metadata: Array(big.reversed()), for: Self.secret, in: blobs)
        }
        if round % 9 == 3 {
          try tx.put(metadata: Array("secret metadata".utf8), for: Self.secret, in: "items")
          try tx.touch(Self.secret, in: "items")
        }
        if round % 9 == 5 { try tx.deleteAll(in: "blobs", from: "row 5") }
        if round == 20 { tx.tags = ["middle"] }
      }
    }
  }

  @Test("Nothing of the row is left in any file; everything else stays, at every commit")
  func proof() throws {
    let disk = Disk(seed: 3)
    let big = Self.noise(9000, seed: 77)
    let store = try disk.open(segmentSize: 8 << 10)
    try fill(store, big: big)
    let before = try (1...store.newestCommit).map { try others(store.snapshot(at: .commit($0))) }
    let report = try store.erase(Self.secret, in: "blobs")
    #expect(report.deleted == 42)
    #expect(report.operations == 10)
    let second = try store.erase(Self.secret, in: "items")
    #expect(second.deleted == store.newestCommit)
    #expect(second.operations == 16)
    #expect(second.mentioningCommitCount == 0)
    #expect(try store.history(of: Self.secret, in: "items").isEmpty)
    #expect(try store.checkInvariants().isEmpty)
    try check(store, before)
    try store.close()
    for (path, bytes) in disk.contents {
      for pattern in [
        Self.secret.bytes, Array("secret text".utf8), Array("hidden".utf8), big[0..<40] + [],
      ] {
        let found = bytes.withUnsafeBytes { $0.firstPosition(of: pattern) }
        #expect(found == nil, "\(path) holds \(Key(bytes: pattern))")
      }
    }
    let again = try disk.open(segmentSize: 8 << 10)
    try check(again, before)
    #expect(try again.checkInvariants().isEmpty)
    try again.close()
  }

  /// Every row but the erased ones, with its commits.
  private func others(_ snapshot: Snapshot) throws -> [StoredRow] {
    var rows: [StoredRow] = []
    for bucket in ["items", "blobs"] {
      try snapshot.forEachRow(in: bucket) {
        if $0.key != Self.secret { rows.append($0) }
        return true
      }
    }
    return rows
  }

  private func check(_ store: Store, _ before: [[StoredRow]]) throws {
    for (index, rows) in before.enumerated() {
      let snapshot = try store.snapshot(at: .commit(CommitNumber(index + 1)))
      #expect(try others(snapshot) == rows)
      #expect(try snapshot.row(Self.secret, in: "items") == nil)
      #expect(try snapshot.index("byGroup").count(in: "hidden") == 0)
    }
    #expect(try store.snapshot(at: .tag("middle")).commit == 22)
  }

  @Test("Snapshots of older commits refuse an erasing, and the error lists them") func pins() throws
  {
    let store = try Store.inMemory()
    try store.put([1], for: Self.secret)
    let pin = try store.snapshot()
    let refusal = error { try store.erase(Self.secret, in: "blobs") }
    #expect(refusal?.code == .notAllowed)
    #expect(refusal?.message.contains("EraseTests.swift") ?? false)
    #expect(try store.snapshot().contains(Self.secret, in: "blobs"))
    withExtendedLifetime(pin) {}
  }

  @Test("Erasing an absent or already erased row succeeds") func twice() throws {
    let store = try Store.inMemory(options: StoreOptions(logger: quietLogger))
    try store.put([1], for: "other")
    #expect(try store.erase(Self.secret, in: "blobs").operations == 0)
    try store.put([2], for: Self.secret)
    #expect(try store.erase(Self.secret, in: "blobs").operations == 2)
    #expect(try store.erase(Self.secret, in: "blobs").operations == 0)
    try store.put([3], for: Self.secret)
    #expect(try store.snapshot().row(Self.secret, in: "blobs")?.object == [3])
    #expect(try store.history(of: Self.secret, in: "blobs").count == 1)
    #expect(code { try store.erase(Self.secret, in: "nowhere") } == .notFound)
  }

  @Test("A compacted store can be erased from, and an erased one compacted") func both() throws {
    let disk = Disk(seed: 5)
    let store = try disk.open(segmentSize: 8 << 10)
    try fill(store, big: Self.noise(3000, seed: 5))
    try store.compact(to: .before(30))
    try store.erase(Self.secret, in: "items")
    try store.erase(Self.secret, in: "blobs")
    #expect(try store.snapshot(at: .tag("middle")).row(Self.secret, in: "items") == nil)
    try store.compact(to: .dropHistory)
    let rows = try others(store.snapshot())
    try store.close()
    let again = try disk.open(segmentSize: 8 << 10)
    #expect(try others(again.snapshot()) == rows)
    #expect(again.horizon == again.newestCommit)
    try again.close()
  }

  @Test("A snapshot taken during an erasing stays readable and comparable with later ones")
  func meanwhile() throws {
    let store = try Store.inMemory(options: StoreOptions(logger: quietLogger))
    try fill(store, big: Self.noise(2000, seed: 9))
    var taken: Snapshot?
    try store.erase(Self.secret, in: "items") { _ in
      if taken == nil { taken = try? store.snapshot() }
      #expect(code { try store.snapshot(at: .commit(3)) } == .notAllowed)
    }
    let meanwhile = try #require(taken)
    #expect(try meanwhile.count(in: "items") == 10)
    try store.put([5], for: "new")
    let differences = try store.snapshot().diff(from: meanwhile)
    #expect(differences.map(\.id.key) == ["new"])
    #expect(try store.snapshot(at: .commit(3)).count(in: "items") == 10)
  }

  // MARK: - Files beside the log

  @Test("Segments that were set aside refuse an erasing, and the error names them")
  func setAside() throws {
    let disk = Disk(seed: 11)
    var store = try disk.open(segmentSize: 4 << 10)
    try fill(store, big: Self.noise(3000, seed: 11))
    let segments = store.log.segments
    try store.close()
    // Damage in the middle of the log. The bytes after it are set aside, and hold the row too.
    let damaged = segments[segments.count / 2]
    disk.files.damage(damaged.path, at: 200) { $0 ^ 1 }
    store = try disk.open(segmentSize: 4 << 10, recovery: .prefix)
    let aside = disk.files.paths.filter { $0.hasSuffix(".ignored") }
    #expect(aside.count > 1)
    let refusal = error { try store.erase(Self.secret, in: "items") }
    #expect(refusal?.code == .notAllowed)
    #expect(aside.contains { refusal?.message.contains($0) ?? false })
    #expect(try store.snapshot().contains(Self.secret, in: "items"))
    for path in aside { disk.files.replace(path, with: nil) }
    try store.erase(Self.secret, in: "items")
    try store.erase(Self.secret, in: "blobs")
    try store.close()
    for (path, bytes) in disk.contents {
      let found = bytes.withUnsafeBytes { $0.firstPosition(of: Self.secret.bytes) }
      #expect(found == nil, "\(path)")
    }
  }

  @Test("An erased row is in no file of a refreshed backup, even if refreshes were killed")
  func erasedAfterKill() throws {
    let base = SimulatedFileSystem(seed: 12)
    let value = Self.noise(200, seed: 12)
    func open(_ folder: String, _ files: SimulatedFileSystem) throws -> Store {
      let options = StoreOptions(segmentSize: 2 << 10, logger: quietLogger)
      return try Store(path: folder, fileSystem: files, options: options)
    }
    let store = try open("a", base)
    for number in 0..<6 as Range<UInt64> {
      try store.put(value, for: Self.secret)
      try store.put(Self.noise(1500, seed: number), for: "other")
    }
    try store.backUp(to: "b", on: base, mayLink: false)
    try store.compact(to: .before(8))
    try store.close()
    var (call, interrupted) = (1, 0)
    while true {
      let disk = base.afterKill()
      let source = try open("a", disk)
      disk.crash(after: call)
      let isDone = code { try source.backUp(to: "b", on: disk, mayLink: call % 2 == 0) } == nil
      let found = disk.afterKill()
      if found.paths.contains(where: { $0.hasPrefix("b/next/") }) { interrupted += 1 }
      let backup = try open("b", found)
      try backup.erase(Self.secret, in: "blobs")
      try backup.close()
      for path in found.paths where path.hasPrefix("b/") {
        let bytes = try #require(found.contents(of: path))
        let place = bytes.withUnsafeBytes { $0.firstPosition(of: Array(value[..<20])) }
        #expect(place == nil, "call \(call): \(path)")
      }
      if isDone { break }
      call += 1
    }
    #expect(interrupted > 5)
  }

  @Test("Leftovers of a failed rewriting are removed too") func leftovers() throws {
    let disk = Disk(seed: 13)
    let store = try disk.open(segmentSize: 4 << 10)
    try fill(store, big: Self.noise(3000, seed: 13))
    let segment = try #require(store.log.segments.first)
    let bytes = try #require(disk.files.contents(of: segment.path))
    try store.compact(to: .before(10))
    try #require(!store.log.segments.map(\.path).contains(segment.path))
    // As after a failure to remove the old file and to finish another.
    disk.files.replace(segment.path, with: bytes)
    let unfinished = segment.path.replacing(".0.lz4", with: ".7.lz4.tmp")
    disk.files.replace(unfinished, with: Self.secret.bytes)
    try store.erase(Self.secret, in: "items")
    try store.erase(Self.secret, in: "blobs")
    #expect(!disk.files.paths.contains(segment.path))
    #expect(!disk.files.paths.contains(unfinished))
    try store.close()
  }

  @Test("A logged value that no operation refers to is found") func strayValue() throws {
    let disk = Disk(seed: 17)
    let store = try disk.open()
    let written = try store.put(Self.noise(5000, seed: 17), for: Self.secret)
    try store.put([1], for: "other")
    try store.write { try $0.delete(Self.secret, in: "blobs") }
    try store.log.seal()
    // The operation is removed, its value stays: the proof has to find this mistake.
    try store.log.rewrite(segment: 1, horizon: 0) { header, payload in
      guard header.number == written else { return .keep }
      let new = try PayloadRewriter.rewrite(payload, of: written) { _ in .drop }
      return .replace(payload: new.payload, keptValues: [(0, .object)])
    }
    let flaw = error { try store.erase("other", in: "blobs") }
    #expect(flaw?.code == .corruption)
    #expect(flaw?.commit == written)
  }

  @Test("The report counts everything that the proof scanned") func report() throws {
    let disk = Disk(seed: 19)
    let store = try disk.open()
    try store.put(Self.noise(5000, seed: 1), for: "large")
    try store.put(Array("tells of \(Self.secret)".utf8), for: "gossip")
    for key in [Self.secret, "short", "another long key"] { try store.put([1], for: key) }
    let mentioned = try store.erase(Self.secret, in: "blobs")
    #expect(mentioned.mentioningCommitCount == 1 && mentioned.scannedValues == 1)
    #expect(!mentioned.searchedPageFile)
    #expect(try !store.erase("short", in: "blobs").searchedPageFile)
    let searched = try store.erase("another long key", in: "blobs")
    #expect(searched.searchedPageFile)
    #expect(searched.scannedByteCount > mentioned.scannedByteCount)
  }

  // MARK: - Failures

  @Test("If the trees cannot be rebuilt, writes and reads of the past throw until reopening")
  func treesAreLost() throws {
    let disk = Disk(seed: 23)
    var store = try disk.open(segmentSize: 4 << 10)
    try fill(store, big: Self.noise(3000, seed: 23))
    try store.checkpoint()
    var segments = 0
    let failure = error {
      try store.erase(Self.secret, in: "blobs") { _ in
        segments += 1
        if segments == 3 { disk.files.failAll(after: 1, with: .inputOutput) }
      }
    }
    disk.files.failAll(after: nil, with: .inputOutput)
    #expect(failure?.code == .io)
    #expect(try store.snapshot().row("row 1", in: "blobs") != nil)
    #expect(code { try store.put([1], for: "new") } == .poisoned)
    let past = error { try store.snapshot(at: .commit(10)) }
    #expect(past?.code == .poisoned)
    #expect(past?.message.contains("Reopen") ?? false)
    try? store.close()
    store = try disk.open(segmentSize: 4 << 10)
    let report = try store.erase(Self.secret, in: "blobs")
    #expect(report.deleted == nil)
    #expect(report.operations > 0)
    #expect(try store.snapshot(at: .commit(10)).row(Self.secret, in: "blobs") == nil)
    try store.put([1], for: "new")
    try store.close()
  }
}
