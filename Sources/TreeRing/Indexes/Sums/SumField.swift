// The summed field of an index by fields. A field's number counts in units of the last declared
// decimal, as an integer of 64 bits; so sums are exact, and one of 2⁶³ rows fits 128 bits.

internal import TreeRingLog

extension FieldIndex {
  /// A field whose numbers an index sums.
  public struct Sum: Hashable, Sendable {
    /// The dotted path of the field.
    public let field: String
    /// The number of decimals that the numbers may have, 0 to 18.
    public let decimals: Int

    /// Creates a sum of a field.
    public init(_ field: String, decimals: Int = 0) {
      self.field = field
      self.decimals = decimals
    }

    public static func == (a: Sum, b: Sum) -> Bool {
      a.field.isSameName(as: b.field) && a.decimals == b.decimals
    }
    public func hash(into hasher: inout Hasher) {
      field.hashName(into: &hasher)
      hasher.combine(decimals)
    }
  }
}

/// A summed field, ready to read the numbers of rows.
final class SumField: Sendable {
  let sum: FieldIndex.Sum
  private let program: FieldProgram

  /// Throws `invalidInput` if the path has an empty name or there are too many decimals.
  init(_ sum: FieldIndex.Sum) throws(TreeRingError) {
    guard (0...Limits.sumDecimals).contains(sum.decimals) else {
      throw TreeRingError(
        .invalidInput,
        "A sum has 0 to \(Limits.sumDecimals) decimals, not \(sum.decimals).")
    }
    self.sum = sum
    program = try FieldProgram(group: nil, order: [FieldIndex.Order(sum.field)], conditions: [])
  }

  /// The summand of a row's object: its number in the field. A row without a number there adds
  /// nothing. O(bytes).
  func summand(of object: UnsafeRawBufferPointer) -> Summand {
    var entry = FieldEntry()
    var summand = Summand.nothing
    program.forEachValue(of: object, &entry) { _, json in
      if FieldKind(json) == .number { summand = Summand(number: json, decimals: sum.decimals) }
    }
    return summand
  }
}

extension Summand {
  /// The summand of a valid JSON number.
  init(number token: UnsafeRawBufferPointer, decimals: Int) {
    let number = WrittenNumber(token)
    guard number.first < number.last else {
      self = .nothing
      return
    }
    // The number is 0.d₁…dₙ × 10ᵉ. In units it has e + decimals digits before the point.
    let (digitLimit, digitCount) = (Int64(19), number.exponent + Int64(decimals))
    guard digitCount > 0, digitCount <= digitLimit else {
      self = .unsummable
      return
    }
    var magnitude: UInt64 = 0
    var rest = Int(digitCount)
    for index in number.first..<number.last where token[index] != UInt8(ascii: ".") {
      // A digit behind the last decimal; the last digit is not zero.
      if rest == 0 {
        self = .unsummable
        return
      }
      magnitude = magnitude * 10 + UInt64(token[index] - UInt8(ascii: "0"))
      rest -= 1
    }
    for _ in 0..<rest { magnitude *= 10 }
    let value = Int128(magnitude) * (number.isNegative ? -1 : 1)
    self = Int64(exactly: value).map { .number($0) } ?? .unsummable
  }
}
