// Blobs: chains of list pages, and the lists kept in them.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Blobs in the page file") struct BlobTests {
  static let size = PageFileLayout.List.maxPayloadByteCount

  static func bytes(_ count: Int, _ random: inout SeededGenerator) -> Bytes {
    var bytes: Bytes = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count {
      withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) }
    }
    return Bytes(bytes.prefix(count))
  }

  @Test("A blob of any length is read as it was written, wherever its pages lie")
  func roundTrip() throws {
    for seed in seeds(1...3) {
      var random = SeededGenerator(seed: seed)
      let file = try PageFileTests.create(MemoryFileSystem())
      var numbers = Array(PageNumber(1)...300).shuffled(using: &random)
      var blobs: [(BlobReference, Bytes, [PageNumber])] = []
      for count in [0, 1, Self.size - 1, Self.size, Self.size + 1, 5 * Self.size, 300_000] {
        let bytes = Self.bytes(count, &random)
        var taken: [PageNumber] = []
        let blob = try file.writeBlob(bytes, birth: seed) {
          taken.append(numbers.removeLast())
          return taken.last ?? 0
        }
        #expect(taken.count == (count + Self.size - 1) / Self.size)
        #expect(UInt64(taken.count) == blob.pageCount && (count > 0 || blob == .empty))
        blobs.append((blob, bytes, taken))
      }
      for (blob, bytes, taken) in blobs {
        let read = try file.readBlob(blob)
        #expect(read == bytes, "seed \(seed), \(bytes.count) bytes")
        #expect(try file.pages(of: blob) == taken)
      }
    }
  }

  @Test("A long chain whose pages ascend is written in runs")
  func runs() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let file = try PageFileTests.create(disk)
    let before = disk.callCount
    let blob = try file.writeBlob(Bytes(repeating: 1, count: 250 * Self.size), birth: 1) {
      PageNumber(1 + $0)
    }
    #expect(disk.callCount - before <= 8)
    #expect(try file.readBlob(blob).count == 250 * Self.size)
  }

  @Test("The error of allocating a page number is passed on, and nothing is written")
  func outOfNumbers() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let file = try PageFileTests.create(disk)
    let before = disk.callCount
    do {
      _ = try file.writeBlob(Bytes(repeating: 1, count: 9_999), birth: 1) {
        () throws(TreeRingError) in throw TreeRingError(.noSpace, "none left")
      }
      Issue.record("a blob without pages")
    } catch { #expect(error.code == .noSpace && disk.callCount == before) }
  }

  @Test("Random damage of a blob's pages is noticed")
  func damage() throws {
    for seed in seeds(1...4) {
      var random = SeededGenerator(seed: seed)
      let disk = MemoryFileSystem()
      let file = try PageFileTests.create(disk)
      let blob = try file.writeBlob(Self.bytes(3 * Self.size + 100, &random), birth: 7) {
        PageNumber(4 - $0)
      }
      for _ in 0..<100 {
        let offset = UInt64.random(in: 8_192..<(6 * 4096), using: &random)
        let count = min(Int.random(in: 1...600, using: &random), 6 * 4096 - Int(offset))
        let sound = try disk.bytes("pages", at: offset, count: count)
        var bytes = Self.bytes(count, &random)
        if bytes == sound { bytes[0] ^= 1 }
        try disk.overwrite("pages", bytes, at: offset)
        expectDamage("seed \(seed), \(count) bytes at \(offset)") { _ = try file.readBlob(blob) }
        expectDamage("seed \(seed), the chain") { _ = try file.pages(of: blob) }
        try disk.overwrite("pages", sound, at: offset)
      }
      _ = try file.readBlob(blob)
    }
  }

  @Test("A reference with a false page, birth or length is detected before it sizes anything")
  func lies() throws {
    let disk = MemoryFileSystem()
    let file = try PageFileTests.create(disk)
    let blob = try file.writeBlob(Bytes(repeating: 3, count: 2 * Self.size), birth: 7) {
      PageNumber(1 + $0)
    }
    let other = try file.writeBlob(Bytes(repeating: 4, count: 2 * Self.size), birth: 8) {
      PageNumber(3 + $0)
    }
    let lies: [(String, (inout BlobReference) -> Void)] = [
      ("one byte less", { $0.byteCount -= 1 }), ("one byte more", { $0.byteCount += 1 }),
      ("one page less", { $0.byteCount -= UInt64(Self.size) }),
      ("one page more", { $0.byteCount += UInt64(Self.size) }),
      ("a terabyte", { $0.byteCount = 1 << 40 }), ("all there is", { $0.byteCount = .max }),
      ("no bytes", { $0.byteCount = 0 }), ("no page", { $0.page = 0 }),
      ("the second page", { $0.page = 2 }), ("another blob", { $0.page = other.page }),
      ("no such page", { $0.page = 9_999 }), ("a private page", { $0.page = .max }),
      ("an older blob", { $0.birth -= 1 }), ("a newer blob", { $0.birth += 1 }),
    ]
    for (note, lie) in lies {
      var wrong = blob
      lie(&wrong)
      expectDamage(note) { _ = try file.readBlob(wrong) }
    }
  }

  @Test("A chain that loops, is too short or too long, or leads elsewhere ends in an error")
  func chains() throws {
    let disk = MemoryFileSystem()
    let file = try PageFileTests.create(disk)
    let blob = try file.writeBlob(Bytes(repeating: 3, count: 3 * Self.size), birth: 7) {
      PageNumber(1 + $0)
    }
    _ = try file.writeBlob(Bytes(repeating: 4, count: 3 * Self.size), birth: 7) {
      PageNumber(4 + $0)
    }
    for (position, next) in [(0, 1), (1, 1), (1, 2), (0, 3), (1, 5), (0, 99), (0, 1 << 31)] {
      let place = ListPage.Location(
        of: blob, position: UInt64(position), number: PageNumber(position + 1))
      let offset = PageFileLayout.offset(of: place.number)
      let sound = try disk.bytes("pages", at: offset, count: 4096)
      var image = Bytes(repeating: 0, count: 4096)
      image.withUnsafeMutableBytes { image in
        Bytes(repeating: 3, count: Self.size).withUnsafeBytes {
          ListPage.write(place, next: PageNumber(next), payload: $0, to: image)
        }
      }
      try disk.overwrite("pages", image, at: offset)
      expectDamage("\(position) → page \(next)") { _ = try file.readBlob(blob) }
      try disk.overwrite("pages", sound, at: offset)
    }
    _ = try file.readBlob(blob)
  }
}

