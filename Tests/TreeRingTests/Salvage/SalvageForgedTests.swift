// Salvage of logs with numbers that no store has written: it ends, in space that the input bounds.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Salvage of forged logs")
struct SalvageForgedTests {
  private static let options = StoreOptions(segmentSize: 1500, logger: quietLogger)
  private let newest: CommitNumber
  private var files: [String: [UInt8]] = [:]
  /// By commit: the file and the offset of its frame.
  private var frames: [CommitNumber: (name: String, start: Int)] = [:]

  init() throws {
    let disk = MemoryFileSystem()
    let store = try Store(path: "store", fileSystem: disk, options: Self.options)
    for number in 1...26 {
      try store.put([UInt8](repeating: UInt8(number), count: 60), for: Key("k\(number % 7)"))
    }
    newest = store.newestCommit
    try store.close()
    for name in try disk.list("store/log") {
      files[name] = disk.contents(of: "store/log/\(name)")
      try dumpSegment(file: "store/log/\(name)", fileSystem: disk) { piece in
        guard piece.state == .commit, let commit = piece.commit else { return }
        frames[commit] = (name, Int(piece.offset))
      }
    }
  }

  private func salvage(_ files: [String: [UInt8]]) throws -> (SalvageReport, MemoryFileSystem) {
    let disk = MemoryFileSystem()
    for folder in ["store", "store/log"] { try disk.makeDirectory(folder) }
    for (name, bytes) in files { disk.setContents(of: "store/log/\(name)", to: bytes) }
    return (try Store.salvage(from: "store", to: "saved", on: disk, options: Self.options), disk)
  }

  /// Writes a number into a header, and the matching checksum.
  private func forge(
    _ number: UInt64, at field: Int, ofHeaderAt start: Int, in bytes: inout [UInt8]
  ) {
    func put(_ value: UInt64, count: Int, at offset: Int) {
      for index in 0..<count {
        bytes[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index))
      }
    }
    put(number, count: 8, at: start + field)
    let length = (0..<4).reduce(8) { $0 + Int(bytes[start + 4 + $1]) << (8 * $1) }
    let head = crc32c(Array(bytes[start..<start + 12]))
    put(
      UInt64(crc32c(Array(bytes[start + 16..<start + length]), seed: head)), count: 4,
      at: start + 12)
  }

  @Test("A stray file with a huge number in its name loses nothing and fills nothing")
  func strayFile() throws {
    let stray = "10000000000000000000.1.lz4"
    for content in [[], [UInt8](repeating: 0xA7, count: 900)] {
      var files = files
      files[stray] = content
      if content.isEmpty, files.count < 2 { continue }
      let (report, _) = try salvage(files)
      #expect(report.lostCommits == [] && report.lastCommit == newest && !report.isComplete)
      #expect(report.doubts.map(\.file) == ["store/log/\(stray)"])
    }
    // Salvage believes the header of a segment under a wrong name.
    var files = files
    let name = try #require(files.keys.sorted().first)
    let first = files.removeValue(forKey: name)
    files[stray] = first
    let (report, _) = try salvage(files)
    #expect(report.isComplete && report.commitCount == newest)
  }

  @Test(
    "A forged number in a sound header counts as no commit, and nothing traps",
    arguments: [0, 1 << 40, UInt64(1) << 47, .max - 1, .max] as [UInt64])
  func forgedNumbers(_ number: UInt64) throws {
    for commit in [1, 13, newest] as [CommitNumber] {
      var files = files
      let frame = try #require(frames[commit])
      var bytes = try #require(files[frame.name])
      forge(number, at: 48, ofHeaderAt: frame.start, in: &bytes)
      files[frame.name] = bytes
      let (report, _) = try salvage(files)
      // The closing mark follows the last commit, so the commit existed.
      #expect(report.lostCommits == [commit...commit] || !report.doubts.isEmpty)
      #expect(report.commitCount == newest - 1 && !report.isComplete)
    }
    // The first commit, the last commit and the horizon in a segment's header.
    for (name, bytes) in files {
      for field in [56, 64, 72] {
        var files = files
        var bytes = bytes
        forge(number, at: field, ofHeaderAt: 0, in: &bytes)
        files[name] = bytes
        let (report, disk) = try salvage(files)
        #expect(report.lastCommit < 1 << 47)
        let saved = try Store(path: "saved", fileSystem: disk, options: Self.options)
        #expect(try saved.checkInvariants() == [])
        try saved.close()
      }
    }
  }

  @Test("A gap too wide to fill becomes one segment; later commits keep their numbers")
  func wideGap() throws {
    var files = files
    let name = try #require(files.keys.max())
    let first = try #require(frames.filter { $0.value.name == name }.keys.min())
    let moved = UInt64(1) << 40
    let last = files.removeValue(forKey: name)
    var bytes = try #require(last)
    forge(moved, at: 56, ofHeaderAt: 0, in: &bytes)
    for (commit, frame) in frames where frame.name == name {
      forge(moved + commit - first, at: 48, ofHeaderAt: frame.start, in: &bytes)
    }
    files["0000000\(moved).0.lz4"] = bytes
    let (report, disk) = try salvage(files)
    #expect(report.lostCommits == [first...moved - 1] && report.commitCount == newest)
    #expect(report.lastCommit == moved + newest - first && report.horizon == moved - 1)
    let saved = try Store(path: "saved", fileSystem: disk, options: Self.options)
    #expect(saved.newestCommit == report.lastCommit && saved.horizon == moved - 1)
    #expect(code { try saved.snapshot(at: .commit(first - 1)) } == .beyondHorizon)
    #expect(try saved.checkInvariants() == [])
    #expect(try saved.snapshot().count(in: "blobs") == 7)
    try saved.put([1], for: "after")
    try saved.close()
    #expect(verifyLog(directory: "saved/log", fileSystem: disk) == [])
  }
}
