// Dates as text: `2013-01-01T05:00:00-05:00`, `2013-01-01T10:00:00.25Z`, `2013-01-01`.
//
// A year has four digits, or a sign and six. A time needs its offset (`Z` or `±hh:mm`). It may omit
// its seconds and may have up to six digits of a second's fraction. A date alone is its midnight in
// UTC. The calendar is always the Gregorian one; there is no leap second.
//
// Foundation's formats cannot replace this. Its calendar is Julian before 1582, it knows no year
// before -4712, and its dates are too coarse for microseconds a few centuries from now.

package import TreeRingLog

/// Parses and formats timestamps as ISO 8601.
package enum ISO8601 {
  private static let microsecondsPerSecond: Int64 = 1_000_000
  private static let secondsPerDay: Int64 = 86_400

  /// The timestamp in a text.
  /// - Throws: `invalidInput` with the offset of the flaw.
  package static func parse(_ text: UnsafeRawBufferPointer) throws(TreeRingError) -> Timestamp {
    var reader = Reader(text: text)
    let days = try reader.date()
    var seconds = days * secondsPerDay
    var microseconds: Int64 = 0
    if reader.take("T") || reader.take("t") {
      let hour = try reader.number(digits: 2, in: 0...23, "hour")
      try reader.expect(":")
      let minute = try reader.number(digits: 2, in: 0...59, "minute")
      seconds += hour * 3600 + minute * 60
      if reader.take(":") {
        seconds += try reader.number(digits: 2, in: 0...59, "second")
        if reader.take(".") { microseconds = try reader.fraction() }
      }
      seconds -= try reader.offset()
    }
    guard reader.position == text.count else { throw reader.error("has text after its end") }
    let (product, overflow) = seconds.multipliedReportingOverflow(by: microsecondsPerSecond)
    let (sum, carry) = product.addingReportingOverflow(microseconds)
    guard !overflow, !carry else { throw reader.error("is too far from 1970") }
    return Timestamp(microseconds: sum)
  }

  /// The timestamp in a text.
  /// - Throws: `invalidInput` with the offset of the flaw.
  package static func parse(_ text: some StringProtocol) throws(TreeRingError) -> Timestamp {
    try Array(text.utf8).withUnsafeBytes { (bytes) throws(TreeRingError) in try parse(bytes) }
  }

  /// Appends a timestamp as text, exact to the microsecond; the fraction only if it is not zero.
  ///
  /// - Parameter offsetMinutes: the distance from UTC of the written time, in minutes; less than a
  ///   day.
  package static func append(
    _ timestamp: Timestamp, offsetMinutes: Int = 0, to output: inout [UInt8]
  ) {
    precondition(abs(offsetMinutes) < 1440, "an offset from UTC is less than a day")
    let fraction = floorModulo(timestamp.microseconds, microsecondsPerSecond)
    let utc = floorDivide(timestamp.microseconds, microsecondsPerSecond)
    let local = utc + Int64(offsetMinutes) * 60
    let second = floorModulo(local, secondsPerDay)
    appendDate(days: floorDivide(local, secondsPerDay), to: &output)
    output.append(UInt8(ascii: "T"))
    append(second / 3600, digits: 2, to: &output)
    output.append(UInt8(ascii: ":"))
    append(second / 60 % 60, digits: 2, to: &output)
    output.append(UInt8(ascii: ":"))
    append(second % 60, digits: 2, to: &output)
    if fraction != 0 {
      output.append(UInt8(ascii: "."))
      append(fraction, digits: 6, to: &output)
      while output.last == UInt8(ascii: "0") { output.removeLast() }
    }
    if offsetMinutes == 0 {
      output.append(UInt8(ascii: "Z"))
    } else {
      output.append(UInt8(ascii: offsetMinutes < 0 ? "-" : "+"))
      append(Int64(abs(offsetMinutes) / 60), digits: 2, to: &output)
      output.append(UInt8(ascii: ":"))
      append(Int64(abs(offsetMinutes) % 60), digits: 2, to: &output)
    }
  }

  /// A timestamp in UTC with six digits of the second's fraction. The texts of the years 0 to 9999
  /// have one length, and their order is that of the moments.
  package static func fixedWidth(_ timestamp: Timestamp) -> [UInt8] {
    var output: [UInt8] = []
    append(timestamp, to: &output)
    output.removeLast()
    let point = output.lastIndex(of: UInt8(ascii: "."))
    if point == nil { output.append(UInt8(ascii: ".")) }
    let digitCount = output.count - 1 - (point ?? output.count - 1)
    output.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: 6 - digitCount))
    output.append(UInt8(ascii: "Z"))
    return output
  }

  /// A timestamp as text, exact to the microsecond.
  package static func format(_ timestamp: Timestamp, offsetMinutes: Int = 0) -> String {
    var output: [UInt8] = []
    append(timestamp, offsetMinutes: offsetMinutes, to: &output)
    return String(decoding: output, as: UTF8.self)
  }

  private static func appendDate(days: Int64, to output: inout [UInt8]) {
    let date = civilDate(days: days)
    if (0...9999).contains(date.year) {
      append(date.year, digits: 4, to: &output)
    } else {
      output.append(UInt8(ascii: date.year < 0 ? "-" : "+"))
      append(abs(date.year), digits: 6, to: &output)
    }
    output.append(UInt8(ascii: "-"))
    append(date.month, digits: 2, to: &output)
    output.append(UInt8(ascii: "-"))
    append(date.day, digits: 2, to: &output)
  }

  private static func append(_ number: Int64, digits: Int, to output: inout [UInt8]) {
    var divisor: Int64 = 1
    for _ in 1..<digits { divisor *= 10 }
    while divisor > 0 {
      output.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
      divisor /= 10
    }
  }

  private static func floorDivide(_ a: Int64, _ b: Int64) -> Int64 {
    a / b - (a % b < 0 ? 1 : 0)
  }

  private static func floorModulo(_ a: Int64, _ b: Int64) -> Int64 {
    let rest = a % b
    return rest < 0 ? rest + b : rest
  }

  /// The days since 1970-01-01 of a date, counted in eras of 400 years that start on 1 March.
  fileprivate static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = floorDivide(shifted, 400)
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  private static func civilDate(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = floorDivide(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let index = (5 * dayOfYear + 2) / 153
    let month = index < 10 ? index + 3 : index - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * index + 2) / 5 + 1)
  }

  fileprivate static func daysInMonth(year: Int64, month: Int64) -> Int64 {
    switch month {
    case 4, 6, 9, 11: 30
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    default: 31
    }
  }
}

