// Page files with right checksums and wrong contents, which only an attacker or a broken program
// writes. The file is disposable, so the store gives right answers in the end. Before that it may
// refuse with a typed error. It never traps, hangs, or requests memory that such a file does not
// justify.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Page files with sound checksums and hostile content") struct HostilePageTests {
  /// The forgery written into a sound file.
  enum Forgery: CaseIterable {
    case owner, childIsItself, childIsAncestor, childIsCousin, childBeyondFile, childIsPrivate,
      leafForInner
    case level, disorder, count, hugeCount, zeroCount, youngChild, longValue, allChildrenOne
    case bound, rootsOfHugeCount, freeInUse
  }

  private static let path = "store/pages"

  private static func open(_ disk: MemoryFileSystem) throws -> Store {
    var options = StoreOptions(memoryBudget: 1 << 20, logger: quietLogger)
    options.pageCellCapacity = 6
    return try Store(path: "store", fileSystem: disk, options: options)
  }

  private static func made() throws -> (MemoryFileSystem, [Key: [UInt8]]) {
    let disk = MemoryFileSystem()
    let store = try open(disk)
    var rows: [Key: [UInt8]] = [:]
    for value in 0..<3 {
      try store.write { tx in
        for number in value..<300 {
          let key = Key("row \(number)")
          rows[key] = [UInt8(value), UInt8(number % 200)]
          try tx.put([UInt8(value), UInt8(number % 200)], for: key, in: blobs)
        }
      }
      try store.checkpoint()
    }
    try store.close()
    return (disk, rows)
  }

  @Test("Reads are right or throw a typed error", arguments: Forgery.allCases)
  func forged(_ forgery: Forgery) throws {
    let (disk, rows) = try Self.made()
    var file = try ForgedFile(disk, Self.path)
    try file.forge(forgery)
    file.save()
    var isRight = false
    for attempt in 1...3 where !isRight {
      let store = try Self.open(disk)
      do {
        for key in rows.keys { #expect(try store.snapshot().get(key, in: blobs) == rows[key]) }
        var count = 0
        try store.snapshot().forEach(in: blobs) { key, object in
          count += 1
          #expect(rows[key] == object)
          return true
        }
        #expect(count == rows.count)
        let old = try store.snapshot(at: .commit(2))
        #expect(try old.rows(in: blobs).count == 300)
        #expect(try store.snapshot().diff(from: old).count == 298)
        try store.write { tx in
          for number in 0..<300 { try tx.delete(Key("row \(number)"), in: blobs) }
          for (key, value) in rows { try tx.put(value, for: key, in: blobs) }
        }
        try store.checkpoint()
        try store.compact(to: .dropHistory)
        #expect(try store.checkInvariants() == [])
        isRight = true
      } catch let error as TreeRingError {
        #expect([.corruption, .poisoned].contains(error.code), "attempt \(attempt): \(error)")
      }
      try? store.close()
    }
    #expect(isRight)
    #expect(try verifyPageFile(Self.path, fileSystem: disk).isEmpty)
  }

  @Test("Verifying and following such a file terminate too", arguments: Forgery.allCases)
  func looked(_ forgery: Forgery) throws {
    let (disk, rows) = try Self.made()
    var file = try ForgedFile(disk, Self.path)
    try file.forge(forgery)
    file.save()
    let findings = try verifyPageFile(Self.path, fileSystem: disk)
    #expect(!findings.isEmpty || forgery == .bound)
    let options = StoreOptions(mode: .readOnly, logger: quietLogger)
    let store = try Store(path: "store", fileSystem: disk, options: options)
    do {
      let found = try store.snapshot().rows(in: blobs)
      #expect(found.count == rows.count)
    } catch let error as TreeRingError { #expect(error.code == .corruption, "\(error)") }
    try store.close()
  }
}

/// The bytes of a page file, split into its parts.
private struct ForgedFile {
  private let disk: MemoryFileSystem
  private let path: String
  private var bytes: [UInt8]
  private let meta: Meta
  private let rows: TreeRoot
  private let size = PageLayout.pageByteCount

  init(_ disk: MemoryFileSystem, _ path: String) throws {
    self.disk = disk
    self.path = path
    bytes = try #require(disk.contents(of: path))
    let file = try PageFile.open(path, fileSystem: disk, mode: .readOnly)
    meta = try #require(try file.metas().valid.first)
    let roots = try RetainedRoot.decode(try file.readBlob(meta.roots))
    rows = try #require(roots.last?.roots.rows)
    file.close()
  }

  func save() { disk.setContents(of: path, to: bytes) }

  private func start(_ number: PageNumber) -> Int { Int(PageFileLayout.offset(of: number)) }

  /// Changes a page and repairs its checksum.
  private mutating func change(_ number: PageNumber, _ body: (Page) -> Void) {
    let start = start(number)
    bytes.withUnsafeMutableBytes { bytes in
      let image = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 8)
      defer { image.deallocate() }
      image.copyBytes(from: bytes[start..<start + size])
      guard let address = image.baseAddress else { return }
      body(Page(bytes: address))
      let sum = crc32c(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(image)[4...]))
      image.storeBytes(of: sum, as: UInt32.self)
      UnsafeMutableRawBufferPointer(rebasing: bytes[start..<start + size]).copyBytes(from: image)
    }
  }

  /// The newest rows' leftmost page at a level, and the reference to it.
  private func page(at level: Int) throws -> (number: PageNumber, birth: PageBirth, count: UInt64) {
    var found = (number: rows.page, birth: rows.birth, count: rows.count)
    while true {
      let image = Array(bytes[start(found.number)..<start(found.number) + size])
      let next = image.withUnsafeBytes { image -> (PageNumber, PageBirth, UInt64)? in
        guard let address = image.baseAddress else { return nil }
        let page = Page(bytes: UnsafeMutableRawPointer(mutating: address))
        if page.level == level { return nil }
        let child = page.child(at: 0)
        return (child.page, child.birth, child.count)
      }
      guard let next else { return found }
      found = next
    }
  }

  mutating func forge(_ forgery: HostilePageTests.Forgery) throws {
    let (leaf, inner, top) = (try page(at: 0), try page(at: 1), try page(at: 2))
    switch forgery {
    case .owner:
      for number in [leaf, inner, top].map(\.number) {
        change(number) {
          $0.bytes.storeBytes(of: 1, toByteOffset: PageLayout.ownerOffset, as: UInt32.self)
        }
      }
    case .childIsItself: change(inner.number) { $0.setChild(at: 1, to: $0.child(at: 0), inner) }
    case .childIsAncestor: change(inner.number) { $0.setChild(at: 1, to: $0.child(at: 0), top) }
    case .childIsCousin: change(top.number) { $0.setChild(at: 1, to: $0.child(at: 1), leaf) }
    case .childBeyondFile: change(inner.number) { $0.children[1] = 900_000 }
    case .childIsPrivate: change(inner.number) { $0.children[1] = 0x8000_0001 }
    case .leafForInner: change(top.number) { $0.setChild(at: 0, to: $0.child(at: 0), leaf) }
    case .level:
      change(inner.number) { $0.bytes.storeBytes(of: 63, toByteOffset: 5, as: UInt8.self) }
    case .disorder: change(leaf.number) { ($0.slots[0], $0.slots[1]) = ($0.slots[1], $0.slots[0]) }
    case .count: change(top.number) { $0.counts[0] += 5 }
    case .hugeCount: change(top.number) { $0.counts[0] = .max - 2 }
    case .zeroCount: change(top.number) { $0.counts[0] = 0 }
    case .youngChild: change(inner.number) { $0.births[0] = PageBirth(rawValue: 1 << 40) }
    case .longValue:
      change(leaf.number) { page in
        let offset = Int(page.slots[0].offset)
        page.bytes.storeBytes(of: 3_000, toByteOffset: offset, as: UInt16.self)
      }
    case .allChildrenOne:
      change(inner.number) { page in
        for index in 1..<page.cellCount { page.setChild(at: index, to: page.child(at: 0)) }
      }
    case .bound: try changeMetas { $0.pageBound = PageFileLayout.maxPageNumber + 1 }
    case .rootsOfHugeCount:
      let rows = rows
      change(meta.roots.page) { Self.raiseRowCount($0, rows) }
    case .freeInUse:
      change(meta.free.page) { page in
        let payload = PageFileLayout.List.payloadOffset
        (page.bytes + payload).initializeMemory(
          as: UInt8.self, repeating: 0, count: PageLayout.pageByteCount - payload)
        // Numbers 1 to 63, most of which are in use.
        page.bytes.storeBytes(of: ~1, toByteOffset: payload, as: UInt64.self)
        page.bytes.storeBytes(
          of: 8, toByteOffset: PageFileLayout.List.payloadByteCountOffset, as: UInt16.self)
      }
      let newest = meta
      try changeMetas { if $0 == newest { $0.free.byteCount = 8 } }
    }
  }

  /// Replaces the rows' own count by the highest count of the same length as a LEB128 integer.
  private static func raiseRowCount(_ page: Page, _ rows: TreeRoot) {
    var old: [UInt8] = []
    for value in [UInt64(rows.page), rows.birth.rawValue, rows.count] { old.append(integer: value) }
    let image = UnsafeMutableRawBufferPointer(
      start: page.bytes, count: PageLayout.pageByteCount)
    for start in stride(from: PageLayout.pageByteCount - old.count, through: 40, by: -1)
    where image[start..<start + old.count].elementsEqual(old) {
      // The count has two bytes. With their highest value it exceeds the number of the pages' rows.
      image[start + old.count - 2] = 0xff
      image[start + old.count - 1] = 0x7f
      return
    }
  }

  private mutating func changeMetas(_ body: (inout Meta) -> Void) throws {
    for slot in 0..<2 {
      let start = slot * size
      let image = Array(bytes[start..<start + size])
      guard var meta = try? image.withUnsafeBytes({ try Meta.decode($0) }) else { continue }
      body(&meta)
      bytes.replaceSubrange(start..<start + size, with: meta.encode())
    }
  }
}

extension Page {
  /// Points the entry to another page, with the entry's count.
  fileprivate func setChild(
    at index: Int, to entry: ChildReference,
    _ page: (number: PageNumber, birth: PageBirth, count: UInt64)
  ) {
    setChild(
      at: index, to: ChildReference(page: page.number, birth: page.birth, count: entry.count))
  }
}
