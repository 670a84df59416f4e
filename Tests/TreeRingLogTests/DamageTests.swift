// Bytes cut off and bytes changed, each in turn: the result is a clean prefix or a typed error,
// never a trap, never other data.

import Logging
import TestSupport
import Testing

@testable import TreeRingLog

struct DamageTests {
  /// A small log: its files and its content.
  struct Sample {
    var files: [String: [UInt8]] = [:]
    var payloads: [[UInt8]] = []
    var value: [UInt8] = Array("a value of its own, a value of its own".utf8)

    init(segmentSize: UInt64, commits: Int, isClosed: Bool) throws {
      let disk = MemoryFileSystem()
      var options = DamageTests.options(.create)
      options.segmentSize = segmentSize
      var random = SeededGenerator(seed: 11)
      let salts = (0..<64).map { _ in random.next() }
      let box = Counter()
      options.random = { salts[box.next() % 64] }
      let log = try CommitLog(directory: "log", fileSystem: disk, options: options)
      for number in 1...CommitNumber(commits) {
        let payload = Array("commit \(number) commit \(number)".utf8)
        payloads.append(payload)
        let values =
          number == 2 ? [LoggedValue(operation: 0, part: .object, bytes: value)] : []
        try log.complete(
          log.append(
            CommitDraft(
              number: number, timestamp: Timestamp(microseconds: Int64(number)),
              operationCount: 1, payload: payload, values: values,
              durability: number % 2 == 0 ? .full : .unsynced)))
      }
      if isClosed { try log.close() }
      for name in try disk.list("log") { files[name] = disk.contents(of: "log/\(name)") }
    }

    func disk(replacing name: String, with bytes: [UInt8]) throws -> MemoryFileSystem {
      let disk = MemoryFileSystem()
      try disk.makeDirectory("log")
      for (other, contents) in files {
        disk.setContents(of: "log/\(other)", to: other == name ? bytes : contents)
      }
      return disk
    }
  }

  static func options(_ access: LogAccess, _ recovery: RecoveryMode = .tail) -> LogOptions {
    var options = LogOptions(access: access, recovery: recovery)
    options.logger.logLevel = .critical
    return options
  }