@Suite("The page file's lists") struct PageListTests {
  static func example(_ random: inout SeededGenerator) -> [RetainedRoot] {
    var commit: CommitNumber = 0
    func tree(_ random: inout SeededGenerator) -> TreeRoot {
      if Int.random(in: 0..<4, using: &random) == 0 { return .empty }
      return TreeRoot(
        page: .random(in: 1...PageFileLayout.maxPageNumber, using: &random),
        birth: PageBirth(.random(in: 0...commit, using: &random)),
        count: .random(in: 1...1 << 39, using: &random))
    }
    return (0..<Int.random(in: 0..<9, using: &random)).map { _ in
      commit += .random(in: 1...1_000_000, using: &random)
      var roots = Roots()
      roots.commit = commit
      roots.timestamp = Timestamp(microseconds: Int64(bitPattern: random.next()))
      roots.operationCount = random.next() >> 2
      roots.payloadByteCount = random.next() >> 20
      roots.rows = tree(&random)
      roots.tombstones = tree(&random)
      roots.catalog = tree(&random)
      for number in 0..<Int.random(in: 0..<4, using: &random) {
        var index = IndexRoots(number: UInt32(number * 7))
        index.order = tree(&random)
        index.places = tree(&random)
        index.undecodable = random.next() % 3
        roots.indexes.set(index)
      }
      let lists = (0..<Int.random(in: 0..<3, using: &random)).map { _ in
        BlobReference(
          page: .random(in: 1...1_000_000, using: &random), birth: random.next(),
          byteCount: .random(in: 1...1_000_000, using: &random))
      }
      return RetainedRoot(roots: roots, deadLists: lists)
    }
  }

