// The bytes of an entry, as docs/format.md describes them.

import Foundation
import Testing
import TreeRingLog

@testable import TreeRingReplication

struct FormatTests {
  @Test("An entry has the bytes that the format describes")
  func bytes() throws {
    var header = EntryHeader(
      kind: .commits, storeID: 0x0102_0304_0506_0708, id: 0x1112_1314_1516_1718,
      previous: 0x2122_2324_2526_2728, first: 0x31, last: 0x42)
    header.part = 1
    header.partCount = 3
    let entry = Array("abc".utf8).withUnsafeBytes { header.entry($0) }
    let expected =
      "5452534c 01 01 0000 0807060504030201 1817161514131211 2827262524232221 01000000 03000000 "
      + "3100000000000000 4200000000000000"
    let hex = entry.prefix(56).map { String(format: "%02x", $0) }.joined()
    #expect(hex == expected.filter { $0 != " " })
    // CRC-32C of "abc" is 364b3fb7 (RFC 3720 and others give the polynomial).
    #expect(entry[56..<60].map { String(format: "%02x", $0) }.joined() == "b73f4b36")
    #expect(entry.count == 67 && Array(entry[64...]) == Array("abc".utf8))
  }
}