  /// Opens and compares. Returns the typed error if opening or reading throws one.
  @discardableResult
  func open(
    _ disk: MemoryFileSystem, _ sample: Sample, _ access: LogAccess,
    _ context: String, _ recovery: RecoveryMode = .tail
  ) -> Result<Int, TreeRingError> {
    do {
      let log = try CommitLog(
        directory: "log", fileSystem: disk, options: Self.options(access, recovery))
      var next = 0
      try log.replay(from: 1, through: log.completed) { _, bytes in
        #expect(
          next < sample.payloads.count && [UInt8](bytes) == sample.payloads[next], "\(context)")
        next += 1
        return true
      }
      if next >= 2 {
        let value = try log.value(commit: 2, operation: 0, part: .object)
        #expect(value == sample.value, "\(context)")
      }
      return .success(next)
    } catch {
      #expect([.corruption, .unsupportedFormat].contains(error.code), "\(context): \(error)")
      return .failure(error)
    }
  }

  @Test(
    "A log cut at any byte opens with a prefix of its commits or reports corruption",
    arguments: [true, false], [64 << 20, 500] as [UInt64])
  func cutAtEveryByte(isClosed: Bool, segmentSize: UInt64) throws {
    let sample = try Sample(segmentSize: segmentSize, commits: 7, isClosed: isClosed)
    for (name, bytes) in sample.files {
      for count in 0..<bytes.count {
        for access in [LogAccess.readOnly, .readWrite] {
          let disk = try sample.disk(replacing: name, with: Array(bytes[..<count]))
          _ = verifyLog(directory: "log", fileSystem: disk)
          open(disk, sample, access, "\(name) cut at \(count), \(access)")
        }
        let disk = try sample.disk(replacing: name, with: Array(bytes[..<count]))
        open(disk, sample, .readWrite, "\(name) cut at \(count), prefix", .prefix)
      }
    }
  }

  @Test(
    "A log with any byte changed opens with a prefix of its commits or reports corruption",
    arguments: [64 << 20, 500] as [UInt64])
  func flipEveryByteUnclosed(segmentSize: UInt64) throws {
    let sample = try Sample(segmentSize: segmentSize, commits: 7, isClosed: false)
    for (name, bytes) in sample.files {
      for index in bytes.indices {
        var changed = bytes
        changed[index] ^= 1 << UInt8(index % 8)
        for access in [LogAccess.readOnly, .readWrite] {
          open(
            try sample.disk(replacing: name, with: changed), sample, access,
            "\(name) changed at \(index), \(access)")
        }
      }
    }
  }

  @Test(
    "In a cleanly closed log any changed byte is reported as corruption",
    arguments: [64 << 20, 500] as [UInt64])
  func flipEveryByteClosed(segmentSize: UInt64) throws {
    let sample = try Sample(segmentSize: segmentSize, commits: 7, isClosed: true)
    #expect(sample.files.count == (segmentSize == 500 ? 2 : 1) || segmentSize == 500)
    for (name, bytes) in sample.files {
      for index in bytes.indices {
        for mask in [0x01, 0x80, 0xFF, 0x24] as [UInt8] {
          var changed = bytes
          changed[index] ^= mask
          let context = "\(name) changed at \(index) by \(mask)"
          let disk = try sample.disk(replacing: name, with: changed)
          let outcome = open(disk, sample, .readWrite, context)
          if case .failure(let error) = outcome {
            #expect(error.code == .corruption, "\(context)")
          } else {
            Issue.record("\(context): opened")
          }
          // The refusal changed nothing.
          #expect(disk.contents(of: "log/\(name)") == changed, "\(context)")
          #expect(!verifyLog(directory: "log", fileSystem: disk).isEmpty, "\(context)")
          if mask == 0x80 { checkPrefix(disk, sample, name, context) }
        }
      }
    }
  }

  /// Mode `prefix` opens the part before the flaw, allows writes, and sets the rest aside.
  private func checkPrefix(
    _ disk: MemoryFileSystem, _ sample: Sample, _ name: String, _ context: String
  ) {
    let read = open(disk, sample, .readOnly, context, .prefix)
    let found = open(disk, sample, .readWrite, context, .prefix)
    #expect(read == found, "\(context)")
    guard case .success(let count) = found else { return }
    do {
      let log = try CommitLog(
        directory: "log", fileSystem: disk, options: Self.options(.readWrite))
      #expect(log.completed == CommitNumber(count), "\(context)")
      let names = try disk.list("log")
      #expect(names.contains { $0.hasSuffix(".ignored") }, "\(context)")
    } catch { Issue.record("\(context): \(error)") }
  }

  @Test("Inspection shows the frames before and after damage")
  func dumpPassesDamage() throws {
    let sample = try Sample(segmentSize: 64 << 20, commits: 7, isClosed: true)
    for (name, bytes) in sample.files {
      var whole: [FrameDescription] = []
      let disk = try sample.disk(replacing: name, with: bytes)
      try dumpSegment(file: "log/\(name)", fileSystem: disk) { whole.append($0) }
      #expect(
        whole.map(\.state) == [.segmentHeader] + Array(repeating: .commit, count: 7) + [.mark])
      #expect(whole.reduce(0) { $0 + $1.length } == UInt64(bytes.count))
      var changed = bytes
      changed[Int(whole[3].offset) + 20] ^= 4
      let damaged = try sample.disk(replacing: name, with: changed)
      var pieces: [FrameDescription] = []
      try dumpSegment(file: "log/\(name)", fileSystem: damaged) { pieces.append($0) }
      #expect(pieces.map(\.offset) == whole.map(\.offset))
      #expect(pieces[3].state == .damaged && pieces[4].state == .unlinked)
      #expect(pieces[5...].map(\.state) == whole[5...].map(\.state))
    }
  }

  @Test("A later format version is `unsupportedFormat`, not corruption")
  func laterVersion() throws {
    let sample = try Sample(segmentSize: 64 << 20, commits: 2, isClosed: true)
    for (name, bytes) in sample.files {
      for index in [10, 20] {
        var changed = bytes
        changed[index] = 9
        let sum = crc32c(Array(changed[..<12] + changed[16..<88]))
        for byte in 0..<4 { changed[12 + byte] = UInt8(truncatingIfNeeded: sum >> (8 * byte)) }
        let disk = try sample.disk(replacing: name, with: changed)
        let outcome = open(disk, sample, .readWrite, "version at \(index)")
        guard case .failure(let error) = outcome else {
          Issue.record("opened")
          continue
        }
        #expect(error.code == .unsupportedFormat)
      }
    }
  }
}
