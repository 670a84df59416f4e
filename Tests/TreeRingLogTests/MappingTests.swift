// Files in memory: a mapping holds the bytes that a read returns, on the disk and on both
// substitutes for it. Also the smaller calls of the file system interface: probing locks, second
// names, removing folders.

import Foundation
import TestSupport
import Testing

@testable import TreeRingLog

struct MappingTests {
  enum Kind: CaseIterable { case disk, memory, simulated }

  /// A file system and a folder in it.
  struct TestFolder {
    let system: any FileSystem
    let path: String
    let folder: TemporaryFolder?

    init(_ kind: Kind) throws {
      switch kind {
      case .disk:
        let folder = try TemporaryFolder()
        (system, path, self.folder) = (PosixFileSystem(), folder.path, folder)
      case .memory: (system, path, folder) = (MemoryFileSystem(), "folder", nil)
      case .simulated: (system, path, folder) = (SimulatedFileSystem(seed: 1), "folder", nil)
      }
      try system.makeDirectory(path)
    }

    func file(_ name: String, _ bytes: [UInt8] = []) throws -> any File {
      let file = try system.open(path + "/" + name, .createNew)
      try bytes.withUnsafeBytes { try file.write($0, at: 0) }
      return file
    }
  }

  static func write(_ bytes: [UInt8], at offset: UInt64, to file: any File) throws {
    try bytes.withUnsafeBytes { try file.write($0, at: offset) }
  }

  static func read(_ file: any File, _ count: Int, at offset: UInt64) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let done = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
    return Array(bytes[..<done])
  }

  @Test(
    "A mapping beyond the file's end equals reads after every kind of change",
    arguments: Kind.allCases)
  func equalsReads(kind: Kind) throws {
    let page = 65_536
    for seed in seeds(1...4) {
      var random = SeededGenerator(seed: seed)
      let folder = try TestFolder(kind)
      let file = try folder.file("pages", [UInt8](repeating: 7, count: 3 * page))
      let mappings = [
        try file.map(at: 0, count: 1 << 30),
        try file.map(at: UInt64(page), count: 2 * page),
        try file.map(at: UInt64(4 * page), count: 64 << 20),
      ]
      let starts = [0, page, 4 * page]
      for step in 0..<60 {
        let size = Int(try file.size())
        switch Int.random(in: 0..<10, using: &random) {
        case 0: try file.truncate(to: UInt64(Int.random(in: page...(8 * page), using: &random)))
        case 1: _ = try file.allocate(UInt64(page), at: UInt64(size))
        default:
          let bytes = (0..<Int.random(in: 1..<9_000, using: &random)).map { _ in
            UInt8.random(in: 0...255, using: &random)
          }
          let offset = UInt64(Int.random(in: 0..<(7 * page), using: &random))
          try Self.write(bytes, at: offset, to: file)
        }
        let all = try Self.read(file, Int(try file.size()), at: 0)
        for (start, mapping) in zip(starts, mappings) where start < all.count {
          let isEqual = mapping.withBytes { mapped in
            all.withUnsafeBytes { file in
              let count = min(file.count - start, mapped.count)
              guard let a = file.baseAddress, let b = mapped.baseAddress else { return false }
              return memcmp(a + start, b, count) == 0
            }
          }
          #expect(isEqual, "seed \(seed), step \(step)")
        }
      }
    }
  }

  @Test("A mapping shows writes through another opening of the file", arguments: Kind.allCases)
  func shared(kind: Kind) throws {
    let folder = try TestFolder(kind)
    let file = try folder.file("word", [UInt8](repeating: 0, count: 4096))
    let other = try folder.system.open(folder.path + "/word", .readOnly)
    let mapping = try other.map(at: 0, count: 4096)
    other.close()
    try Self.write([1, 2, 3], at: 16, to: file)
    #expect(mapping.withBytes { Array($0[15..<20]) } == [0, 1, 2, 3, 0])
  }

  @Test("A failed mapping is a typed error", arguments: [Kind.disk, .simulated])
  func refused(kind: Kind) throws {
    let folder = try TestFolder(kind)
    let file = try folder.file("pages")
    if let disk = folder.system as? SimulatedFileSystem {
      disk.crash(after: 1)
      #expect(throws: TreeRingError.self) { try file.sync(.full) }
      #expect(throws: TreeRingError.self) { try file.map(at: 0, count: 4096) }
    } else {
      file.close()
      #expect(throws: TreeRingError.self) { try file.map(at: 0, count: 4096) }
    }
  }

  @Test("Disks after a crash or a kill share no memory with the original")
  func clones() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let file = try disk.open("pages", .createNew)
    try Self.write([1, 2, 3, 4], at: 0, to: file)
    try file.sync(.full)
    try disk.syncDirectory("")
    let before = try file.map(at: 0, count: 4096)
    let killed = try disk.afterKill().open("pages", .readWrite)
    let crashed = try disk.afterCrash(seed: 1).open("pages", .readWrite)
    let mappings = try [before] + [killed, crashed].map { try $0.map(at: 0, count: 4096) }
    #expect(try Self.read(killed, 4, at: 0) == [1, 2, 3, 4])
    #expect(try Self.read(crashed, 4, at: 0) == [1, 2, 3, 4])
    try Self.write([5], at: 0, to: killed)
    try Self.write([6], at: 0, to: crashed)
    #expect(mappings.map { $0.withBytes { $0[0] } } == [1, 5, 6])
  }

  @Test("Probing a lock reports a holder and creates nothing", arguments: Kind.allCases)
  func probes(kind: Kind) throws {
    let folder = try TestFolder(kind)
    let path = folder.path + "/LOCK"
    #expect(try !folder.system.isLocked(path) && !folder.system.exists(path))
    let held = try folder.system.lock(path)
    #expect(try folder.system.isLocked(path) && folder.system.exists(path))
    #expect(throws: TreeRingError.self) { try folder.system.lock(path) }
    held.release()
    #expect(try !folder.system.isLocked(path))
    let again = try folder.system.lock(path)
    #expect(try folder.system.isLocked(path))
    withExtendedLifetime(again) {}
  }

  @Test("A second name is equivalent to the first", arguments: Kind.allCases)
  func links(kind: Kind) throws {
    let folder = try TestFolder(kind)
    let (first, second) = (folder.path + "/first", folder.path + "/second")
    _ = try folder.file("first", [1, 2, 3])
    try folder.system.link(first, to: second)
    do {
      try folder.system.link(first, to: second)
      Issue.record("a name was taken twice")
    } catch { #expect(error.code == .alreadyExists) }
    try folder.system.unlink(first)
    #expect(try Self.read(folder.system.open(second, .readOnly), 9, at: 0) == [1, 2, 3])
    do {
      try folder.system.link(first, to: folder.path + "/third")
      Issue.record("a missing file got a second name")
    } catch { #expect(error.code == .notFound) }
  }

  @Test("Only an empty folder is removed", arguments: Kind.allCases)
  func removesFolders(kind: Kind) throws {
    let folder = try TestFolder(kind)
    _ = try folder.file("file")
    #expect(throws: TreeRingError.self) { try folder.system.removeDirectory(folder.path) }
    #expect(try folder.system.exists(folder.path + "/file"))
    try folder.system.unlink(folder.path + "/file")
    try folder.system.removeDirectory(folder.path)
    #expect(try !folder.system.exists(folder.path))
    #expect(throws: TreeRingError.self) { try folder.system.removeDirectory(folder.path) }
  }
}
