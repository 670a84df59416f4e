// The real disk: locks, modes, the lz4 tool; and the checksum.

import Foundation
import Logging
import TestSupport
import Testing

@testable import TreeRingLog

struct FilesTests {
  @Test("A second writer is refused until the first releases the lock", arguments: [true, false])
  func lock(onDisk: Bool) throws {
    let folder = try TemporaryFolder()
    let system: any FileSystem = onDisk ? PosixFileSystem() : MemoryFileSystem()
    let path = folder.path + "/LOCK"
    let first = try StoreLock(path: path, fileSystem: system)
    do {
      _ = try StoreLock(path: path, fileSystem: system)
      Issue.record("two writers")
    } catch { #expect(error.code == .locked && error.file == path) }
    if onDisk, let other = try TemporaryFolder.run("flock", ["-n", path, "true"]) {
      #expect(other.0 != 0, "another process got the lock")
    }
    first.release()
    let second = try StoreLock(path: path, fileSystem: system)
    if onDisk, let other = try TemporaryFolder.run("flock", ["-n", path, "true"]) {
      #expect(other.0 != 0)
    }
    second.release()
    if onDisk, let other = try TemporaryFolder.run("flock", ["-n", path, "true"]) {
      #expect(other.0 == 0)
    }
  }

  @Test("A lock is released when its holder is deallocated")
  func lockEnds() throws {
    let system = MemoryFileSystem()
    do {
      let held = try StoreLock(path: "LOCK", fileSystem: system)
      #expect(throws: TreeRingError.self) { try StoreLock(path: "LOCK", fileSystem: system) }
      withExtendedLifetime(held) {}
    }
    _ = try StoreLock(path: "LOCK", fileSystem: system)
  }

  @Test("After a clean close the lz4 tool accepts every segment and yields payloads and values")
  func lz4Tool() throws {
    let folder = try TemporaryFolder()
    var options = SampleCommits.quiet()
    options.segmentSize = 30_000
    let path = folder.path + "/log"
    let system = PosixFileSystem()
    let log = try CommitLog(directory: path, fileSystem: system, options: options)
    var plain: [UInt8] = []
    for number in 1...150 as ClosedRange<CommitNumber> {
      let draft = SampleCommits.draft(number, number % 10 == 0 ? .full : .unsynced)
      plain += draft.payload
      for value in draft.values { plain += value.bytes }
      try log.complete(log.append(draft))
    }
    try log.close()
    #expect(verifyLog(directory: path, fileSystem: system) == [])
    var decoded: [UInt8] = []
    let names = try system.list(path).sorted()
    #expect(names.count > 2)
    for name in names {
      let file = "\(path)/\(name)"
      let attributes = try FileManager.default.attributesOfItem(atPath: file)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
      guard let test = try TemporaryFolder.run("lz4", ["-t", file]) else { return }
      #expect(test.0 == 0, "\(name)")
      decoded += try TemporaryFolder.run("lz4", ["-dc", file])?.1 ?? []
    }
    #expect(decoded == plain)
  }

  @Test("CRC-32C matches a known checksum, in hardware and software, whole and in pieces")
  func checksum() {
    #expect(crc32c(Array("123456789".utf8)) == 0xE306_9283)
    #expect(crc32c([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
    var random = SeededGenerator(seed: 3)
    for _ in 0..<300 {
      let count = Int.random(in: 0..<40_000, using: &random)
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      let whole = crc32c(bytes)
      #expect(whole == softwareCRC32C(bytes))
      let split = Int.random(in: 0...count, using: &random)
      #expect(crc32c(Array(bytes[split...]), seed: crc32c(Array(bytes[..<split]))) == whole)
    }
  }
}
