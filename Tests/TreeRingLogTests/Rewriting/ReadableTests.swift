// The reads of salvage: after any damage, every commit with unchanged bytes is found, nothing is
// invented, and every missing commit is named.

import Logging
import TestSupport
import Testing

@testable import TreeRingLog

struct ReadableTests {
  /// The log of a workload, with the range of each commit's frame.
  private struct Sample {
    var files: [String: [UInt8]] = [:]
    /// By commit: its current payload and object; nil if removed.
    var commits: [CommitNumber: (payload: [UInt8], object: [UInt8]?)] = [:]
    /// By commit: its file and frame.
    var frames: [CommitNumber: (name: String, range: Range<Int>)] = [:]
    var newest: CommitNumber = 0
    var removed: Set<CommitNumber> = []

    init(seed: UInt64, isClosed: Bool) throws {
      let work = RewriteWork(seed: seed)
      work.segmentSize = [500, 2_000, 50_000].randomElement(using: &work.random) ?? 500
      let log = try work.open()
      for _ in 0..<40 { try work.commit(log, .unsynced) }
      if Bool.random(using: &work.random) {
        work.horizon = CommitNumber.random(in: 5...35, using: &work.random)
        for segment in log.segments where segment.isSealed { try work.rewrite(log, segment) }
        for _ in 0..<3 { try work.commit(log, .unsynced) }
      }
      newest = log.completed
      for number in 1...newest {
        let payload = Result { () throws(TreeRingError) in
          try log.readPayload(of: number) { [UInt8]($1) }
        }
        if case .failure(let error) = payload, error.code == .beyondHorizon {
          removed.insert(number)
        } else {
          let object = try? log.value(commit: number, operation: 2, part: .object)
          commits[number] = (try payload.get(), object)
        }
      }
      if isClosed { try log.close() } else { try log.sync() }
      for name in try work.disk.list("log") {
        files[name] = work.disk.contents(of: "log/\(name)")
        var frames: [CommitNumber: (String, Range<Int>)] = [:]
        try dumpSegment(file: "log/\(name)", fileSystem: work.disk) { piece in
          guard piece.state == .commit, let commit = piece.commit else { return }
          frames[commit] = (name, Int(piece.offset)..<Int(piece.offset + piece.length))
        }
        self.frames.merge(frames) { _, new in new }
      }
    }

    func disk(_ files: [String: [UInt8]]) throws -> MemoryFileSystem {
      let disk = MemoryFileSystem()
      try disk.makeDirectory("log")
      for (name, bytes) in files { disk.setContents(of: "log/\(name)", to: bytes) }
      return disk
    }
  }

  private struct Found {
    var commits: [CommitNumber: (payload: [UInt8], object: [UInt8]?)] = [:]
    var log = ReadableLog()
  }

  private func scan(_ disk: any FileSystem) throws -> Found {
    var found = Found()
    var last: CommitNumber = 0
    found.log = try scanReadable(directory: "log", fileSystem: disk) { commit in
      #expect(commit.header.number > last)
      last = commit.header.number
      found.commits[last] = (
        [UInt8](commit.payload), try commit.value(operation: 2, part: .object)
      )
      return true
    }
    #expect(found.log.commitCount == UInt64(found.commits.count))
    return found
  }

  @Test("An undamaged log is readable, and nothing is reported as lost", arguments: seeds(0...9))
  func undamaged(seed: UInt64) throws {
    let sample = try Sample(seed: seed, isClosed: seed % 2 == 0)
    let found = try scan(sample.disk(sample.files))
    #expect(found.log.damage == [] && found.log.lostCommits == [])
    #expect(found.log.lastCommit == sample.newest)
    check(found, sample, affected: [], "seed \(seed)")
  }

