// Damage in compacted segments: each byte changed, each cut, in turn. The result is a typed error
// or the written data; a compacted segment never has a torn tail.

import Logging
import TestSupport
import Testing

@testable import TreeRingLog

struct CompactedDamageTests {
  /// A log of three segments: two compacted, the last one active or compacted too.
  struct Sample {
    var files: [String: [UInt8]] = [:]
    /// The content of each commit; nil if it was removed.
    var commits: [[UInt8]?] = []
    var value: [UInt8] = []
    /// The position of the last commit.
    let position: LogPosition

    init(endsCompacted: Bool) throws {
      let disk = MemoryFileSystem()
      var options = DamageTests.options(.create)
      options.segmentSize = 400
      let log = try CommitLog(directory: "log", fileSystem: disk, options: options)
      for number in 1...10 as ClosedRange<CommitNumber> {
        let values = [
          LoggedValue(operation: 0, part: .object, bytes: SampleCommits.payload(number * 5))
        ]
        let draft = CommitDraft(
          number: number, timestamp: Timestamp(microseconds: Int64(number)), operationCount: 1,
          payload: SampleCommits.payload(number * 3), values: number == 2 ? values : [])
        try log.complete(log.append(draft))
        commits.append(draft.payload)
        if number == 2 { value = values[0].bytes }
      }
      if endsCompacted { try log.seal() }
      for segment in log.segments where segment.isSealed {
        try log.rewrite(segment: segment.firstCommit, horizon: 9) { header, _ in
          switch header.number {
          case 1, 4, 5: return .drop
          case 3: return .replace(payload: [1, 2, 3], keptValues: [])
          default: return .keep
          }
        }
      }
      for number in [1, 4, 5] { commits[number - 1] = nil }
      commits[2] = [1, 2, 3]
      try log.sync()
      position = try log.position(of: 10)
      try log.close()
      for name in try disk.list("log") { files[name] = disk.contents(of: "log/\(name)") }
      #expect(files.count > 2)
    }

    func disk(replacing name: String, with bytes: [UInt8]) throws -> MemoryFileSystem {
      let disk = MemoryFileSystem()
      try disk.makeDirectory("log")
      for (other, contents) in files {
        disk.setContents(of: "log/\(other)", to: other == name ? bytes : contents)
      }
      return disk
    }

    /// Reads everything. Returns the error of damage that prevents it, if any.
    func read(
      _ disk: MemoryFileSystem, _ access: LogAccess, _ mode: RecoveryMode = .tail,
      trusting position: LogPosition? = nil
    ) -> TreeRingError? {
      do {
        var options = DamageTests.options(access, mode)
        options.trusted = position
        let log = try CommitLog(directory: "log", fileSystem: disk, options: options)
        if position != nil {
          // First, because content that was checked once counts as sound.
          for moment in 1...10 where commits[moment - 1] != nil {
            let found = try log.newest(atOrBefore: Timestamp(microseconds: Int64(moment)))
            #expect(found == CommitNumber(moment))
          }
        }
        var found: [[UInt8]?] = []
        for number in 1...max(log.completed, 1) where log.completed > 0 {
          do {
            found.append(try log.readPayload(of: number) { [UInt8]($1) })
          } catch  where error.code == .beyondHorizon {
            found.append(nil)
          }
        }
        if mode != .prefix { #expect(log.completed == 10) }
        #expect(found == Array(commits[..<found.count]))
        var replayed: [[UInt8]] = []
        try log.replay(from: 1, through: log.completed) { _, bytes in
          replayed.append([UInt8](bytes))
          return true
        }
        #expect(replayed == found.compactMap { $0 })
        if log.completed >= 2 {
          #expect(try log.value(commit: 2, operation: 0, part: .object) == value)
        }
        return nil
      } catch { return error }
    }

    /// Opens the log with the last commit's position to trust, and replays all commits at once.
    func replayAlone(_ disk: MemoryFileSystem) -> TreeRingError? {
      do {
        var options = DamageTests.options(.readOnly)
        options.trusted = position
        let log = try CommitLog(directory: "log", fileSystem: disk, options: options)
        var replayed: [[UInt8]] = []
        try log.replay(from: 1, through: log.completed) { _, bytes in
          replayed.append([UInt8](bytes))
          return true
        }
        #expect(replayed == commits.compactMap { $0 })
        return nil
      } catch { return error }
    }
  }

