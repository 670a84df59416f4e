// Bytes after the last commit that imitate headers, each as long as the rest of the file. Judging
// them costs a multiple of the file, not its square.

import TestSupport
import Testing

@testable import TreeRingLog

struct ForgedHeaderTests {
  /// A log of one commit, followed by headers of its segment at their own offsets with wrong
  /// checksums.
  private static func forged(spacing: Int, count: Int) throws -> (MemoryFileSystem, String) {
    let disk = MemoryFileSystem()
    let log = try CommitLog(
      directory: "log", fileSystem: disk, options: DamageTests.options(.create))
    try log.complete(log.append(SampleCommits.draft(1)))
    let path = try #require(log.segments.last?.path)
    let end = Int(try #require(log.segments.last?.byteCount))
    var bytes = Array(try #require(disk.contents(of: path)).prefix(end))
    try log.close()
    let salt = bytes.withUnsafeBytes { $0.number(UInt64.self, at: Format.Head.salt) }
    bytes += Array(repeating: 1, count: spacing * (count + 1))
    let size = bytes.count
    bytes.withUnsafeMutableBytes { bytes in
      for index in 0..<count {
        let offset = end + index * spacing
        let values = (size - offset - Format.Commit.values) / Format.Value.byteCount
        let length = Format.Commit.values + values * Format.Value.byteCount
        let header = UnsafeMutableRawBufferPointer(rebasing: bytes[offset...])
        header.put(Format.skippableMagic, at: Format.Head.skippableMagic)
        header.put(UInt32(length - 8), at: Format.Head.skippableLength)
        header.put(Format.magic, at: Format.Head.magic)
        header[Format.Head.version] = Format.version
        header[Format.Head.kind] = Format.Kind.commit.rawValue
        header.put(salt, at: Format.Head.salt)
        header.put(UInt64(offset), at: Format.Head.offset)
        header.put(UInt64(end + 1), at: Format.Head.synced)
        header.put(UInt32(values), at: Format.Commit.valueCount)
      }
    }
    disk.setContents(of: path, to: bytes)
    return (disk, path)
  }

  @Test("Many overlapping headers in the tail are refused after reading a few times the file")
  func overlapping() throws {
    let (disk, path) = try Self.forged(spacing: 8_192, count: 250)
    let bytes = try #require(disk.contents(of: path))
    let files = CountedFileSystem(disk)
    let refused = #expect(throws: TreeRingError.self) {
      try CommitLog(directory: "log", fileSystem: files, options: DamageTests.options(.readWrite))
    }
    #expect(refused?.code == .corruption)
    #expect(disk.contents(of: path) == bytes)
    #expect(files.reads.take().bytes < 20 * bytes.count)
    let findings = verifyLog(directory: "log", fileSystem: files)
    #expect(!findings.isEmpty)
    #expect(files.reads.take().bytes < 40 * bytes.count)
  }

  @Test("One forged header is a torn tail: the commits synced before it stay")
  func alone() throws {
    let (disk, _) = try Self.forged(spacing: 500, count: 1)
    let log = try CommitLog(
      directory: "log", fileSystem: disk, options: DamageTests.options(.readWrite))
    #expect(log.completed == 1)
    #expect(try log.readPayload(of: 1) { [UInt8]($1) } == SampleCommits.payload(1))
    try log.close()
  }

  @Test("The first bytes of a header at the end of the file are not a header", arguments: 4...60)
  func atTheEnd(distance: Int) throws {
    let (disk, path) = try Self.forged(spacing: 500, count: 0)
    var bytes = try #require(disk.contents(of: path))
    let offset = bytes.count - distance
    bytes.withUnsafeMutableBytes { $0.put(Format.skippableMagic, at: offset) }
    disk.setContents(of: path, to: bytes)
    let log = try CommitLog(
      directory: "log", fileSystem: disk, options: DamageTests.options(.readWrite))
    #expect(log.completed == 1)
    try log.close()
  }
}
