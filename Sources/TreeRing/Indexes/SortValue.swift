// The types that rows of a group can be ordered by.

public import TreeRingLog
public import TreeRingPlatform

/// A value that rows can be ordered by.
///
/// Integers, floating point numbers, strings, dates (to their full precision, before 1970 too),
/// truth values, data, `UUID`, `Timestamp`, and optionals of them conform. To make an enumeration
/// with a raw value of these types conform, declare the conformance:
///
///     enum Priority: Int, Codable, SortValue { case low, normal, high }
///
/// To make your own type conform, append the parts that it is ordered by, in order. Every value of
/// the type must append the same number and types of parts.
public protocol SortValue: SendableMetatype {
  /// Appends the value in ascending order.
  func appendSortKey(to encoder: inout SortKeyEncoder)
}

extension SortValue where Self: FixedWidthInteger & SignedInteger {
  public func appendSortKey(to encoder: inout SortKeyEncoder) {
    if bitWidth <= 64 {
      encoder.append(Int64(truncatingIfNeeded: self))
    } else {
      encoder.appendBigEndian(self ^ .min)
    }
  }
}

extension SortValue where Self: FixedWidthInteger & UnsignedInteger {
  public func appendSortKey(to encoder: inout SortKeyEncoder) {
    if bitWidth <= 64 {
      encoder.append(UInt64(truncatingIfNeeded: self))
    } else {
      encoder.appendBigEndian(self)
    }
  }
}

extension Int: SortValue {}
extension Int8: SortValue {}
extension Int16: SortValue {}
extension Int32: SortValue {}
extension Int64: SortValue {}
extension Int128: SortValue {}
extension UInt: SortValue {}
extension UInt8: SortValue {}
extension UInt16: SortValue {}
extension UInt32: SortValue {}
extension UInt64: SortValue {}
extension UInt128: SortValue {}

extension Double: SortValue {
  public func appendSortKey(to encoder: inout SortKeyEncoder) { encoder.append(self) }
}

extension Float: SortValue {
  public func appendSortKey(to encoder: inout SortKeyEncoder) { encoder.append(Double(self)) }
}

extension Bool: SortValue {
  public func appendSortKey(to encoder: inout SortKeyEncoder) { encoder.append(self) }
}

extension String: SortValue {
  public func appendSortKey(to encoder: inout SortKeyEncoder) { encoder.append(self) }
}

extension Substring: SortValue {
  public func appendSortKey(to encoder: inout SortKeyEncoder) { encoder.append(self) }
}

extension Timestamp: SortValue {
  public func appendSortKey(to encoder: inout SortKeyEncoder) { encoder.append(self) }
}

extension Date: SortValue {
  public func appendSortKey(to encoder: inout SortKeyEncoder) {
    encoder.append(timeIntervalSinceReferenceDate)
  }
}

/// A type with a raw value is ordered by it.
extension SortValue where Self: RawRepresentable, RawValue: SortValue {
  public func appendSortKey(to encoder: inout SortKeyEncoder) {
    rawValue.appendSortKey(to: &encoder)
  }
}

extension [UInt8]: SortValue {
  public func appendSortKey(to encoder: inout SortKeyEncoder) {
    withUnsafeBytes { encoder.append($0) }
  }
}

extension Data: SortValue {
  public func appendSortKey(to encoder: inout SortKeyEncoder) {
    withUnsafeBytes { encoder.append($0) }
  }
}

extension UUID: SortValue {
  public func appendSortKey(to encoder: inout SortKeyEncoder) {
    withUnsafeBytes(of: uuid) { encoder.appendRaw($0) }
  }
}

/// An absent value comes before every present one; a ``SortItem`` can state otherwise.
extension Optional: SortValue where Wrapped: SortValue {
  public func appendSortKey(to encoder: inout SortKeyEncoder) {
    if case .none = self { encoder.appendRaw(0) } else { encoder.appendRaw(1) }
    self?.appendSortKey(to: &encoder)
  }
}
