import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite struct ISO8601Tests {
  @Test("Dates with offsets, fractions and without time are read")
  func reading() throws {
    #expect(try ISO8601.parse("1970-01-01T00:00:00Z").microseconds == 0)
    #expect(try ISO8601.parse("1970-01-01").microseconds == 0)
    #expect(
      try ISO8601.parse("2013-01-01T05:00:00-05:00") == ISO8601.parse("2013-01-01T10:00:00Z"))
    #expect(try ISO8601.parse("2013-01-01T10:00:00Z").microseconds == 1_357_034_400_000_000)
    #expect(try ISO8601.parse("1969-12-31T23:59:59.999999Z").microseconds == -1)
    #expect(try ISO8601.parse("1970-01-01T00:00:00.5+00:00").microseconds == 500_000)
    #expect(try ISO8601.parse("2000-02-29T12:00Z").microseconds == 951_825_600_000_000)
    #expect(try ISO8601.parse("+002013-01-01") == ISO8601.parse("2013-01-01"))
  }

  @Test(
    "What is not a date is refused with a sentence and an offset",
    arguments: [
      "", "2013", "2013-1-01", "2013-13-01", "2013-02-29", "1900-02-29", "2013-01-00",
      "2013-01-01T", "2013-01-01T24:00:00Z", "2013-01-01T10:60:00Z", "2013-01-01T10:00:60Z",
      "2013-01-01T10:00:00", "2013-01-01T10:00:00.Z", "2013-01-01T10:00:00.1234567Z",
      "2013-01-01T10:00:00+5:00", "2013-01-01T10:00:00+05", "2013-01-01 ", "2013-01-01T10:00:00ZZ",
      "+999999-01-01", "é013-01-01", "2013-01-01T10:00:00+24:00",
    ])
  func refusing(_ text: String) {
    #expect { try ISO8601.parse(text) } throws: { error in
      guard let error = error as? TreeRingError else { return false }
      return error.code == .invalidInput && error.offset != nil
    }
  }

  @Test("Writing shows the fraction only where there is one, in UTC or another offset")
  func writing() {
    #expect(ISO8601.format(Timestamp(microseconds: 0)) == "1970-01-01T00:00:00Z")
    #expect(ISO8601.format(Timestamp(microseconds: -1)) == "1969-12-31T23:59:59.999999Z")
    #expect(ISO8601.format(Timestamp(microseconds: 250_000)) == "1970-01-01T00:00:00.25Z")
    #expect(
      ISO8601.format(Timestamp(microseconds: 0), offsetMinutes: -330)
        == "1969-12-31T18:30:00-05:30")
    #expect(ISO8601.format(Timestamp(microseconds: .max)).hasPrefix("+294247-01-10T04:00:54.775"))
    #expect(ISO8601.format(Timestamp(microseconds: .min)).hasPrefix("-290308-12-21T19:59:05.224"))
  }

  @Test("Every timestamp is read back as it was written")
  func roundTrip() throws {
    for seed: UInt64 in 1...2_000 {
      var random = SeededGenerator(seed: seed)
      let shift = Int64.random(in: 0...40, using: &random)
      let timestamp = Timestamp(microseconds: Int64(bitPattern: random.next()) >> shift)
      let minutes = Int.random(in: -1439...1439, using: &random)
      // At the far ends of time a local date may leave the range of timestamps. The date still
      // reads back, because the parser subtracts the offset before it checks the bounds.
      let text = ISO8601.format(timestamp, offsetMinutes: minutes)
      #expect(try ISO8601.parse(text) == timestamp, "seed \(seed): \(text)")
      if abs(timestamp.microseconds) < 1 << 55 {
        let date = Date(timeIntervalSince1970: Double(timestamp.microseconds / 1_000_000))
        let expected = date.formatted(.iso8601).prefix(10)
        let whole = Timestamp(microseconds: timestamp.microseconds / 1_000_000 * 1_000_000)
        if whole.microseconds > -12_000_000_000 * 1_000_000 {
          #expect(ISO8601.format(whole).prefix(10) == expected, "seed \(seed)")
        }
      }
    }
  }
}
