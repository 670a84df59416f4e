// docs/format.md is normative: its byte maps match Format.swift, and the code writes its example.

import Foundation
import Logging
import TestSupport
import Testing

@testable import TreeRingLog

struct FormatTests {
  static func document() throws -> String {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    return try String(contentsOf: root.appendingPathComponent("docs/format.md"), encoding: .utf8)
  }

  /// The rows of the table after a heading: offset, width, name.
  static func table(_ heading: String, in document: String) throws -> [String] {
    let start = try #require(document.range(of: "### \(heading)\n"), "no heading \(heading)")
    var rows: [String] = []
    for line in document[start.upperBound...].split(separator: "\n") {
      guard line.hasPrefix("|") else {
        if rows.isEmpty { continue }
        break
      }
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      if let offset = Int(cells[0]) { rows.append("\(offset) \(cells[1]) \(cells[2])") }
    }
    return rows
  }

  @Test("The byte maps in docs/format.md are those of the code")
  func byteMaps() throws {
    let document = try Self.document()
    typealias H = Format.Head
    #expect(
      try Self.table("Head", in: document) == [
        "\(H.skippableMagic) u32 skippable magic", "\(H.skippableLength) u32 skippable length",
        "\(H.magic) u16 magic", "\(H.version) u8 version", "\(H.kind) u8 kind",
        "\(H.checksum) u32 checksum", "\(H.previousChecksum) u32 previous checksum",
        "\(H.flags) u32 flags", "\(H.salt) u64 salt", "\(H.offset) u64 offset",
        "\(H.synced) u64 synced",
      ])
    typealias S = Format.Segment
    #expect(
      try Self.table("Segment header", in: document) == [
        "\(S.storeID) u64 store id", "\(S.firstCommit) u64 first commit",
        "\(S.lastCommit) u64 last commit", "\(S.horizon) u64 horizon",
        "\(S.generation) u32 generation", "\(S.origin) u32 origin",
      ])
    typealias C = Format.Commit
    #expect(
      try Self.table("Commit", in: document) == [
        "\(C.number) u64 commit number", "\(C.timestamp) i64 timestamp",
        "\(C.payloadStored) u64 payload stored", "\(C.payloadPlain) u64 payload plain",
        "\(C.payloadChecksum) u32 payload checksum", "\(C.operationCount) u32 operation count",
        "\(C.valueCount) u32 value count", "\(C.values) 20 each value table",
      ])
    typealias V = Format.Value
    #expect(
      try Self.table("Value table entry", in: document) == [
        "\(V.operation) u32 operation", "\(V.part) u32 part", "\(V.stored) u32 stored",
        "\(V.plain) u32 plain", "\(V.checksum) u32 checksum",
      ])
    #expect(
      try Self.table("Mark", in: document) == ["\(Format.Mark.ending) u64 ending"])
    typealias D = Format.Directory
    #expect(
      try Self.table("Directory", in: document) == [
        "\(D.firstCommit) u64 first commit", "\(D.lastCommit) u64 last commit",
        "\(D.lastTimestamp) i64 last timestamp", "\(D.reserved) u64 reserved",
        "\(D.entryCount) u32 entry count", "\(D.stride) u32 stride",
        "\(D.entries) 24 each entries",
      ])
    #expect(
      try Self.table("Directory entry", in: document) == [
        "\(D.entryCommit) u64 commit number", "\(D.entryOffset) u64 offset",
        "\(D.entryTimestamp) i64 timestamp",
      ])
    typealias W = Format.SharedWord
    #expect(
      try Self.table("Shared word", in: document) == [
        "\(W.magic) u64 magic", "\(W.incarnation) u64 incarnation", "\(W.durable) u64 durable",
        "\(W.checksum) u32 checksum",
      ])
    for text in [
      "`0x\(String(Format.sharedMagic, radix: 16, uppercase: true))`",
      "The file has \(W.byteCount) bytes",
      "`0x\(String(Format.skippableMagic, radix: 16, uppercase: true))`",
      "`0x\(String(Format.ending, radix: 16, uppercase: true))`",
      "every \(Format.directoryStride)th commit", "version \(Format.version)",
    ] {
      #expect(document.contains(text), "docs/format.md lacks \(text)")
    }
  }

  @Test("The code writes the worked example in docs/format.md, byte for byte")
  func workedExample() throws {
    let disk = MemoryFileSystem()
    var options = SampleCommits.quiet()
    let counter = Counter()
    options.random = { counter.next() == 0 ? 0x0123_4567_89AB_CDEF : 0xFEDC_BA98_7654_3210 }
    let log = try CommitLog(directory: "log", fileSystem: disk, options: options)
    let first = CommitDraft(
      number: 1, timestamp: Timestamp(microseconds: 1_000_000), operationCount: 1,
      payload: Array("one ring".utf8))
    try log.complete(log.append(first))
    let second = CommitDraft(
      number: 2, timestamp: Timestamp(microseconds: 2_000_000), operationCount: 3,
      payload: Array("two rings".utf8),
      values: [LoggedValue(operation: 2, part: .object, bytes: Array("a value of its own".utf8))])
    try log.complete(log.append(second))
    try log.close()
    let bytes = try #require(disk.contents(of: "log/00000000000000000001.0.lz4"))
    var dump = ""
    for start in stride(from: 0, to: bytes.count, by: 16) {
      let line = bytes[start..<min(start + 16, bytes.count)]
      let offset = String(start, radix: 16)
      dump += String(repeating: "0", count: 4 - offset.count) + offset
      for byte in line { dump += (byte < 16 ? " 0" : " ") + String(byte, radix: 16) }
      dump += "\n"
    }
    let document = try Self.document()
    #expect(document.contains("```text\n\(dump)```"), "the example is now:\n\(dump)")
    var described = ""
    try dumpSegment(file: "log/00000000000000000001.0.lz4", fileSystem: disk) { piece in
      described += "\(piece.offset) \(piece.length) \(piece.state.rawValue)\n"
    }
    #expect(document.contains("```text\n\(described)```"), "its frames are now:\n\(described)")
  }
}
