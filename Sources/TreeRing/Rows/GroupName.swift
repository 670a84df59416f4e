// The name of a group. Names compare byte by byte, as keys do.

/// The name of a group of a group index: up to 255 bytes, compared byte by byte.
public struct GroupName: Hashable, Comparable, Sendable, ExpressibleByStringLiteral,
  CustomStringConvertible
{
  /// The name's UTF-8 bytes.
  public let bytes: [UInt8]

  /// Creates a group name of these bytes.
  public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
  /// Creates a group name of this text's UTF-8 bytes.
  public init(_ text: some StringProtocol) { bytes = Array(text.utf8) }
  public init(stringLiteral value: String) { bytes = Array(value.utf8) }

  public static func < (a: GroupName, b: GroupName) -> Bool {
    KeyOrder.precedes(a.bytes, b.bytes)
  }
  /// The name as text.
  public var description: String { String(decoding: bytes, as: UTF8.self) }
}
