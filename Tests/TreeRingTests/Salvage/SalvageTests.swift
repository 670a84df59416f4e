// Salvage after random damage, compared with the store's contents: no readable commit is lost,
// nothing new appears, and the report names what is missing.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Salvaging damaged stores")
struct SalvageTests {
  private struct Sample {
    let files = MemoryFileSystem()
    let store: Store
    var history: RandomHistory

    init(seed: UInt64, commits: Int) throws {
      var options = StoreOptions(
        segmentSize: 8 << 10, indexes: RandomHistory.codeIndexes, logger: quietLogger)
      options.pageCellCapacity = 4
      store = try Store(path: "store", fileSystem: files, options: options)
      history = RandomHistory(seed: seed)
      try store.define("byGroup", RandomHistory.fieldIndex)
      while history.model.states.count <= Int(store.newestCommit) { history.noteEmptyCommit() }
      for _ in 0..<commits { try history.commit(to: store) }
      try store.sync()
    }

    /// A copy of the log's files in a folder of their own, with some bytes changed.
    func damaged(_ random: inout SeededGenerator, places: Int) throws -> MemoryFileSystem {
      let copy = MemoryFileSystem()
      try copy.makeDirectory("damaged")
      try copy.makeDirectory("damaged/log")
      let names = try files.list("store/log").sorted()
      for name in names {
        copy.setContents(
          of: "damaged/log/\(name)", to: try #require(files.contents(of: "store/log/\(name)")))
      }
      for _ in 0..<places {
        guard let name = names.randomElement(using: &random),
          var bytes = copy.contents(of: "damaged/log/\(name)")
        else { continue }
        let start = Int.random(in: bytes.indices, using: &random)
        let longest = min(bytes.count - start, [1, 20, 2000].randomElement(using: &random) ?? 1)
        for index in start..<start + Int.random(in: 1...longest, using: &random) {
          bytes[index] = UInt8.random(in: 0...255, using: &random)
        }
        copy.setContents(of: "damaged/log/\(name)", to: bytes)
      }
      return copy
    }
  }

  private func salvage(_ files: MemoryFileSystem) throws -> (SalvageReport, Store) {
    let options = StoreOptions(segmentSize: 8 << 10, logger: quietLogger)
    func contents() throws -> [[UInt8]?] {
      try files.list("damaged/log").sorted().map { files.contents(of: "damaged/log/\($0)") }
    }
    let before = try contents()
    let report = try Store.salvage(from: "damaged", to: "saved", on: files, options: options)
    let isUnchanged = try contents() == before && files.list("damaged") == ["log"]
    #expect(isUnchanged, "the source has changed")
    var reading = options
    reading.mode = .readOnly
    let found = try Store(path: "saved", fileSystem: files, options: reading)
    #expect(found.newestCommit == report.lastCommit)
    try found.close()
    // The next opening restores lost definitions.
    reading.mode = .readWrite
    reading.indexes = RandomHistory.codeIndexes
    let saved = try Store(path: "saved", fileSystem: files, options: reading)
    #expect(try saved.checkInvariants() == [])
    return (report, saved)
  }

  @Test(
    "Salvage of a sound store copies everything, history and indexes too", arguments: seeds(0...2))
  func soundStore(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let sample = try Sample(seed: seed, commits: 60)
    let (report, saved) = try salvage(sample.damaged(&random, places: 0))
    #expect(report.lostCommits == [] && report.damage == [] && report.findings == [])
    // The log was not closed, so its end is uncertain.
    #expect(report.doubts.count == 1 && !report.isComplete)
    #expect(report.lastCommit == sample.store.newestCommit)
    for commit in 0...Int(saved.newestCommit) where commit % 9 == 0 {
      try sample.history.check(
        saved.snapshot(at: .commit(UInt64(commit))), label: "seed \(seed) at \(commit)")
    }
    try sample.history.check(saved.snapshot(), label: "seed \(seed)")
    try sample.history.checkHistories(saved, label: "seed \(seed)")
  }