  @Test("Any changed byte of a compacted segment is corruption", arguments: [true, false])
  func flipEveryByte(endsCompacted: Bool) throws {
    let sample = try Sample(endsCompacted: endsCompacted)
    for (name, bytes) in sample.files {
      for index in bytes.indices {
        var changed = bytes
        changed[index] ^= [0x01, 0x80, 0xFF, 0x24][index % 4]
        let disk = try sample.disk(replacing: name, with: changed)
        for access in [LogAccess.readOnly, .readWrite] {
          let error = sample.read(disk, access)
          #expect(error?.code == .corruption, "\(name) changed at \(index): \(error as Any)")
        }
        #expect(disk.contents(of: "log/\(name)") == changed)
        #expect(!verifyLog(directory: "log", fileSystem: disk).isEmpty, "\(name) at \(index)")
        if index % 7 == 0 {
          // If the log cannot be cut, the flaw is thrown as in mode `tail`.
          let error = sample.read(disk, .readWrite, .prefix)
          #expect(error == nil || error?.code == .corruption, "\(name) at \(index)")
        }
      }
    }
  }

  @Test(
    "The same holds when opening trusts a later position: reads are correct or throw",
    arguments: [true, false], [false, true])
  func flipEveryByteBefore(endsCompacted: Bool, replays: Bool) throws {
    let sample = try Sample(endsCompacted: endsCompacted)
    var refused = 0
    for (name, bytes) in sample.files {
      for index in bytes.indices {
        var changed = bytes
        changed[index] ^= [0x01, 0x80, 0xFF, 0x04][index % 4]
        let disk = try sample.disk(replacing: name, with: changed)
        let error =
          replays
          ? sample.replayAlone(disk) : sample.read(disk, .readOnly, trusting: sample.position)
        #expect(error == nil || error?.code == .corruption, "\(name) at \(index)")
        if error != nil { refused += 1 }
      }
    }
    #expect(refused > 100)
  }

  @Test("A compacted segment cut at any byte is corruption", arguments: [true, false])
  func cutAtEveryByte(endsCompacted: Bool) throws {
    let sample = try Sample(endsCompacted: endsCompacted)
    for (name, bytes) in sample.files where !name.contains(".0.") {
      for count in 0..<bytes.count {
        let disk = try sample.disk(replacing: name, with: Array(bytes[..<count]))
        let error = sample.read(disk, .readWrite)
        #expect(error?.code == .corruption, "\(name) cut at \(count): \(error as Any)")
      }
    }
  }

  @Test("A missing compacted segment is corruption; the last one, because of its horizon")
  func missingSegment() throws {
    let sample = try Sample(endsCompacted: true)
    for name in sample.files.keys {
      let disk = try sample.disk(replacing: name, with: [])
      try disk.unlink("log/\(name)")
      let error = sample.read(disk, .readWrite)
      #expect(error?.code == .corruption, "\(name): \(error as Any)")
    }
  }

  @Test("Inspection shows the frames of a compacted segment")
  func dump() throws {
    let sample = try Sample(endsCompacted: true)
    for (name, bytes) in sample.files {
      let disk = try sample.disk(replacing: name, with: bytes)
      var pieces: [FrameDescription] = []
      try dumpSegment(file: "log/\(name)", fileSystem: disk) { pieces.append($0) }
      #expect(pieces.first?.state == .segmentHeader && pieces.last?.state == .directory)
      #expect(pieces.dropFirst().dropLast().allSatisfy { $0.state == .commit })
      #expect(pieces.reduce(0) { $0 + $1.length } == UInt64(bytes.count))
    }
  }
}
