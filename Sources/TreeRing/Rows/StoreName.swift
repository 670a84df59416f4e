// Names, compared by their bytes. Swift's strings are equal if they are canonically equivalent,
// however their letters are composed. The trees have two keys for two such names, so they count as
// two names everywhere.

internal import TreeRingPlatform

/// The name of a bucket, an index or a tag, compared byte by byte: two spellings of one letter make
/// two names, although Swift's strings are equal.
public struct StoreName: Hashable, Comparable, Sendable, ExpressibleByStringLiteral,
  CustomStringConvertible
{
  /// The name as text.
  public let text: String

  /// Creates a name from a text.
  public init(_ text: some StringProtocol) { self.text = String(text) }
  public init(stringLiteral value: String) { text = value }

  public static func == (a: StoreName, b: StoreName) -> Bool { a.text.isSameName(as: b.text) }
  public static func < (a: StoreName, b: StoreName) -> Bool {
    a.text.utf8.lexicographicallyPrecedes(b.text.utf8)
  }
  public func hash(into hasher: inout Hasher) { text.hashName(into: &hasher) }
  /// The name as text.
  public var description: String { text }
}

/// Gives a text the equality of a name.
@propertyWrapper
package struct ExactName: Hashable, Sendable {
  private var name: StoreName
  package var wrappedValue: String {
    get { name.text }
    set { name = StoreName(newValue) }
  }

  package init(wrappedValue: String) { name = StoreName(wrappedValue) }
}

extension String {
  /// Whether two texts have the same bytes.
  package func isSameName(as other: String) -> Bool {
    if utf8.count != other.utf8.count { return false }
    // Comparing one byte after the other through iterators costs ten times as much.
    let isSame = utf8.withContiguousStorageIfAvailable { own in
      other.utf8.withContiguousStorageIfAvailable { own.isEqual(to: $0) }
    }
    return (isSame ?? nil) ?? utf8.elementsEqual(other.utf8)
  }

  /// Adds the bytes to a hash.
  package func hashName(into hasher: inout Hasher) {
    var text = self
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hasher.combine(UInt8.max)
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// Whether two runs of the same length have the same bytes.
  fileprivate func isEqual(to other: Self) -> Bool {
    guard let start = baseAddress, let otherStart = other.baseAddress else { return true }
    return memcmp(start, otherStart, count) == 0
  }
}

extension Optional<String> {
  /// Whether both are nil, or texts of the same bytes.
  package func isSameName(as other: String?) -> Bool {
    switch (self, other) {
    case (nil, nil): true
    case (let a?, let b?): a.isSameName(as: b)
    default: false
    }
  }
}

extension [String] {
  /// The texts as names.
  package var names: [StoreName] { map { StoreName($0) } }

  /// Whether one of the texts has the same bytes. O(n).
  func containsName(_ name: String) -> Bool { contains { $0.isSameName(as: name) } }

  /// Whether the texts have the same bytes, pair by pair.
  package func areSameNames(as others: [String]) -> Bool {
    elementsEqual(others) { $0.isSameName(as: $1) }
  }
}
