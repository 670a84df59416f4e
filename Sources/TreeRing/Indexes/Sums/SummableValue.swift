// The types of numbers that an index in code sums.

public import TreeRingPlatform

/// A number that a closure of an index gives to its sums.
///
/// Integers, `Double`, `Float`, `Decimal` and optionals of them conform; nil adds nothing. A
/// floating-point number counts as its shortest decimal text, which is also its text in JSON: 0.1
/// is a tenth, and 0.1 + 0.2 has 17 decimals.
///
/// To make your own type conform, return its number in units of the last decimal:
///
///     extension Money: SummableValue {
///       func exactUnits(decimals: Int) -> Int64? { cents.exactUnits(decimals: decimals - 2) }
///     }
public protocol SummableValue: SendableMetatype {
  /// The number in units of the last of these decimals; nil if that is no integer of 64 bits.
  func exactUnits(decimals: Int) -> Int64?
}

extension SummableValue where Self: BinaryInteger {
  public func exactUnits(decimals: Int) -> Int64? {
    guard var units = Int64(exactly: self) else { return nil }
    if units == 0 { return 0 }
    for _ in 0..<decimals.magnitude {
      guard decimals < 0 else {
        let (product, overflows) = units.multipliedReportingOverflow(by: 10)
        if overflows { return nil }
        units = product
        continue
      }
      let (quotient, remainder) = units.quotientAndRemainder(dividingBy: 10)
      if remainder != 0 { return nil }
      units = quotient
    }
    return units
  }
}

extension SummableValue where Self: BinaryFloatingPoint & CustomStringConvertible {
  public func exactUnits(decimals: Int) -> Int64? {
    isFinite ? Summand.units(ofNumber: description, decimals: decimals) : nil
  }
}

extension Int: SummableValue {}
extension Int8: SummableValue {}
extension Int16: SummableValue {}
extension Int32: SummableValue {}
extension Int64: SummableValue {}
extension Int128: SummableValue {}
extension UInt: SummableValue {}
extension UInt8: SummableValue {}
extension UInt16: SummableValue {}
extension UInt32: SummableValue {}
extension UInt64: SummableValue {}
extension UInt128: SummableValue {}
extension Double: SummableValue {}
extension Float: SummableValue {}

extension Decimal: SummableValue {
  public func exactUnits(decimals: Int) -> Int64? {
    isFinite ? Summand.units(ofNumber: description, decimals: decimals) : nil
  }
}

extension Optional: SummableValue where Wrapped: SummableValue {
  public func exactUnits(decimals: Int) -> Int64? {
    guard let self else { return 0 }
    return self.exactUnits(decimals: decimals)
  }
}

extension Summand {
  /// The units of a number in the notation of JSON; nil if they are no integer of 64 bits.
  fileprivate static func units(ofNumber text: String, decimals: Int) -> Int64? {
    var text = text
    return text.withUTF8 { bytes in
      guard
        case .number(let units) = Summand(
          number: UnsafeRawBufferPointer(bytes), decimals: decimals)
      else { return nil }
      return units
    }
  }
}