/// A position in a date's text.
private struct Reader {
  let text: UnsafeRawBufferPointer
  var position = 0

  func error(_ what: String) -> TreeRingError {
    TreeRingError(
      .invalidInput,
      "The date “\(String(decoding: text.prefix(64), as: UTF8.self))” \(what); "
        + "write it like 2013-01-03T08:00:00-05:00 or 2013-01-03",
      offset: UInt64(position))
  }

  mutating func take(_ scalar: Unicode.Scalar) -> Bool {
    guard position < text.count, text[position] == UInt8(ascii: scalar) else { return false }
    position += 1
    return true
  }

  mutating func expect(_ scalar: Unicode.Scalar) throws(TreeRingError) {
    guard take(scalar) else { throw error("lacks a “\(scalar)”") }
  }

  mutating func digit() -> Int64? {
    guard position < text.count, text[position] &- UInt8(ascii: "0") < 10 else { return nil }
    position += 1
    return Int64(text[position - 1] - UInt8(ascii: "0"))
  }

  mutating func number(
    digits: Int, in range: ClosedRange<Int64>, _ name: StaticString
  ) throws(TreeRingError) -> Int64 {
    let start = position
    var value: Int64 = 0
    for _ in 0..<digits {
      guard let digit = digit() else { throw error("has no valid \(name)") }
      value = value * 10 + digit
    }
    guard range.contains(value) else {
      position = start
      throw error("has no valid \(name)")
    }
    return value
  }

  /// Reads a date and returns its days since 1970-01-01.
  mutating func date() throws(TreeRingError) -> Int64 {
    let negative = take("-")
    let signed = negative || take("+")
    let magnitude = try number(digits: signed ? 6 : 4, in: 0...999_999, "year")
    let year = negative ? -magnitude : magnitude
    try expect("-")
    let month = try number(digits: 2, in: 1...12, "month")
    try expect("-")
    let last = ISO8601.daysInMonth(year: year, month: month)
    let day = try number(digits: 2, in: 1...last, "day")
    return ISO8601.days(year: year, month: month, day: day)
  }

  /// Reads one to six digits after the point and returns microseconds.
  mutating func fraction() throws(TreeRingError) -> Int64 {
    var value: Int64 = 0
    var scale: Int64 = 1_000_000
    while let digit = digit() {
      guard scale > 1 else { throw error("is finer than a microsecond") }
      value = value * 10 + digit
      scale /= 10
    }
    guard scale < 1_000_000 else { throw error("has no digits after its point") }
    return value * scale
  }

  /// Reads the distance from UTC and returns it in seconds.
  mutating func offset() throws(TreeRingError) -> Int64 {
    if take("Z") || take("z") { return 0 }
    let negative = take("-")
    guard negative || take("+") else { throw error("lacks its offset from UTC (Z or ±hh:mm)") }
    let hours = try number(digits: 2, in: 0...23, "offset")
    try expect(":")
    let minutes = try number(digits: 2, in: 0...59, "offset")
    return (hours * 3600 + minutes * 60) * (negative ? -1 : 1)
  }
}
