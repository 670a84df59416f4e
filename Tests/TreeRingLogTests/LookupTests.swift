// The cost of finding one commit or one logged value, in counted reads of the file. It must not
// grow with the number of values of the commit, nor recur for each commit of a stride.

import TestSupport
import Testing

@testable import TreeRingLog

struct LookupTests {
  let disk = MemoryFileSystem()

  static func open(_ files: any FileSystem, cache: Int = 1 << 20) throws -> CommitLog {
    var options = DamageTests.options(.create)
    options.frameCacheByteCount = cache
    // A rewritten segment gets this salt too.
    options.random = { 77 }
    return try CommitLog(directory: "log", fileSystem: files, options: options)
  }

  /// Bytes that do not compress.
  static func value(_ number: Int, count: Int = 48) -> [UInt8] {
    var random = SeededGenerator(seed: UInt64(number) + 1)
    let words = (0..<(count + 7) / 8).map { _ in random.next() }
    return words.withUnsafeBytes { [UInt8]($0.prefix(count)) }
  }

  static func draft(
    _ number: CommitNumber, _ values: [LoggedValue], _ durability: Durability = .full
  ) -> CommitDraft {
    CommitDraft(
      number: number, timestamp: Timestamp(microseconds: Int64(number)),
      operationCount: UInt32(max(1, values.count)), payload: Array("commit \(number)".utf8),
      values: values, durability: durability)
  }

  /// Objects of even operations, and metadata of every fourth operation.
  static func values(_ count: Int) -> [LoggedValue] {
    var values: [LoggedValue] = []
    for operation in 0... where operation % 2 == 0 {
      if values.count == count { break }
      values.append(
        LoggedValue(operation: UInt32(operation), part: .object, bytes: value(operation)))
      if operation % 4 == 0, values.count < count {
        values.append(
          LoggedValue(
            operation: UInt32(operation), part: .metadata, bytes: value(operation + 1)))
      }
    }
    return values
  }

