// One value of the order of a group, with its direction: given by the caller, or maintained by the
// engine (the operations that created and last wrote the row).

internal import TreeRingLog

/// The position of absent values. It does not depend on the direction of the present ones.
public enum NilOrder: Hashable, Sendable {
  /// Before every present value.
  case first
  /// After every present value.
  case last
}

/// One value that orders the rows of a group.
///
/// ```swift
/// Place(in: book.genre, by: .descending(book.sales), .ascending(book.title))
/// ```
public struct SortItem: Hashable, Sendable {
  private enum Content: Hashable, Sendable {
    case component([UInt8])
    case created
    case modified
  }

  private var content: Content
  private var isDescending: Bool

  /// Smaller values first: numbers by value (NaN last), text by Unicode scalars, false before true.
  public static func ascending(_ value: some SortValue) -> SortItem {
    SortItem(content: .component(component(of: value, descending: false)), isDescending: false)
  }

  /// Greater values first: the exact reverse of ``ascending(_:)``.
  public static func descending(_ value: some SortValue) -> SortItem {
    SortItem(content: .component(component(of: value, descending: true)), isDescending: true)
  }

  /// Smaller values first, with absent ones according to `nils`.
  public static func ascending<Value: SortValue>(_ value: Value?, nils: NilOrder) -> SortItem {
    optional(value, nils: nils, descending: false)
  }

  /// Greater values first, with absent ones according to `nils`.
  public static func descending<Value: SortValue>(_ value: Value?, nils: NilOrder) -> SortItem {
    optional(value, nils: nils, descending: true)
  }

  /// The order of insertion. A row that is replaced keeps its position in it.
  public static let created = SortItem(content: .created, isDescending: false)

  /// The order of the last writes, the latest write last.
  public static let modified = SortItem(content: .modified, isDescending: false)

  /// The same item in the opposite direction, absent values included.
  public var reversed: SortItem {
    var item = self
    item.isDescending.toggle()
    if case .component(let bytes) = content { item.content = .component(bytes.map { ~$0 }) }
    return item
  }

  private static func component(of value: some SortValue, descending: Bool) -> [UInt8] {
    var encoder = SortKeyEncoder()
    value.appendSortKey(to: &encoder)
    if descending { encoder.complement(from: 0) }
    return encoder.bytes
  }

  private static func optional<Value: SortValue>(
    _ value: Value?, nils: NilOrder, descending: Bool
  ) -> SortItem {
    var encoder = SortKeyEncoder()
    if let value {
      encoder.appendRaw(1)
      value.appendSortKey(to: &encoder)
      if descending { encoder.complement(from: 1) }
    } else {
      encoder.appendRaw(nils == .first ? 0 : 2)
    }
    return SortItem(content: .component(encoder.bytes), isDescending: descending)
  }

  /// The bytes of the item's component; nil if they depend on the row's operations.
  var component: [UInt8]? {
    if case .component(let bytes) = content { bytes } else { nil }
  }

  /// Appends the item's component.
  package func append(to encoder: inout SortKeyEncoder, context: SortKeyContext) {
    let number: Stamp
    switch content {
    case .component(let bytes):
      encoder.appendRaw(bytes)
      return
    case .created: number = context.created
    case .modified: number = context.modified
    }
    let start = encoder.bytes.count
    encoder.appendBigEndian(number.commit)
    encoder.appendBigEndian(number.operation)
    if isDescending { encoder.complement(from: start) }
  }
}

/// The properties of a row that the engine maintains and a place may order by.
package struct SortKeyContext: Hashable, Sendable {
  /// The operation that inserted the row.
  package var created: Stamp
  /// The operation that last wrote the row.
  package var modified: Stamp

  package init(created: Stamp, modified: Stamp) {
    self.created = created
    self.modified = modified
  }
}
