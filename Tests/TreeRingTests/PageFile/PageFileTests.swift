// Pages written to the file and fetched: a fetch returns the written page or throws.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("The page file") struct PageFileTests {
  static let chunk = 256 << 10

  static func create(_ system: any FileSystem) throws -> PageFile {
    try PageFile.open("pages", fileSystem: system, mode: .create, chunkByteCount: chunk)
  }

  static func open(_ system: any FileSystem, _ mode: PageFile.Mode = .readOnly) throws -> PageFile {
    try PageFile.open("pages", fileSystem: system, mode: mode, chunkByteCount: chunk)
  }

  @Test(
    "Pages are fetched as they were written, also by other processes", arguments: [true, false])
  func roundTrip(onDisk: Bool) throws {
    for seed in seeds(1...3) {
      let folder = try TemporaryFolder()
      let system: any FileSystem = onDisk ? PosixFileSystem() : MemoryFileSystem()
      let path = onDisk ? folder.path + "/pages" : "pages"
      let file = try PageFile.open(
        path, fileSystem: system, mode: .create, chunkByteCount: Self.chunk)
      let reader = try PageFile.open(
        path, fileSystem: system, mode: .readOnly, chunkByteCount: Self.chunk)
      let maker = PageMaker(seed: seed)
      for commit: CommitNumber in 1...6 {
        let retired = maker.edit(120)
        try file.write(maker.born(after: commit - 1))
        for (number, page) in maker.born(after: commit - 1) {
          let inMapping = UnsafeRawBufferPointer(
            start: try file.fetch(number, birth: page.birth), count: PageLayout.pageByteCount)
          #expect(PageImage.flaw(in: inMapping, number: number, birth: page.birth) == nil)
        }
        try file.sync()
        try file.expect(maker.written, "seed \(seed), commit \(commit)")
        try reader.expect(maker.written, "seed \(seed), commit \(commit), another reader")
        maker.pages.free(retired.map(\.number))
      }
      #expect(file.mappedByteCount >= UInt64(Self.chunk))
      file.close()
      let again = try PageFile.open(
        path, fileSystem: system, mode: .readWrite, chunkByteCount: Self.chunk)
      try again.expect(maker.written, "seed \(seed), reopened")
    }
  }

  @Test("Neighbouring pages go to the file in one write of at most 256 KiB")
  func runs() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let file = try Self.create(disk)
    let (page, _) = try leafPage(1, birth: 1)
    defer { page.bytes.deallocate() }
    let calls = disk.callCount
    let numbers = Array(1...100) + Array(103...104) + [200]
    var pages: [(number: PageNumber, page: Page)] = []
    for number in numbers.map({ PageNumber($0) }) {
      pages.append((number, try leafPage(number, birth: 1).0))
    }
    try file.write(pages)
    for (_, page) in pages { page.bytes.deallocate() }
    let writes = disk.recentCalls.filter { $0.contains("write") }
    let lengths: [Substring?] = writes.map { $0.split(separator: " ").dropFirst(2).first }
    #expect(lengths == ["262144", "147456", "8192", "4096"], "\(writes)")
    #expect(disk.callCount - calls <= 4 + 4)
    for number in numbers { _ = try file.fetch(PageNumber(number), birth: 1) }
  }

  @Test("A lost write is detected: the older page in the slot was born too early")
  func lostWrite() throws {
    let disk = MemoryFileSystem()
    let file = try Self.create(disk)
    let (old, image) = try leafPage(3, birth: 5)
    let (new, _) = try leafPage(3, birth: 8)
    defer { for page in [old, new] { page.bytes.deallocate() } }
    try file.write(3, new)
    _ = try file.fetch(3, birth: 8)
    try disk.overwrite("pages", image, at: PageFileLayout.offset(of: 3))
    expectDamage("a lost write", at: 16_384) { _ = try file.fetch(3, birth: 8) }
    expectDamage("never written", at: 8_192) { _ = try file.fetch(1, birth: 8) }
    let address = try file.fetch(3, birth: 5)
    #expect(file.isMapped(address))
  }

  @Test("A misdirected write is detected in the slot hit and in the slot missed")
  func misdirectedWrite() throws {
    let disk = MemoryFileSystem()
    let file = try Self.create(disk)
    var pages: [(number: PageNumber, page: Page)] = []
    for number: PageNumber in 1...9 { pages.append((number, try leafPage(number, birth: 5).0)) }
    defer { for (_, page) in pages { page.bytes.deallocate() } }
    try file.write(pages)
    let (new, image) = try leafPage(4, birth: 6)
    defer { new.bytes.deallocate() }
    try disk.overwrite("pages", image, at: PageFileLayout.offset(of: 7))
    expectDamage("the page missed") { _ = try file.fetch(4, birth: 6) }
    expectDamage("the page hit") { _ = try file.fetch(7, birth: 5) }
    expectDamage("the page hit, asked for as born then") { _ = try file.fetch(7, birth: 6) }
    for number: PageNumber in [1, 2, 3, 5, 6, 8, 9] { _ = try file.fetch(number, birth: 5) }
  }

  @Test("A page that cannot exist is an error, whatever its number")
  func impossiblePages() throws {
    let disk = MemoryFileSystem()
    let file = try Self.create(disk)
    let (page, _) = try leafPage(1, birth: 1)
    defer { page.bytes.deallocate() }
    try file.write(1, page)
    let last = PageFileLayout.maxPageNumber
    for number in [0, 2, 3, 100_000, last, last + 1, .max] as [PageNumber] {
      expectDamage("page \(number)") { _ = try file.fetch(number, birth: 1) }
    }
    let blob = try file.writeBlob([1, 2, 3], birth: 1) { 2 }
    expectDamage("a list page as a page of a tree") { _ = try file.fetch(2, birth: 1) }
    let tree = BlobReference(page: 1, birth: 1, byteCount: 3)
    expectDamage("a page of a tree as a list page") { _ = try file.readBlob(tree) }
    #expect(try file.readBlob(blob) == [1, 2, 3])
    let half = PageFileLayout.offset(of: 2) + 100
    try disk.open("pages", .readWrite).truncate(to: half)
    expectDamage("half a page") { _ = try file.readBlob(blob) }
  }

  @Test("A device that fails to read is an error of its own; a full one leaves what was written")
  func devices() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let file = try Self.create(disk)
    disk.setCapacity(100_000)
    let (page, image) = try leafPage(1, birth: 1)
    let (far, farImage) = try leafPage(90, birth: 1)
    defer { for page in [page, far] { page.bytes.deallocate() } }
    try file.write(1, page)
    #expect(try file.size() < 100_000, "room was reserved that there was not")
    do {
      try file.write(90, far)
      Issue.record("a full device took a page")
    } catch { #expect(error.code == .noSpace) }
    #expect(try file.image(1, birth: 1) == image)
    disk.setCapacity(nil)
    try file.write(90, far)
    #expect(try file.image(90, birth: 1) == farImage)
    #expect(try file.size() >= PageFileLayout.minGrowth)
    disk.fail(after: 1, with: .inputOutput)
    #expect(code { try file.sync() } == .io)
    // The device would accept the next sync, but it has lost the pages of the failed one.
    #expect(code { try file.sync() } == .io)
    disk.crash(after: 1)
    #expect(throws: TreeRingError.self) { try file.write(1, page) }
    #expect(throws: TreeRingError.self) { try file.fetch(1, birth: 1) }
    #expect(throws: TreeRingError.self) { try file.metas() }
  }

  @Test("Room is reserved ahead up to a limit only; writes beyond it still succeed")
  func reserveLimit() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let file = try Self.create(disk)
    file.limitReserve(to: 10)
    let (near, _) = try leafPage(1, birth: 1)
    let (far, image) = try leafPage(90, birth: 1)
    defer { for page in [near, far] { page.bytes.deallocate() } }
    try file.write(1, near)
    #expect(try file.size() == 10 * 4096)
    try file.write(90, far)
    #expect(try file.size() == PageFileLayout.offset(of: 91))
    #expect(try file.image(90, birth: 1) == image)
    file.limitReserve(to: 1000)
    let (next, _) = try leafPage(91, birth: 1)
    defer { next.bytes.deallocate() }
    try file.write(91, next)
    #expect(try file.size() >= PageFileLayout.offset(of: 91) + PageFileLayout.minGrowth)
  }

  @Test("Opening creates a file only in the mode for it")
  func modes() throws {
    let disk = MemoryFileSystem()
    for mode in [PageFile.Mode.readOnly, .readWrite] {
      do {
        _ = try PageFile.open("pages", fileSystem: disk, mode: mode)
        Issue.record("a file out of nothing")
      } catch { #expect(error.code == .notFound) }
    }
    let file = try PageFile.open("pages", fileSystem: disk, mode: .create)
    #expect(try file.metas().valid.isEmpty && file.metas().flaws.isEmpty)
    do {
      _ = try PageFile.open("pages", fileSystem: disk, mode: .create)
      Issue.record("made twice")
    } catch { #expect(error.code == .alreadyExists) }
  }
}