  @Test("After salvage the sums of an index in code are those of the rows that are left")
  func sums() throws {
    let files = MemoryFileSystem()
    let index = try #require(SummedKind.closure.inCode)
    let store = try Store(
      path: "damaged", fileSystem: files,
      options: StoreOptions(indexes: [index], logger: quietLogger))
    for number in 1...40 {
      try store.write { tx in
        try tx.put(
          SummedRow(g: "x", n: number, a: Int64(number * number)), for: Key("\(number)"),
          in: SummedRow.bucket)
      }
    }
    try store.close()
    let log = "damaged/log/\(try #require(try files.list("damaged/log").min()))"
    var bytes = try #require(files.contents(of: log))
    for index in bytes.count / 2..<bytes.count / 2 + 20 { bytes[index] ^= 0xFF }
    files.setContents(of: log, to: bytes)
    let report = try Store.salvage(
      from: "damaged", to: "saved", on: files, options: StoreOptions(logger: quietLogger))
    #expect(!report.lostCommits.isEmpty)

    let saved = try Store(
      path: "saved", fileSystem: files, options: StoreOptions(indexes: [index], logger: quietLogger)
    )
    let snapshot = try saved.snapshot()
    var (total, count): (Int64, Int) = (0, 0)
    try snapshot.forEach(in: SummedRow.bucket) { _, row in
      total += row.a ?? 0
      count += 1
      return true
    }
    #expect(count > 10 && count < 40)
    #expect(try snapshot.index("Sums").sum(in: "x").units == total)
    #expect(try saved.checkInvariants() == [])
    try saved.close()
  }

  @Test(
    "After random damage every row is an old version, and every loss is listed",
    arguments: seeds(0...11))
  func randomDamage(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let sample = try Sample(seed: seed, commits: 60)
    let was = sample.store
    for round in 0..<4 {
      let context = "seed \(seed) round \(round)"
      let places = Int.random(in: 1...5, using: &random)
      let files = try sample.damaged(&random, places: places)
      let (report, saved) = try salvage(files)
      var lost: Set<CommitNumber> = []
      for range in report.lostCommits { lost.formUnion(range) }
      if report.lastCommit < was.newestCommit {
        lost.formUnion(report.lastCommit + 1...was.newestCommit)
      }
      let touched = Set(report.findings.map(\.commit))
      for number in 1...max(report.lastCommit, 1) where report.lastCommit > 0 {
        let (info, operations) = try saved.operations(of: number)
        if lost.contains(number) {
          #expect(operations.isEmpty && info.note != nil, "\(context): commit \(number)")
        } else if !touched.contains(number) {
          let (oldInfo, old) = try was.operations(of: number)
          let isSame = operations == old && info.timestamp == oldInfo.timestamp
          #expect(isSame, "\(context): commit \(number)")
        }
      }
      try compareRows(saved, was, lost, Set(report.findings.compactMap(\.row)), context)
      if lost.isEmpty, report.findings.isEmpty {
        try sample.history.check(saved.snapshot(), label: context)
      }
      // The store accepts new commits.
      try saved.put([1, 2, 3], for: "after")
      try saved.close()
    }
  }

  /// Checks that a row is as at the commit that wrote it, and that a row whose last write was
  /// readable exists.
  private func compareRows(
    _ saved: Store, _ was: Store, _ lost: Set<CommitNumber>, _ doubtful: Set<RowID>,
    _ context: String
  ) throws {
    let (now, old) = (try saved.snapshot(), try was.snapshot())
    for bucket in ["items", "bytes"] {
      try now.forEachRow(in: bucket) { row in
        if doubtful.contains(RowID(bucket: bucket, key: row.key)) { return true }
        let then = try was.snapshot(at: .commit(row.written)).row(row.key, in: bucket)
        let isSame = then?.object == row.object && then?.metadata == row.metadata
        #expect(isSame, "\(context): \(bucket)/\(row.key) of commit \(row.written)")
        return true
      }
      try old.forEachRow(in: bucket) { row in
        if lost.contains(row.written) { return true }
        if doubtful.contains(RowID(bucket: bucket, key: row.key)) { return true }
        let found = try now.row(row.key, in: bucket)
        let isSame = found?.object == row.object && found?.written == row.written
        #expect(isSame, "\(context): \(bucket)/\(row.key) of commit \(row.written) is missing")
        return true
      }
    }
  }

  @Test("A manual place is left out and reported if the commit that put its row is lost")
  func placeWithoutRow() throws {
    let files = MemoryFileSystem()
    let options = StoreOptions(logger: quietLogger)
    let store = try Store(path: "damaged", fileSystem: files, options: options)
    try store.define("shelves", ManualIndex(on: "blobs"))
    let lost = try store.put([7, 7, 7, 7, 7, 7, 7], for: "lost")
    try store.put([8], for: "kept")
    let placed = try store.write { tx in
      let group = try tx.group("shelf", of: "shelves")
      try group.append(RowID(bucket: "blobs", key: "lost"))
      try group.append(RowID(bucket: "blobs", key: "kept"))
    }.commit
    try store.close()
    for name in try files.list("damaged") where name != "log" {
      if name == "readers" { continue }
      try files.unlink("damaged/\(name)")
    }
    let name = try #require(try files.list("damaged/log").first)
    var bytes = try #require(files.contents(of: "damaged/log/\(name)"))
    let mark = try #require(bytes.indices.first { bytes[$0...].starts(with: [7, 7, 7, 7, 7, 7]) })
    bytes[mark] = 1
    files.setContents(of: "damaged/log/\(name)", to: bytes)
    let report = try Store.salvage(from: "damaged", to: "saved", on: files, options: options)
    #expect(report.lostCommits == [lost...lost])
    let finding = try #require(report.findings.first)
    #expect(report.findings.count == 1 && finding.commit == placed && finding.wasLeftOut)
    #expect(finding.row == RowID(bucket: "blobs", key: "lost"))
    let saved = try Store(path: "saved", fileSystem: files, options: options)
    #expect(try saved.snapshot().index("shelves").keys("shelf") == ["kept"])
    // The new row of that name has only places that a writer gave it.
    try saved.put([9], for: "lost")
    #expect(try saved.snapshot().index("shelves").keys("shelf") == ["kept"])
    #expect(try saved.checkInvariants() == [])
  }