  static func text(_ list: [RetainedRoot]) -> String { list.map { "\($0)" }.joined() }

  @Test("A list of roots is read as written; cut or damaged, it is refused or is another list")
  func roots() throws {
    for seed in seeds(1...200) {
      var random = SeededGenerator(seed: seed)
      let list = Self.example(&random)
      let bytes = RetainedRoot.encode(list)
      let read = try RetainedRoot.decode(bytes)
      #expect(Self.text(read) == Self.text(list), "seed \(seed)")
      for cut in [0, 1, bytes.count / 2, bytes.count - 1] where cut < bytes.count {
        expectDamage("seed \(seed), cut at \(cut)") {
          _ = try RetainedRoot.decode(Bytes(bytes[..<cut]))
        }
      }
      expectDamage("seed \(seed), a byte more") { _ = try RetainedRoot.decode(bytes + [0]) }
      for _ in 0..<20 {
        var damaged = bytes
        damaged[Int.random(in: bytes.indices, using: &random)] = .random(
          in: 0...255, using: &random)
        do {
          _ = try RetainedRoot.decode(damaged)
        } catch { #expect(error.code == .corruption) }
      }
    }
    expectDamage("no roots without end") {
      _ = try RetainedRoot.decode([1] + Bytes(repeating: 0xFF, count: 9) + [1])
    }
  }

  @Test("A free map is read as written; numbers that cannot be free are refused")
  func freeMaps() throws {
    for seed in seeds(1...100) {
      var random = SeededGenerator(seed: seed)
      let bound = PageNumber.random(in: 1...5_000, using: &random)
      var words = [UInt64](repeating: 0, count: Int.random(in: 0...Int(bound / 64), using: &random))
      for index in words.indices { words[index] = random.next() & random.next() }
      if !words.isEmpty {
        words[0] &= ~1
        if words.count * 64 > Int(bound) { words[words.count - 1] &= 1 << UInt64(bound % 64) - 1 }
      }
      let read = try FreeMap.decode(FreeMap.encode(words), below: bound)
      #expect(read + Array(repeating: 0, count: words.count - read.count) == words, "seed \(seed)")
    }
    #expect(FreeMap.encode([0, 0]) == [])
    #expect(try FreeMap.decode(FreeMap.encode([2]), below: 2) == [2])
    expectDamage("number 0") { _ = try FreeMap.decode(FreeMap.encode([3]), below: 2) }
    expectDamage("the bound itself") { _ = try FreeMap.decode(FreeMap.encode([4]), below: 2) }
    expectDamage("too many words") { _ = try FreeMap.decode(FreeMap.encode([2, 2]), below: 64) }
    expectDamage("no whole words") { _ = try FreeMap.decode([2, 0, 0, 0], below: 64) }
  }

  @Test("A list of dead pages is read as written; impossible pages are refused")
  func deadLists() throws {
    var random = SeededGenerator(seed: 1)
    let pages = (0..<1_000).map { _ in
      RetiredPage(
        number: .random(in: 1...PageFileLayout.maxPageNumber, using: &random),
        birth: PageBirth(rawValue: random.next()))
    }
    #expect(try DeadList.decode(DeadList.encode(pages)) == pages)
    #expect(try DeadList.decode([]) == [])
    expectDamage("part of an entry") {
      _ = try DeadList.decode(DeadList.encode(pages).dropLast())
    }
    for number in [0, PageFileLayout.maxPageNumber + 1] {
      expectDamage("page \(number)") {
        _ = try DeadList.decode(DeadList.encode([RetiredPage(number: number, birth: 1)]))
      }
    }
  }
}
