// The payload's bytes are what docs/rows.md says, and reading gives back what was written.

import Foundation
import TestSupport
import Testing
import TreeRingLog

@testable import TreeRing

@Suite("Payloads of commits") struct PayloadFormatTests {
  private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  private static func example() -> [UInt8] {
    var writer = PayloadWriter(commit: 7)
    let bucket = BucketReference(number: 1, name: "b")
    Self.bytes("k").withUnsafeBytes { key in
      Self.bytes("{}").withUnsafeBytes { object in
        writer.put(
          RowAddress(bucket: bucket, key: key, previous: 5), coder: 0,
          object: NewValue(object, isLogged: false), metadata: nil)
      }
    }
    Self.bytes("x").withUnsafeBytes { key in
      writer.delete(RowAddress(bucket: bucket, key: key, previous: 7))
    }
    var notes = CommitNotes()
    notes.note = "hi"
    return writer.payload(notes: notes)
  }

  @Test("The worked example of the documentation is what the writer writes")
  func workedExample() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(
      contentsOf: folder.appendingPathComponent("docs/rows.md"), encoding: .utf8)
    let section = try #require(page.range(of: "### Worked example"))
    let blocks = page[section.upperBound...].components(separatedBy: "```")
    let shown = try #require(blocks.dropFirst().first).split(whereSeparator: \.isNewline)
      .flatMap { $0.prefix { $0 != "·" }.split(separator: " ") }
      .map { try #require(UInt8($0, radix: 16), "\($0) is not a byte") }
    #expect(shown == Self.example())
  }

  @Test("A payload cut anywhere or with any byte changed is read or refused, never trapped")
  func damage() throws {
    let payload = Self.example()
    for count in 0..<payload.count { tryReading(Array(payload[..<count])) }
    for index in payload.indices {
      for bit in 0..<8 {
        var spoilt = payload
        spoilt[index] ^= 1 << bit
        tryReading(spoilt)
      }
    }
  }

  @Test("Random bytes are read or refused, never trapped", arguments: seeds(1...20))
  func randomBytes(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<2000 {
      let count = Int.random(in: 0...40, using: &random)
      tryReading((0..<count).map { _ in UInt8.random(in: 0...12, using: &random) })
      let record = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      _ = try? record.withUnsafeBytes { try RowRecord($0).written }
    }
  }

  @Test("An unknown kind of operation is refused by name")
  func unknownKind() throws {
    let payload: [UInt8] = [0, 77]
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