  /// A store with a tag before its horizon, and commits after it.
  private func compacted(seed: UInt64) throws -> Sample {
    var sample = try Sample(seed: seed, commits: 60)
    try sample.store.write { try $0.tag("kept", commit: 17) }
    sample.history.noteEmptyCommit()
    try sample.store.compact(to: .before(40))
    for _ in 0..<10 { try sample.history.commit(to: sample.store) }
    try sample.store.compact(to: .before(45))
    for _ in 0..<10 { try sample.history.commit(to: sample.store) }
    try sample.store.sync()
    return sample
  }

  @Test("Salvage of a compacted store copies every readable commit", arguments: seeds(0...2))
  func compactedStore(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let sample = try compacted(seed: seed)
    let (report, saved) = try salvage(sample.damaged(&random, places: 0))
    #expect(report.lostCommits == [] && report.damage == [], "seed \(seed)")
    #expect(report.findings == [] && report.doubts.count == 1, "seed \(seed)")
    #expect(saved.newestCommit == sample.store.newestCommit)
    #expect(saved.horizon == sample.store.horizon && saved.horizon == 45)
    for commit in 1...saved.newestCommit {
      if commit == 17 || commit >= saved.horizon {
        try sample.history.check(
          saved.snapshot(at: .commit(commit)), label: "seed \(seed) at \(commit)")
      } else {
        #expect(code { try saved.snapshot(at: .commit(commit)) } == .beyondHorizon)
      }
    }
    try saved.put([1], for: "after")
    try saved.compact(to: .dropHistory)
    #expect(try saved.checkInvariants() == [])
    try saved.close()
  }

  @Test(
    "After random damage to a compacted store every row is an old one, and no readable row is lost",
    arguments: seeds(0...7))
  func compactedDamage(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let sample = try compacted(seed: seed)
    for round in 0..<4 {
      let context = "seed \(seed) round \(round)"
      let files = try sample.damaged(&random, places: Int.random(in: 1...4, using: &random))
      let (report, saved) = try salvage(files)
      var lost: Set<CommitNumber> = []
      for range in report.lostCommits { lost.formUnion(range) }
      if report.lastCommit < sample.store.newestCommit {
        lost.formUnion(report.lastCommit + 1...sample.store.newestCommit)
      }
      let doubtful = Set(report.findings.compactMap(\.row))
      let (now, old) = (try saved.snapshot(), try sample.store.snapshot())
      for bucket in ["items", "bytes"] {
        try old.forEachRow(in: bucket) { row in
          if lost.contains(row.written) || doubtful.contains(RowID(bucket: bucket, key: row.key)) {
            return true
          }
          let found = try now.row(row.key, in: bucket)
          let isSame = found?.object == row.object && found?.written == row.written
          #expect(isSame, "\(context): \(bucket)/\(row.key) of commit \(row.written) is missing")
          return true
        }
      }
      if lost.isEmpty, doubtful.isEmpty, report.findings.isEmpty {
        try sample.history.check(now, label: context)
      }
      try saved.put([1, 2, 3], for: "after")
      try saved.close()
    }
  }

  @Test("Salvage refuses an open store, and a target folder that is not empty")
  func refusals() throws {
    let sample = try Sample(seed: 1, commits: 5)
    #expect(code { try Store.salvage(from: "store", to: "new", on: sample.files) } == .locked)
    try sample.store.close()
    #expect(
      code { try Store.salvage(from: "store", to: "store", on: sample.files) } == .alreadyExists)
    #expect(code { try Store.salvage(from: "none", to: "new", on: sample.files) } == .notFound)
    let outcome = code {
      try Store.salvage(from: "store", to: "cancelled", on: sample.files) { _ in false }
    }
    #expect(outcome == .cancelled)
  }
}