  @Test("Random damage loses only commits whose bytes it changed", arguments: seeds(0...59))
  func randomDamage(seed: UInt64) throws {
    let sample = try Sample(seed: seed, isClosed: seed % 2 == 0)
    var random = SeededGenerator(seed: seed)
    for round in 0..<12 {
      var files = sample.files
      var affected: [(String, Range<Int>)] = []
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        guard let name = files.keys.sorted().randomElement(using: &random),
          var bytes = files[name], !bytes.isEmpty
        else { continue }
        let start = Int.random(in: bytes.indices, using: &random)
        let longest = min(bytes.count - start, [1, 30, 900].randomElement(using: &random) ?? 1)
        let range = start..<(start + Int.random(in: 1...longest, using: &random))
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
          bytes.replaceSubrange(range, with: Array(repeating: 0, count: range.count))
          affected.append((name, range))
        case 1:
          bytes.removeLast(bytes.count - start)
          affected.append((name, start..<Int.max))
        case 2:
          let other = Int.random(in: 0...bytes.count - range.count, using: &random)
          bytes.replaceSubrange(range, with: bytes[other..<other + range.count])
          affected.append((name, range))
        default:
          for index in range { bytes[index] = UInt8.random(in: 0...255, using: &random) }
          affected.append((name, range))
        }
        files[name] = bytes
      }
      let found = try scan(sample.disk(files))
      check(found, sample, affected: affected, "seed \(seed) round \(round)")
    }
  }

  /// Checks that every undamaged commit is present, every present one is right, and every other is
  /// named.
  private func check(
    _ found: Found, _ sample: Sample, affected: [(String, Range<Int>)], _ context: String
  ) {
    for number in 1...sample.newest {
      let now = found.commits[number]
      guard let expected = sample.commits[number], let frame = sample.frames[number] else {
        #expect(now == nil && sample.removed.contains(number), "\(context): \(number) is back")
        continue
      }
      let isAffected = affected.contains { name, range in
        name == frame.name && range.overlaps(frame.range)
      }
      if let now {
        #expect(now.payload == expected.payload, "\(context): commit \(number)")
        #expect(
          now.object == expected.object || isAffected && now.object == nil,
          "\(context): commit \(number)")
      } else {
        #expect(isAffected, "\(context): commit \(number) is lost")
        let isNamed = found.log.lostCommits.contains { $0.contains(number) }
        #expect(
          isNamed || number > found.log.lastCommit, "\(context): \(number) lost but not reported")
      }
      if isAffected, now == nil || now?.object != expected.object {
        #expect(!found.log.damage.isEmpty, "\(context)")
      }
    }
    for number in found.log.lostCommits.flatMap({ Array($0) }) {
      #expect(found.commits[number] == nil && number <= sample.newest, "\(context)")
    }
  }

  @Test("A missing segment loses only its own commits; a copy elsewhere replaces damaged ones")
  func missingAndCopied() throws {
    let sample = try Sample(seed: 3, isClosed: true)
    for name in sample.files.keys {
      var files = sample.files
      files[name] = nil
      let found = try scan(sample.disk(files))
      for (number, frame) in sample.frames {
        #expect((found.commits[number] == nil) == (frame.name == name))
      }
    }
    // The same commits in a lower generation, as after a crash.
    let work = RewriteWork(seed: 5)
    work.segmentSize = 50_000
    let log = try work.open()
    for _ in 0..<10 { try work.commit(log) }
    try log.seal()
    let segment = try #require(log.segments.first)
    let old = try #require(work.disk.contents(of: segment.path))
    try log.rewrite(segment: 1, horizon: 0) { _, _ in .keep }
    let path = try #require(log.segments.first?.path)
    var new = try #require(work.disk.contents(of: path))
    for index in 200..<400 { new[index] = 0xEE }
    let names = [segment.path, path].map { String($0.dropFirst(4)) }
    let disk = try sample.disk([names[0]: old, names[1]: new])
    let found = try scan(disk)
    #expect((1...10).allSatisfy { found.commits[$0] != nil })
    #expect(found.log.lostCommits == [] && !found.log.damage.isEmpty)
    // Alone, it lacks some commits.
    let alone = try scan(sample.disk([names[1]: new]))
    #expect(!alone.log.lostCommits.isEmpty && alone.commits.count > 4)
  }

  @Test("Segments that mode `prefix` set aside are read, unless the log has diverged since")
  func setAside() throws {
    for goesOn in [false, true] {
      let work = RewriteWork(seed: 6)
      work.segmentSize = 900
      let log = try work.open()
      for _ in 0..<20 { try work.commit(log) }
      let damaged = log.segments[1]
      try log.close()
      let bytes = try #require(work.disk.contents(of: damaged.path))
      let file = try work.disk.open(damaged.path, .readWrite)
      let half = bytes.count / 2
      let result: Result<Void, TreeRingError> = [0xAA, 0xAA].withUnsafeBytes { bytes in
        Result { () throws(TreeRingError) in try file.write(bytes, at: UInt64(half)) }
      }
      try result.get()
      var options = LogOptions(access: .readWrite, segmentSize: 900, recovery: .prefix)
      options.logger.logLevel = .critical
      let cut = try CommitLog(directory: "log", fileSystem: work.disk, options: options)
      let kept = cut.completed
      #expect(kept < 19)
      if goesOn {
        for number in kept + 1...kept + 3 {
          try cut.complete(
            cut.append(
              CommitDraft(
                number: number, timestamp: Timestamp(microseconds: 1000), operationCount: 1,
                payload: [9])))
        }
      }
      try cut.close()
      let found = try scan(work.disk)
      if goesOn {
        #expect(found.log.lastCommit == kept + 3 && found.log.lostCommits == [])
      } else {
        #expect(found.commits.count == 19 && found.log.lostCommits == [kept + 1...kept + 1])
      }
    }
  }

  @Test("Random bytes yield no commit and no trap", arguments: seeds(0...19))
  func randomBytes(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let disk = MemoryFileSystem()
    try disk.makeDirectory("log")
    let magic: [UInt8] = [0x57, 0x2A, 0x4D, 0x18]
    var bytes: [UInt8] = []
    for _ in 0..<400 {
      bytes += Bool.random(using: &random) ? magic : [UInt8.random(in: 0...255, using: &random)]
    }
    disk.setContents(of: "log/00000000000000000001.0.lz4", to: bytes)
    let found = try scan(disk)
    #expect(found.commits.isEmpty && found.log.damage.count == 1)
  }
}
