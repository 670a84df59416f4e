// The values of sums as bytes: a row's summand behind the lengths of its order entry, and the
// partial sum of a node.
//
//   order entry   lengths (4) · nothing if the row adds nothing; else an int: 0 if its number
//                 cannot be summed, otherwise the number, zigzag
//   node          the sum, a zigzag LEB128 of 128 bits · an int, the count of rows that cannot be
//                 summed, if there are any
//
// Partial sums wrap around, so bytes of a damaged page cause no trap. The sums of rows do not: each
// has 64 bits, and there are fewer than 2⁶³ rows.

internal import TreeRingLog

/// The number that a row adds to the sums of an index.
enum Summand: Hashable, Sendable {
  /// A number, in units of the last decimal.
  case number(Int64)
  /// A number that exceeds 64 bits or has too many decimals. No writer accepts it, but a state from
  /// before the definition may have it.
  case unsummable

  static let nothing = Summand.number(0)

  /// Reads the summand behind the lengths of an order entry; nil if the bytes are damaged.
  init?(orderValue value: UnsafeRawBufferPointer) {
    if value.count <= OrderKey.lengthsByteCount {
      self = .nothing
      return
    }
    var reader = ByteReader(
      UnsafeRawBufferPointer(rebasing: value[OrderKey.lengthsByteCount...]))
    guard let bits = try? reader.integer(), reader.isAtEnd else { return nil }
    self = bits == 0 ? .unsummable : .number(Int64(bitPattern: bits >> 1) ^ -Int64(bits & 1))
  }

  /// Appends the summand to the value of an order entry.
  func append(to value: inout [UInt8]) {
    switch self {
    case .number(0): break
    case .number(let number):
      value.append(integer: UInt64(bitPattern: (number << 1) ^ (number >> 63)))
    case .unsummable: value.append(0)
    }
  }
}

/// The sum of some rows.
struct PartialSum: Hashable, Sendable {
  /// The sum, in units of the last decimal.
  var units: Int128 = 0
  /// The number of rows that cannot be summed.
  var unsummableCount: UInt64 = 0

  init() {}

  init(_ summand: Summand) {
    switch summand {
    case .number(let number): units = Int128(number)
    case .unsummable: unsummableCount = 1
    }
  }

  var isNothing: Bool { units == 0 && unsummableCount == 0 }

  static func += (a: inout PartialSum, b: PartialSum) {
    a.units &+= b.units
    a.unsummableCount &+= b.unsummableCount
  }

  static func -= (a: inout PartialSum, b: PartialSum) {
    a.units &-= b.units
    a.unsummableCount &-= b.unsummableCount
  }

  /// Reads the value of a node; nil if the bytes are damaged.
  init?(node value: UnsafeRawBufferPointer) {
    var (bits, shift, at) = (UInt128(0), UInt128(0), 0)
    while true {
      guard at < value.count, shift < 128 else { return nil }
      let byte = value[at]
      bits |= UInt128(byte & 0x7F) << shift
      at += 1
      shift += 7
      if byte & 0x80 == 0 { break }
    }
    units = Int128(truncatingIfNeeded: bits >> 1) ^ -Int128(truncatingIfNeeded: bits & 1)
    if at == value.count { return }
    var reader = ByteReader(UnsafeRawBufferPointer(rebasing: value[at...]))
    guard let count = try? reader.integer(), reader.isAtEnd else { return nil }
    unsummableCount = count
  }

  /// The value of a node.
  var encoded: [UInt8] {
    var bytes: [UInt8] = []
    var bits = UInt128(truncatingIfNeeded: (units << 1) ^ (units >> 127))
    while bits >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: bits) | 0x80)
      bits >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: bits))
    if unsummableCount > 0 { bytes.append(integer: unsummableCount) }
    return bytes
  }
}
