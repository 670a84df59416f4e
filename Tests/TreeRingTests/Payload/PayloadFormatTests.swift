// The payload's bytes match docs/rows.md, and reading returns what was written.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Payloads of commits") struct PayloadFormatTests {
  private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  private static func example() -> [UInt8] {
    var writer = PayloadWriter(commit: 7)
    let bucket = BucketReference(number: 1, name: "b")
    Self.bytes("k").withUnsafeBytes { key in
      Self.bytes("{}").withUnsafeBytes { object in
        writer.append(
          .put(coder: 0, object: NewValue(object, isLogged: false), metadata: nil),
          of: RowAddress(bucket: bucket, key: key, previous: 5))
      }
    }
    Self.bytes("x").withUnsafeBytes { key in
      writer.append(.delete, of: RowAddress(bucket: bucket, key: key, previous: 6))
    }
    var notes = CommitNotes()
    notes.note = "hi"
    return writer.payload(notes: notes)
  }

  /// The example after compaction: `k` was last written here, and the delete is not needed.
  private static func compacted() throws -> [UInt8] {
    let original = example()
    return try original.withUnsafeBytes { payload in
      try PayloadRewriter.rewrite(
        payload, of: 7, notes: { _ in CommitNotes() }, declares: { _ in false },
        decide: { (operation) throws(TreeRingError) in
          if operation.isDelete { return .drop }
          return .row(
            RowRecord(
              written: operation.stamp, created: Stamp(commit: 5, operation: 1), touched: 0,
              coder: 0, object: .inline(payload[15..<17].rebased), metadata: nil))
        }
      ).payload
    }
  }

  @Test("The writer produces the worked examples of the documentation")
  func workedExample() throws {
    #expect(try shown(under: "### Worked example\n") == Self.example())
    #expect(try shown(under: "### Worked example of a compacted commit") == Self.compacted())
  }

  private func shown(under heading: String) throws -> [UInt8] {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(
      contentsOf: folder.appendingPathComponent("docs/rows.md"), encoding: .utf8)
    let section = try #require(page.range(of: heading))
    let blocks = page[section.upperBound...].components(separatedBy: "```")
    return try #require(blocks.dropFirst().first).split(whereSeparator: \.isNewline)
      .flatMap { $0.prefix { $0 != "·" }.split(separator: " ") }
      .map { try #require(UInt8($0, radix: 16), "\($0) is not a byte") }
  }

  @Test("A plain put has the same bytes in one step and in several", arguments: seeds(1...5))
  func plainPuts(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var (quick, slow) = (PayloadWriter(commit: 1 << 40), PayloadWriter(commit: 1 << 40))
    let buckets = (0..<3).map { BucketReference(number: UInt32($0 * 1_000 + 1), name: "b\($0)") }
    for _ in 0..<400 {
      let bucket = buckets[Int.random(in: 0..<10, using: &random) / 4]
      let key = [UInt8](repeating: 7, count: Int.random(in: 1...1_024, using: &random))
      let object = [UInt8](repeating: 8, count: Int.random(in: 0...1_000, using: &random))
      let coder = [0, 127, 128, UInt32.max][Int.random(in: 0..<4, using: &random)]
      let previous: CommitNumber = [0, 1, 1 << 40][Int.random(in: 0..<3, using: &random)]
      key.withUnsafeBytes { key in
        object.withUnsafeBytes { object in
          quick.append(put: object, coder: coder, for: key, in: bucket, previous: previous)
          slow.append(
            RowAddress(bucket: bucket, key: key, previous: previous),
            .put(coder: coder, object: .inline(object), metadata: nil))
        }
      }
    }
    #expect(quick.count == slow.count)
    #expect(quick.payload(notes: CommitNotes()) == slow.payload(notes: CommitNotes()))
  }

  @Test("Full blocks are taken with a payload without notes, and dropped from one with notes")
  func blocks() {
    for isBare in [true, false] {
      var writer = PayloadWriter(commit: 1, compresses: true)
      let object = [UInt8](repeating: 1, count: 500)
      object.withUnsafeBytes { object in
        for _ in 0..<300 {
          writer.append(
            put: object, coder: 0, for: object, in: BucketReference(number: 1, name: "b"),
            previous: 0)
        }
      }
      var notes = CommitNotes()
      if !isBare { notes.note = "n" }
      #expect(writer.takePayload(notes: notes).count > 2 * PayloadBlocks.blockByteCount)
      #expect((writer.takeBlocks() != nil) == isBare)
      #expect(writer.takeBlocks() == nil)
    }
  }

  /// One operation of every kind.
  private static func everyKind() -> [UInt8] {
    var writer = PayloadWriter(commit: 7)
    let bucket = BucketReference(number: 1, name: "b")
    let other = BucketReference(number: 2, name: "c")
    let key = bytes("k")
    key.withUnsafeBytes { key in
      let row = RowAddress(bucket: bucket, key: key, previous: 5)
      let (inline, logged) = (NewValue(key, isLogged: false), NewValue(key, isLogged: true))
      writer.append(.put(coder: 3, object: logged, metadata: logged), of: row)
      writer.append(.object(coder: 1, inline), of: row)
      writer.append(.metadata(logged), of: row)
      writer.append(.touch, of: row)
      writer.append(.delete, of: row)
      writer.beginDeleteRange(bucket, rowCount: 3)
      for (key, previous) in [("a", 1), ("k", 2), ("z", 0)] as [(String, CommitNumber)] {
        bytes(key).withUnsafeBytes { writer.deleteRange($0, previous: previous) }
      }
      writer.append(.tag(name: "t", commit: 2))
      writer.append(
        .index(IndexRecord(name: "i", number: 1, version: 2, definition: .code(buckets: ["b"]))))
      writer.append(.place(PlaceAddress(index: "i", group: "g"), row, label: key))
      writer.append(.stub(count: 5, buckets: [other]))
      let created = Stamp(commit: 3, operation: 9)
      writer.append(
        .row(
          row,
          .whole(
            created: created, touched: 4, coder: 2,
            object: .logged(LoggedReference(byteCount: 9, digest: 8, stamp: created)),
            metadata: .inline(key))))
      writer.append(.held(row, [.object, .metadata]))
    }
    return writer.payload(notes: CommitNotes())
  }

  @Test("Rewriting that keeps everything changes nothing")
  func rewritingKeeps() throws {
    let payload = Self.everyKind()
    let rewritten = try payload.withUnsafeBytes { payload in
      try PayloadReader.check(payload, commit: 7, operationCount: 16)
      return try PayloadRewriter.rewrite(
        payload, of: 7, decide: { (_) throws(TreeRingError) in .keep })
    }
    #expect(rewritten.payload == payload)
    #expect(rewritten.droppedCount == 0)
    #expect(!rewritten.isVacant)
    #expect(rewritten.keptValues.map(\.operation) == [0, 0, 2, 15, 15])
  }

  @Test("Dropping a row leaves one stub, the buckets, and nothing of its key")
  func rewritingDrops() throws {
    let payload = Self.everyKind()
    let rewritten = try payload.withUnsafeBytes { payload in
      try PayloadRewriter.rewrite(
        payload, of: 7,
        decide: { (operation) throws(TreeRingError) in
          operation.row.key.elementsEqual(Self.bytes("k")) ? .drop : .keep
        })
    }
    #expect(!rewritten.payload.contains(Self.bytes("k")[0]))
    #expect(rewritten.keptValues.isEmpty)
    try rewritten.payload.withUnsafeBytes { payload in
      try PayloadReader.check(payload, commit: 7, operationCount: 16)
      var reader = try PayloadReader(payload, commit: 7)
      var kinds: [OperationKind] = []
      var buckets: Set<String> = []
      while let operation = try reader.next() {
        kinds.append(operation.kind)
        if case .stub(_, let named) = operation { buckets.formUnion(named.map(\.name)) }
      }
      #expect(kinds == [.stub, .deleteRange, .tag, .index, .stub])
      #expect(buckets == ["b", "c"])
    }
  }

  @Test("A payload cut anywhere or with any byte changed is read or refused, never trapped")
  func damage() throws {
    for payload in [Self.example(), Self.everyKind()] {
      for count in 0..<payload.count { tryReading(Array(payload[..<count])) }
      for index in payload.indices {
        for bit in 0..<8 {
          var spoilt = payload
          spoilt[index] ^= 1 << bit
          tryReading(spoilt)
        }
      }
    }
  }

  @Test("Random bytes are read or refused, never trapped", arguments: seeds(1...20))
  func randomBytes(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<2000 {
      let count = Int.random(in: 0...40, using: &random)
      tryReading((0..<count).map { _ in UInt8.random(in: 0...13, using: &random) })
      let record = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      _ = try? record.withUnsafeBytes { try RowRecord($0).written }
    }
  }

  @Test(
    "An unknown kind of operation or definition throws unsupportedFormat",
    arguments: [[0, 77], [0, 9], [0, 8, 1, 0x69, 1, 1, 99]] as [[UInt8]])
  func unknownKind(payload: [UInt8]) throws {
    #expect {
      try payload.withUnsafeBytes {
        try PayloadReader.check($0, commit: 1, operationCount: 1)
      }
    } throws: {
      ($0 as? TreeRingError)?.code == .unsupportedFormat
    }
  }

  private func tryReading(_ payload: [UInt8]) {
    payload.withUnsafeBytes { bytes in
      do throws(TreeRingError) {
        try PayloadReader.check(bytes, commit: 7, operationCount: 2)
      } catch {
        #expect([.corruption, .unsupportedFormat].contains(error.code))
      }
    }
  }
}

extension Slice<UnsafeRawBufferPointer> {
  fileprivate var rebased: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self) }
}
