// The two metas: reading returns what was written, and nothing else.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("The page file's metas") struct MetaTests {
  static func decode(_ image: Bytes, slot: Int? = nil) throws -> Meta {
    try image.withUnsafeBytes { try Meta.decode($0, slot: slot) }
  }

  @Test("A meta is read as it was written")
  func roundTrip() throws {
    for seed in seeds(1...50) {
      var random = SeededGenerator(seed: seed)
      var meta = Meta.example(sequence: random.next() >> 18)
      meta.storeID = random.next()
      meta.position.segment = random.next() >> 17
      meta.position.offset = random.next()
      meta.position.timestamp = Timestamp(microseconds: Int64(bitPattern: random.next()))
      meta.pageBound = .random(in: 400...(PageFileLayout.maxPageNumber + 1), using: &random)
      if seed % 5 == 0 { meta.free = .empty }
      let read = try Self.decode(meta.encode(), slot: meta.slot)
      #expect(read == meta, "seed \(seed)")
    }
  }

  @Test("A flipped bit in any byte of a meta is noticed")
  func flippedBits() throws {
    let image = Meta.example(sequence: 6).encode()
    #expect(image.count == PageLayout.pageByteCount)
    for offset in image.indices {
      var damaged = image
      damaged[offset] ^= 1 << (offset % 8)
      expectDamage("byte \(offset)") { _ = try Self.decode(damaged, slot: 0) }
    }
    for count in [0, 1, 139, 4095, 4097] {
      let cut = image.prefix(count) + Bytes(repeating: 0, count: max(0, count - 4096))
      expectDamage("\(count) bytes") { _ = try Self.decode(Bytes(cut)) }
    }
  }

  @Test("A meta with contradictory fields is refused, although its checksum matches")
  func contradictions() {
    let lies: [(String, (inout Meta) -> Void)] = [
      ("a commit that no store has", { $0.position.commit = .max }),
      ("a segment that no store has", { $0.position.segment = 1 << 47 }),
      ("no pages", { $0.pageBound = 0 }),
      ("too many pages", { $0.pageBound = .max }),
      ("more live than there are", { $0.livePageCount = 500 }),
      ("a free map beyond the end", { $0.free.page = 500 }),
      ("a free map nowhere", { $0.free.page = 0 }),
      ("a free map too long", { $0.free.byteCount = 72 }),
      ("an empty free map with a page", { $0.free.byteCount = 0 }),
      ("roots beyond the end", { $0.roots.page = .max }),
      ("roots longer than the file", { $0.roots.byteCount = .max }),
      ("roots longer than all pages", { $0.roots.byteCount = 500 * 4096 }),
    ]
    for (note, lie) in lies {
      var meta = Meta.example(sequence: 1)
      lie(&meta)
      expectDamage(note) { _ = try Self.decode(meta.encode()) }
    }
    expectDamage("the other slot") {
      _ = try Self.decode(Meta.example(sequence: 1).encode(), slot: 0)
    }
  }

  @Test("The newer of two metas comes first; a damaged one is left out and reported")
  func slots() throws {
    let disk = MemoryFileSystem()
    let file = try PageFileTests.create(disk)
    _ = try file.writeBlob(Bytes(repeating: 1, count: 9_000), birth: 1_000) { [8, 9, 10][$0] }
    func sequences() throws -> [UInt64] { try file.metas().valid.map(\.sequence) }
    #expect(try sequences() == [])
    for sequence: UInt64 in 1...5 {
      try file.writeMeta(.example(sequence: sequence))
      #expect(try sequences() == (sequence == 1 ? [1] : [sequence, sequence - 1]))
      #expect(try file.metas().flaws == [])
    }
    try disk.overwrite("pages", [9], at: 4096 + 30)
    #expect(try sequences() == [4])
    let flaws = try file.metas().flaws
    #expect(flaws.count == 1 && flaws[0].contains("checksum"), "\(flaws)")
    try disk.overwrite("pages", Meta.example(sequence: 8).encode(), at: 4096)
    #expect(try sequences() == [4] && file.metas().flaws.count == 1, "in the wrong slot")
    try disk.overwrite("pages", Bytes(repeating: 0, count: 4096), at: 4096)
    #expect(try sequences() == [4] && file.metas().flaws == [])
    try disk.overwrite("pages", Bytes(repeating: 0xFF, count: 8192), at: 0)
    #expect(try sequences() == [] && file.metas().flaws.count == 2)
    try disk.open("pages", .readWrite).truncate(to: 100)
    #expect(try sequences() == [] && file.metas().flaws.count == 1, "the file ends in a meta")
  }
}

extension PageFile {
  /// Writes a blob to the pages whose numbers the closure returns for 0, 1, …
  func writeBlob(
    _ bytes: Bytes, birth: CommitNumber, to number: (Int) -> PageNumber
  ) throws -> BlobReference {
    var count = 0
    return try writeBlob(bytes, birth: birth) {
      defer { count += 1 }
      return number(count)
    }
  }
}
