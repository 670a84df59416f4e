// The order of a checkpoint's writes, with a power failure at every point: pages, sync, meta, sync.
// In every state found, the newest meta is the last one synced or the one being written, and
// everything reachable from the two newest metas is as written. Checkpoints overwrite pages of
// older checkpoints.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("The page file after a crash") struct PageFileCrashTests {
  /// The contents of a checkpoint.
  struct Checkpoint {
    var meta: Meta
    var pages: [WrittenPage]
    var freeWords: [UInt64]
    var roots: [RetainedRoot]
  }

  /// Makes checkpoints like a store, each of one commit, and keeps their expected contents.
  final class Writer {
    static let firstBlobPage: PageNumber = 120
    let file: PageFile
    private let maker: PageMaker
    private var random: SeededGenerator
    private var freeBlobPages = Array(firstBlobPage..<firstBlobPage + 24)
    /// By checkpoint: the pages that no meta reaches once the next checkpoint is durable.
    private var retired: [UInt64: [PageNumber]] = [:]
    private var blobs: [UInt64: [BlobReference]] = [:]
    /// The checkpoints begun, in order; all but the last are durable.
    private(set) var begun: [Checkpoint] = []
    private(set) var durableCount = 0

    init(_ system: any FileSystem, seed: UInt64) throws {
      file = try PageFileTests.create(system)
      maker = PageMaker(seed: seed)
      random = SeededGenerator(seed: seed)
      freeBlobPages.shuffle(using: &random)
    }

    func checkpoint() throws {
      let sequence = UInt64(begun.count) + 1
      retired[sequence] = maker.edit(30).map(\.number)
      try file.write(maker.born(after: sequence - 1))
      var meta = Meta.example(sequence: sequence)
      meta.position.commit = sequence
      let words = (0..<700).map { $0 == 0 ? 0 : random.next() }
      meta.pageBound = 700 * 64
      meta.free = try blob(FreeMap.encode(words), sequence)
      var roots = Roots()
      roots.commit = sequence
      roots.rows = maker.root
      let list = [RetainedRoot(roots: roots, deadLists: [meta.free])]
      meta.roots = try blob(RetainedRoot.encode(list), sequence)
      blobs[sequence] = [meta.free, meta.roots]
      try file.sync()
      begun.append(
        Checkpoint(meta: meta, pages: maker.written, freeWords: words, roots: list))
      try file.writeMeta(meta)
      try file.sync()
      durableCount = begun.count
      // The two newest metas do not reach these pages of the meta before the older one.
      maker.pages.free(retired.removeValue(forKey: sequence &- 1) ?? [])
      for blob in blobs.removeValue(forKey: sequence &- 2) ?? [] {
        freeBlobPages += try file.pages(of: blob)
      }
    }

    private func blob(_ bytes: Bytes, _ birth: CommitNumber) throws -> BlobReference {
      try file.writeBlob(bytes, birth: birth) { [self] in freeBlobPages.removeFirst() }
    }
  }

  static func expectSound(_ disk: SimulatedFileSystem, _ writer: Writer, _ note: String) throws {
    let file = try PageFileTests.open(disk)
    let valid = try file.metas().valid
    let newest = valid.first.map { Int($0.sequence) } ?? 0
    #expect(newest >= writer.durableCount && newest <= writer.begun.count, "\(note): \(valid)")
    for meta in valid where Int(meta.sequence) >= writer.durableCount - 1 {
      let checkpoint = writer.begun[Int(meta.sequence) - 1]
      #expect(meta == checkpoint.meta, "\(note)")
      try file.expect(checkpoint.pages, note)
      let words = try FreeMap.decode(file.readBlob(meta.free), below: meta.pageBound)
      #expect(words == checkpoint.freeWords, "\(note)")
      let roots = try RetainedRoot.decode(file.readBlob(meta.roots))
      #expect(PageListTests.text(roots) == PageListTests.text(checkpoint.roots), "\(note)")
    }
  }

  /// Runs checkpoints until the fault stops them.
  static func run(
    seed: UInt64, checkpoints: Int, _ fault: (SimulatedFileSystem) -> Void
  ) throws -> (SimulatedFileSystem, Writer) {
    let disk = SimulatedFileSystem(seed: seed)
    let writer = try Writer(disk, seed: seed)
    try disk.syncDirectory("")
    fault(disk)
    do {
      for _ in 0..<checkpoints { try writer.checkpoint() }
    } catch let error as TreeRingError {
      #expect([.io, .noSpace].contains(error.code), "\(error)")
    }
    return (disk, writer)
  }

  @Test("Power failing at any call leaves the newest durable checkpoint whole")
  func sweep() throws {
    for seed in seeds(1...1) {
      let (disk, _) = try Self.run(seed: seed, checkpoints: 4) { _ in }
      let calls = disk.callCount - 2
      #expect(calls > 30)
      for call in 1...calls + 1 {
        let (disk, writer) = try Self.run(seed: seed, checkpoints: 4) { $0.crash(after: call) }
        for keep in 0..<3 {
          let odds = keep == 0 ? 100 : keep == 1 ? 50 : nil
          try Self.expectSound(
            disk.afterCrash(seed: seed &+ UInt64(call * 8 + keep), odds: odds), writer,
            "seed \(seed), power gone at call \(call) of \(calls), keep set \(keep)")
        }
      }
    }
  }

  @Test(
    "A call that fails leaves the newest durable checkpoint whole, before and after a crash",
    arguments: [DiskFault.inputOutput, .noSpace])
  func faults(fault: DiskFault) throws {
    for seed in seeds(1...1) {
      let (disk, _) = try Self.run(seed: seed, checkpoints: 4) { _ in }
      for call in 1...(disk.callCount - 2) {
        let (disk, writer) = try Self.run(seed: seed, checkpoints: 4) {
          $0.fail(after: call, with: fault)
        }
        let note = "seed \(seed), call \(call) failed"
        try Self.expectSound(disk.afterKill(), writer, note)
        try Self.expectSound(disk.afterCrash(seed: seed &+ UInt64(call)), writer, note)
      }
    }
  }
}
