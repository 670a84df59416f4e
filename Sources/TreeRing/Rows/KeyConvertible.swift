// Values as keys and as names of groups. Each type has one text, so that a value finds the row or
// group that the same value has named.

public import TreeRingLog
public import TreeRingPlatform

/// A value that is a row's key or names a group.
///
/// ```swift
/// try tx.put(order, for: order.id, in: orders)
/// let mine = try snapshot[byCustomer].rows(in: customer.id)
/// ```
///
/// Keys and groups are ordered byte by byte by their text:
///
/// | type | text | order |
/// |---|---|---|
/// | `String`, `Substring` | its UTF-8 | by Unicode scalars |
/// | integers | decimal digits, `-` before a negative one | as text: 10 before 9 |
/// | `Bool` | `false`, `true` | false first |
/// | `UUID` | 36 upper-case characters | by its bytes |
/// | `Date`, `Timestamp` | UTC, as `2013-01-03T08:00:00.000000Z` | in time, for years 0 to 9999 |
/// | `Data` | its bytes | byte by byte |
/// | an enumeration | the text of its raw value | as the raw value |
///
/// The text of a string, an integer, a truth value and a UUID is also that of the same field of a
/// JSON object. So an index by a closure and a ``FieldIndex`` name their groups alike. A `Date` is
/// a number in JSON, and `Data` is base 64; readers of an index by fields name groups by that.
///
/// To make an enumeration with a raw value conform, declare the conformance:
///
///     enum Genre: String, Codable, KeyConvertible { case fantasy, crime, poetry }
public protocol KeyConvertible: SendableMetatype {
  /// The bytes of the key or the name: values with the same bytes are one key. Texts that are equal
  /// by Unicode's rules but differ in their scalars are two. Dates within a microsecond are one.
  var keyBytes: [UInt8] { get }
  /// The value with these bytes; nil if no value of the type has them.
  init?(keyBytes: [UInt8])
}

extension KeyConvertible where Self: FixedWidthInteger {
  public var keyBytes: [UInt8] { Array(String(self).utf8) }
  public init?(keyBytes: [UInt8]) {
    guard let text = String(validating: keyBytes, as: UTF8.self), let value = Self(text),
      value.keyBytes == keyBytes
    else { return nil }
    self = value
  }
}

extension Int: KeyConvertible {}
extension Int8: KeyConvertible {}
extension Int16: KeyConvertible {}
extension Int32: KeyConvertible {}
extension Int64: KeyConvertible {}
extension Int128: KeyConvertible {}
extension UInt: KeyConvertible {}
extension UInt8: KeyConvertible {}
extension UInt16: KeyConvertible {}
extension UInt32: KeyConvertible {}
extension UInt64: KeyConvertible {}
extension UInt128: KeyConvertible {}

/// A type with a raw value has its bytes.
extension KeyConvertible where Self: RawRepresentable, RawValue: KeyConvertible {
  public var keyBytes: [UInt8] { rawValue.keyBytes }
  public init?(keyBytes: [UInt8]) {
    guard let raw = RawValue(keyBytes: keyBytes) else { return nil }
    self.init(rawValue: raw)
  }
}

extension String: KeyConvertible {
  public var keyBytes: [UInt8] { Array(utf8) }
  public init?(keyBytes: [UInt8]) { self.init(validating: keyBytes, as: UTF8.self) }
}

extension Substring: KeyConvertible {
  public var keyBytes: [UInt8] { Array(utf8) }
  public init?(keyBytes: [UInt8]) {
    guard let text = String(keyBytes: keyBytes) else { return nil }
    self.init(text)
  }
}

extension Bool: KeyConvertible {
  public var keyBytes: [UInt8] { Array((self ? "true" : "false").utf8) }
  public init?(keyBytes: [UInt8]) {
    guard let text = String(keyBytes: keyBytes), let value = Bool(text) else { return nil }
    self = value
  }
}

extension UUID: KeyConvertible {
  public var keyBytes: [UInt8] { Array(uuidString.utf8) }
  public init?(keyBytes: [UInt8]) {
    guard let text = String(keyBytes: keyBytes), let value = UUID(uuidString: text),
      value.keyBytes == keyBytes
    else { return nil }
    self = value
  }
}

extension Data: KeyConvertible {
  public var keyBytes: [UInt8] { Array(self) }
  public init?(keyBytes: [UInt8]) { self.init(keyBytes) }
}

extension Timestamp: KeyConvertible {
  public var keyBytes: [UInt8] { ISO8601.fixedWidth(self) }
  public init?(keyBytes: [UInt8]) {
    let parsed = keyBytes.withUnsafeBytes { try? ISO8601.parse($0) }
    guard let parsed, parsed.keyBytes == keyBytes else { return nil }
    self = parsed
  }
}

extension Date: KeyConvertible {
  public var keyBytes: [UInt8] { Timestamp(self).keyBytes }
  public init?(keyBytes: [UInt8]) {
    guard let timestamp = Timestamp(keyBytes: keyBytes) else { return nil }
    self = timestamp.date
  }
}

extension Key: KeyConvertible {
  public var keyBytes: [UInt8] { bytes }
  public init?(keyBytes: [UInt8]) { self.init(bytes: keyBytes) }

  /// Creates the key of a value.
  @_disfavoredOverload
  public init(_ value: some KeyConvertible) { self.init(bytes: value.keyBytes) }
}

extension GroupName: KeyConvertible {
  public var keyBytes: [UInt8] { bytes }
  public init?(keyBytes: [UInt8]) { self.init(bytes: keyBytes) }

  /// Creates the name of the group of a value.
  @_disfavoredOverload
  public init(_ value: some KeyConvertible) { self.init(bytes: value.keyBytes) }
}

extension RowID {
  /// The row of a key in a bucket.
  @_disfavoredOverload
  public init(_ key: some KeyConvertible, in bucket: some BucketName) {
    self.init(Key(key), in: bucket)
  }
}
