// Row records: those without flags are read by a path of their own, which must agree with the
// general one on every sequence of bytes.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Row records") struct RowRecordTests {
  /// The record read and written again, or nil if it is refused.
  private static func rewritten(
    _ bytes: [UInt8], _ read: (UnsafeRawBufferPointer) throws(TreeRingError) -> RowRecord
  ) -> [UInt8]? {
    bytes.withUnsafeBytes { raw in
      guard let record = try? read(raw) else { return nil }
      var copy: [UInt8] = []
      record.encode(into: &copy)
      return copy
    }
  }

  private static func expectAgreement(_ bytes: [UInt8]) {
    let fast = rewritten(bytes) { (raw) throws(TreeRingError) in try RowRecord(raw) }
    let general = rewritten(bytes) { (raw) throws(TreeRingError) in try RowRecord(checked: raw) }
    #expect(fast == general, "\(bytes)")
  }

  @Test("Integers of every length are read as they were written")
  func integers() throws {
    let commits: [CommitNumber] = (0..<10).flatMap { length in
      let bound: UInt64 = length == 9 ? 1 << 63 : 1 << (7 * UInt64(length))
      return [bound - 1, bound, bound + 1]
    }
    for commit in commits {
      for operation in [0, 127, 128, UInt32.max] {
        for count in [0, 1, 127, 128, 1_500] {
          let value = [UInt8](repeating: 5, count: count)
          let written = Stamp(commit: commit, operation: operation)
          let bytes = value.withUnsafeBytes { value in
            var bytes: [UInt8] = []
            RowRecord(
              written: written, created: written, touched: 0, coder: 0, object: .inline(value),
              metadata: nil
            ).encode(into: &bytes)
            return bytes
          }
          try bytes.withUnsafeBytes { raw in
            let record = try RowRecord(raw)
            #expect(record.written == written && record.created == written)
            guard case .inline(let read) = record.object else { throw ByteReader.damaged }
            #expect(read.elementsEqual(value))
          }
          Self.expectAgreement(bytes)
          Self.expectAgreement(Array(bytes.dropLast()))
          Self.expectAgreement(bytes + [0])
        }
      }
    }
  }

  @Test(
    "Both ways of reading agree on every short record and on damaged ones", arguments: seeds(1...3))
  func agreement(seed: UInt64) {
    // Flags, three integers of a byte or two, and a value of at most two bytes.
    let edges: [UInt8] = [0, 1, 2, 3, 127, 128, 129, 255]
    for length in 0...6 {
      var digits = [Int](repeating: 0, count: length)
      repeat {
        Self.expectAgreement(digits.map { edges[$0] })
        var place = 0
        while place < length, digits[place] == edges.count - 1 {
          digits[place] = 0
          place += 1
        }
        if place == length { break }
        digits[place] += 1
      } while true
    }
    var random = SeededGenerator(seed: seed)
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0..<40, using: &random)).map { _ in
        Bool.random(using: &random) ? 0x80 | UInt8.random(in: 0...127, using: &random) : 1
      }
      Self.expectAgreement([0] + bytes)
      Self.expectAgreement([.random(in: 0...63, using: &random)] + bytes)
    }
  }
}
