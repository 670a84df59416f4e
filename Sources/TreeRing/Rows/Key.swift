// The key of a row. Keys compare byte by byte, never by Unicode equivalence, because the trees
// order them so.

/// A row's identity inside its bucket: up to 1,024 bytes, compared byte by byte.
public struct Key: Hashable, Comparable, Sendable, ExpressibleByStringLiteral,
  CustomStringConvertible
{
  /// The bytes, as they are ordered and stored.
  public let bytes: [UInt8]

  /// Creates a key of these bytes.
  public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
  /// Creates a key of this text's UTF-8 bytes.
  public init(_ text: some StringProtocol) { bytes = Array(text.utf8) }
  public init(stringLiteral value: String) { bytes = Array(value.utf8) }

  public static func < (a: Key, b: Key) -> Bool { KeyOrder.precedes(a.bytes, b.bytes) }
  /// The bytes as text; bytes that are not UTF-8 become U+FFFD.
  public var description: String { String(decoding: bytes, as: UTF8.self) }
}

/// Makes the keys of a scan. As long as nobody keeps them, they share one array, which is filled
/// anew for each row: an allocation would cost more than all else that a scan does for a row.
struct KeyBuffer {
  private var bytes: [UInt8] = []

  /// A key of these bytes. It keeps its value: if the previous key is still held, the array is
  /// copied first.
  @inline(__always)
  mutating func copy(_ key: UnsafeRawBufferPointer) -> Key {
    if bytes.count == key.count {
      bytes.withUnsafeMutableBytes { $0.copyMemory(from: key) }
    } else {
      bytes.removeAll(keepingCapacity: true)
      bytes.append(contentsOf: key)
    }
    return Key(bytes: bytes)
  }
}
