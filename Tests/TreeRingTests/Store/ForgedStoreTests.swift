// Logs with right checksums and contents that no store has written: a typed error reports each as
// damage, and salvage copies the meaningful parts.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Forged logs")
struct ForgedStoreTests {
  private static let options = StoreOptions(segmentSize: 1_200, logger: quietLogger)

  // MARK: Headers and directories

  private func sealed(isCompacted: Bool = false) throws -> [String: [UInt8]] {
    let disk = MemoryFileSystem()
    let store = try Store(path: "store", fileSystem: disk, options: Self.options)
    for number in 1...20 {
      try store.put([UInt8](repeating: UInt8(number), count: 60), for: Key("k\(number % 7)"))
    }
    try store.checkpoint()
    try store.put([20], for: "between")
    try store.checkpoint()
    if isCompacted { try store.compact(to: .before(15)) }
    try store.put([21], for: "last")
    try store.close()
    var files = ["pages": try #require(disk.contents(of: "store/pages"))]
    for name in try disk.list("store/log") {
      files["log/\(name)"] = disk.contents(of: "store/log/\(name)")
    }
    return files
  }

  /// Opens for reading and reads every row's history and every commit; returns the error codes.
  private func codes(_ files: [String: [UInt8]]) throws -> Set<TreeRingError.Code> {
    let disk = MemoryFileSystem()
    try disk.setFiles(files, in: "store")
    var options = Self.options
    options.mode = .readOnly
    var codes: Set<TreeRingError.Code> = []
    func note(_ body: () throws -> Void) { if let code = code(of: body) { codes.insert(code) } }
    note {
      let store = try Store(path: "store", fileSystem: disk, options: options)
      for number in 0..<7 { note { _ = try store.history(of: Key("k\(number)"), in: "blobs") } }
      for number in 1...store.newestCommit { note { _ = try store.commit(number) } }
      try store.close()
    }
    return codes
  }

  @Test(
    "An entry of a directory that leads to another commit is damage", arguments: [-8, -1, 1, 2])
  func directoryEntry(step: Int) throws {
    try directoryEntry(step: step, isCompacted: false, allowed: [.corruption])
    try directoryEntry(
      step: step, isCompacted: true, allowed: [.corruption, .beyondHorizon, .notFound])
  }

  private func directoryEntry(
    step: Int, isCompacted: Bool, allowed: Set<TreeRingError.Code>
  ) throws {
    let sound = try sealed(isCompacted: isCompacted)
    #expect(try codes(sound) == (isCompacted ? [.beyondHorizon] : []))
    let name = try #require(sound.keys.filter { $0.hasPrefix("log/") }.min())
    let bytes = try #require(sound[name])
    let directory = try #require(StorePart.parts(of: name, bytes).first { $0.kind == .directory })
    for field in [88, 96] {
      var files = sound
      var bytes = bytes
      let place = directory.range.lowerBound + field
      let old = ChecksumRepair.number(8, at: place, in: bytes)
      ChecksumRepair.put(old &+ UInt64(bitPattern: Int64(step)), 8, at: place, in: &bytes)
      ChecksumRepair.repairSegment(&bytes)
      files[name] = bytes
      let found = try codes(files)
      #expect(!found.isEmpty && found.isSubset(of: allowed), "\(found)")
    }
  }

  @Test("Commit numbers in a segment's header that no store has are damage")
  func hugeNumbers() throws {
    let sound = try sealed()
    let name = try #require(sound.keys.filter { $0.hasPrefix("log/") }.max())
    for number in [1 << 47, .max - 1, .max] as [UInt64] {
      for fields in [[64], [64, 72], [72]] {
        var files = sound
        var bytes = try #require(sound[name])
        for field in fields { ChecksumRepair.put(number, 8, at: field, in: &bytes) }
        ChecksumRepair.repairSegment(&bytes)
        files[name] = bytes
        let found = try codes(files)
        #expect(!found.isEmpty && found.isSubset(of: [.corruption, .unsupportedFormat]))
      }
    }
  }

  // MARK: Payloads

  /// A log of payloads, each with its operation count. It contains only what the closures write.
  private func log(
    _ payloads: [(inout PayloadWriter) -> UInt32]
  ) throws -> MemoryFileSystem {
    let disk = MemoryFileSystem()
    try disk.makeDirectory("store")
    var options = LogOptions(access: .create)
    options.logger = quietLogger
    let log = try CommitLog(directory: "store/log", fileSystem: disk, options: options)
    for (index, write) in payloads.enumerated() {
      var writer = PayloadWriter(commit: CommitNumber(index + 1))
      let count = write(&writer)
      try log.complete(
        log.append(
          CommitDraft(
            number: CommitNumber(index + 1), timestamp: Timestamp(microseconds: 0),
            operationCount: count, payload: writer.payload(notes: CommitNotes()))))
    }
    try log.close()
    return disk
  }

  private static func put(_ key: String, _ bucket: BucketReference) -> (inout PayloadWriter) ->
    UInt32
  {
    { writer in
      Array(key.utf8).withUnsafeBytes { key in
        writer.append(
          .put(coder: 0, object: NewValue(key, isLogged: false), metadata: nil),
          of: RowAddress(bucket: bucket, key: key, previous: 0))
      }
      return 1
    }
  }

  private static let bucket = BucketReference(number: 1, name: "blobs")

  /// A log with an operation that its state does not allow, or that contradicts earlier ones.
  enum Forgery: CaseIterable {
    case touchOfNoRow, metadataOfNoRow, bucketOfTwoNumbers, numberOfTwoBuckets, definition, filter
    case placeInNoIndex

    fileprivate var payload: (inout PayloadWriter) -> UInt32 {
      let key = Array("none".utf8)
      switch self {
      case .touchOfNoRow:
        return { writer in
          key.withUnsafeBytes {
            writer.append(
              .touch, of: RowAddress(bucket: ForgedStoreTests.bucket, key: $0, previous: 0))
          }
          return 1
        }
      case .metadataOfNoRow:
        return { writer in
          key.withUnsafeBytes {
            writer.append(
              .metadata(NewValue($0, isLogged: false)),
              of: RowAddress(bucket: ForgedStoreTests.bucket, key: $0, previous: 0))
          }
          return 1
        }
      case .bucketOfTwoNumbers:
        return ForgedStoreTests.put("b", BucketReference(number: 2, name: "blobs"))
      case .numberOfTwoBuckets:
        return ForgedStoreTests.put("b", BucketReference(number: 1, name: "others"))
      case .definition:
        return { writer in
          writer.append(
            .index(IndexRecord(name: "i", number: 1, version: 1, definition: .fields("{\"no\":"))))
          return 1
        }
      case .filter:
        return { writer in
          let parent = IndexRecord(
            name: "p", number: 1, version: 1, definition: .manual(buckets: ["blobs"]))
          writer.append(
            .index(
              IndexRecord(name: "i", number: 2, version: 1, definition: .selected(parent, "[[["))))
          return 1
        }
      case .placeInNoIndex:
        return { writer in
          key.withUnsafeBytes { key in
            [128 as UInt8].withUnsafeBytes { label in
              writer.append(
                .place(
                  PlaceAddress(index: "i", group: "g"),
                  RowAddress(bucket: ForgedStoreTests.bucket, key: key, previous: 0), label: label))
            }
          }
          return 1
        }
      }
    }
  }

  @Test(
    "A commit that its state does not allow is damage; salvage leaves it out and reports it",
    arguments: Forgery.allCases)
  func operations(_ forgery: Forgery) throws {
    let disk = try log([Self.put("a", Self.bucket), forgery.payload, Self.put("c", Self.bucket)])
    for mode in [StoreMode.readOnly, .readWrite] {
      var options = Self.options
      options.mode = mode
      let refusal = error {
        let store = try Store(path: "store", fileSystem: disk, options: options)
        _ = try store.snapshot().rows(in: blobs)
        try store.close()
      }
      #expect(refusal?.code == .corruption, "\(mode): \(String(describing: refusal))")
    }
    let report = try Store.salvage(from: "store", to: "saved", on: disk, options: Self.options)
    #expect(report.findings.map(\.commit) == [2] && !report.isComplete)
    let saved = try Store(path: "saved", fileSystem: disk, options: Self.options)
    #expect(try saved.snapshot().rows(in: blobs).map(\.key) == ["a", "c"])
    #expect(try saved.checkInvariants() == [])
    try saved.close()
  }

  // MARK: Limits of salvage

  private func report(_ files: [String: [UInt8]]) throws -> SalvageReport {
    let disk = MemoryFileSystem()
    try disk.setFiles(files, in: "store")
    return try Store.salvage(from: "store", to: "saved", on: disk, options: Self.options)
  }

  @Test("A segment with an invalid name is reported")
  func misnamed() throws {
    let sound = try sealed()
    let names = sound.keys.filter { $0.hasPrefix("log/") }.sorted()
    #expect(try report(sound).isComplete)
    for name in [names[0], names[names.count - 1]] {
      for other in [
        "log/00000000000000000000.0.lz4", "log/segment", "log/\(name.dropFirst(4)).bak",
      ] {
        var files = sound
        files["pages"] = nil
        files[other] = files.removeValue(forKey: name)
        let report = try report(files)
        #expect(!report.isComplete)
        #expect(report.doubts.contains { $0.file == "store/\(other)" }, "\(report.doubts)")
      }
    }
    let alone = try report(["log/x": [1, 2, 3]])
    #expect(!alone.isComplete && alone.lastCommit == 0)
  }

  @Test("A page file that has lost a meta does not prove the end of the log")
  func lostMeta() throws {
    var files = try sealed()
    let names = files.keys.filter { $0.hasPrefix("log/") }.sorted()
    var pages = try #require(files["pages"])
    let metas = try (0..<2).map { slot in
      let start = slot * PageLayout.pageByteCount
      return try pages[start..<start + PageLayout.pageByteCount].withUnsafeBytes {
        try Meta.decode($0, slot: slot)
      }
    }
    let newest = try #require(metas.max { $0.sequence < $1.sequence })
    // The log ends where the older meta states, at the end of a segment.
    let older = try #require(metas.min { $0.sequence < $1.sequence })
    let next = [SegmentStart](of: names)
    let end = try #require(next.last { $0.first > 1 })
    for name in names where name >= end.name { files[name] = nil }
    var forged = older
    forged.position.commit = end.first - 1
    pages.replaceSubrange(
      forged.slot * PageLayout.pageByteCount..<(forged.slot + 1) * PageLayout.pageByteCount,
      with: forged.encode())
    for change in [0x41, nil] as [UInt8?] {
      var damaged = pages
      let start = newest.slot * PageLayout.pageByteCount
      if let change {
        damaged[start + 80] ^= change
      } else {
        for index in start..<start + PageLayout.pageByteCount { damaged[index] = 0 }
      }
      files["pages"] = damaged
      let report = try report(files)
      #expect(report.lastCommit == end.first - 1 && !report.isComplete)
    }
  }
}

/// A segment's file and its first commit.
private struct SegmentStart {
  var name: String
  var first: CommitNumber
}

extension [SegmentStart] {
  fileprivate init(of names: [String]) {
    self = names.compactMap { name in
      name.split(separator: "/").last?.split(separator: ".").first.flatMap { CommitNumber($0) }
        .map { SegmentStart(name: name, first: $0) }
    }
  }
}