  func check(_ values: [LoggedValue], of number: CommitNumber, in log: CommitLog) throws {
    for value in values {
      let found = try log.value(commit: number, operation: value.operation, part: value.part)
      #expect(found == value.bytes)
    }
    let last = values.last?.operation ?? 0
    for absent in [1, last + 1, .max] {
      #expect(throws: TreeRingError.self) {
        try log.value(commit: number, operation: absent, part: .object)
      }
    }
  }

  @Test(
    "Reading a value costs two reads of fixed size, for any number of values in its commit",
    arguments: [1, 63, 64, 65, 300, 2_000])
  func manyValues(count: Int) throws {
    let files = CountedFileSystem(disk)
    let log = try Self.open(files)
    let values = Self.values(count)
    try log.complete(log.append(Self.draft(1, values)))
    try check(values, of: 1, in: log)
    _ = files.reads.take()
    try check(values, of: 1, in: log)
    let cost = files.reads.take()
    #expect(cost.reads <= 2 * (values.count + 3))
    #expect(cost.bytes <= cost.reads * CommitLog.lookupByteCount)
  }

  @Test(
    "Values of a commit that is not written yet are found, without those of its neighbours"
  )
  func pendingValues() throws {
    let log = try Self.open(disk)
    let values = Self.values(500)
    let first = try log.append(Self.draft(1, Array(values.prefix(3))))
    let second = try log.append(Self.draft(2, values))
    for _ in 1...2 {
      try check(Array(values.prefix(3)), of: 1, in: log)
      try check(values, of: 2, in: log)
    }
    try log.complete(first)
    try log.complete(second)
    try check(Array(values.prefix(3)), of: 1, in: log)
    try check(values, of: 2, in: log)
  }

  @Test("Each header of a stride is read once, in any order of lookups")
  func oneValueACommit() throws {
    let files = CountedFileSystem(disk)
    let log = try Self.open(files)
    let count = 200
    for number in 1...CommitNumber(count) {
      let value = LoggedValue(
        operation: 0, part: .object, bytes: Self.value(Int(number), count: 20_000))
      try log.append(Self.draft(number, [value], .unsynced))
    }
    try log.close()
    var random = SeededGenerator(seed: 5)
    for order in [Array(1...count), (1...count).shuffled(using: &random)] {
      let log = try Self.open(files)
      _ = files.reads.take()
      for number in order {
        let found = try log.value(commit: CommitNumber(number), operation: 0, part: .object)
        #expect(found == Self.value(number, count: 20_000))
      }
      // The header and the rest of the value; plus, once, the headers before.
      #expect(files.reads.take().reads <= 3 * count)
      for number in order { _ = try log.header(of: CommitNumber(number)) }
      #expect(files.reads.take().reads <= count)
      try log.close()
    }
  }

  @Test("The frame cache keeps its bound, and evictions change no answer")
  func boundedMemory() throws {
    let files = CountedFileSystem(disk)
    let cache = 4_000
    let log = try Self.open(files, cache: cache)
    let values = Self.values(200)
    for number in 1...300 as ClosedRange<CommitNumber> {
      try log.append(Self.draft(number, number % 10 == 0 ? values : Self.values(1), .unsynced))
    }
    try log.sync()
    var random = SeededGenerator(seed: 6)
    for _ in 1...600 {
      let number = CommitNumber.random(in: 1...300, using: &random)
      let value = values[number % 10 == 0 ? Int.random(in: 0..<200, using: &random) : 0]
      let found = try log.value(commit: number, operation: value.operation, part: value.part)
      #expect(found == value.bytes)
      #expect(log.frames.byteCount <= cache)
    }
  }

  @Test("Cached entries of a segment are not used for the segment that replaces it")
  func rewriting() throws {
    let log = try Self.open(disk)
    let values = Self.values(300)
    for number in 1...20 as ClosedRange<CommitNumber> {
      try log.append(Self.draft(number, number % 2 == 0 ? values : [], .unsynced))
    }
    try log.sync()
    try log.seal()
    for number in stride(from: CommitNumber(2), through: 20, by: 2) {
      try check(values, of: number, in: log)
    }
    let kept = Array(values[100..<230])
    for _ in 1...2 {
      try log.rewrite(segment: 1, horizon: 20) { header, _ in
        if header.number % 4 != 0 { return header.number < 20 ? .drop : .keep }
        return .replace(
          payload: [1], keptValues: kept.map { (operation: $0.operation, part: $0.part) })
      }
      for number in stride(from: CommitNumber(4), through: 20, by: 4) {
        try check(kept, of: number, in: log)
        #expect(throws: TreeRingError.self) {
          try log.value(commit: number, operation: values[0].operation, part: values[0].part)
        }
      }
      #expect(throws: TreeRingError.self) { try log.header(of: 2) }
    }
  }

  @Test("A value table that changes on disk after it was checked is corruption, not another value")
  func damagedTable() throws {
    let log = try Self.open(disk)
    let values = Self.values(300)
    try log.complete(log.append(Self.draft(1, values)))
    try check(values, of: 1, in: log)
    let header = try log.header(of: 1)
    let entry = Int(header.offset) + Format.Commit.values + 150 * Format.Value.byteCount
    let byte = try #require(disk.contents(of: header.file))[entry] ^ 4
    let file = try disk.open(header.file, .readWrite)
    try [byte].withUnsafeBytes { try file.write($0, at: UInt64(entry)) }
    let damaged = #expect(throws: TreeRingError.self) {
      try log.value(commit: 1, operation: values[150].operation, part: values[150].part)
    }
    #expect(damaged?.code == .corruption)
    #expect(damaged?.commit == 1)
    // The other values lie in other blocks.
    #expect(
      try log.value(commit: 1, operation: values[0].operation, part: .object) == values[0].bytes)
  }
}
