// The public description of an index definition.

internal import TreeRingLog

/// A group index in force.
public struct IndexInfo: Hashable, Sendable {
  /// The index's name.
  public let name: String
  /// The version from its author.
  public let version: UInt32
  /// The buckets it covers.
  public let buckets: [String]
  /// The fields it is defined by; nil if it is defined by a closure.
  public let fields: FieldIndex?
  /// The index it filters; nil if it filters none.
  public let parent: String?
  /// The fields it filters by; nil if it is no filter, or filters by a closure.
  public let filter: FieldFilter?
  /// Whether its rows are placed manually.
  public let isManual: Bool
  /// Whether each group may hold one row only; see ``FieldIndex/unique()``.
  public let isUnique: Bool
  /// The number of decimals of its sums, or of those of the index that it filters; nil if it has
  /// none.
  public let sumDecimals: Int?
  /// The rule that the rows it refers to exist; nil if it is none.
  public let reference: Reference?
  /// The rule that its rows vanish at a date; nil if it is none.
  public let expiry: Expiry?
  /// The words it is defined by; nil if it is no text index.
  public let text: TextIndex?
  /// The rule by which it groups events; nil if it is no index of events.
  package let events: EventGrouping?

  public static func == (a: IndexInfo, b: IndexInfo) -> Bool {
    a.name.isSameName(as: b.name) && a.version == b.version && a.fields == b.fields
      && a.buckets.areSameNames(as: b.buckets) && a.parent.isSameName(as: b.parent)
      && a.filter == b.filter && a.isManual == b.isManual
      && a.text == b.text && a.isUnique == b.isUnique && a.reference == b.reference
      && a.events == b.events
      && a.expiry == b.expiry && a.sumDecimals == b.sumDecimals
  }
  public func hash(into hasher: inout Hasher) {
    name.hashName(into: &hasher)
    hasher.combine(version)
  }

  static func all(in catalog: Catalog) -> [IndexInfo] {
    catalog.indexes.values.sorted { Key($0.name) < Key($1.name) }.map { record in
      var fields: FieldIndex?
      var filter: FieldFilter?
      var isManual = false
      var text: TextIndex?
      var events: EventGrouping?
      switch record.definition.withoutRule {
      case .fields(let text), .summed(let text): fields = try? FieldIndex(json: text)
      case .selected(_, let text): filter = try? FieldFilter(json: text)
      case .manual: isManual = true
      case .text(let json): text = try? TextIndex(record.name, json: json)
      case .events(let grouping, _): events = grouping
      case .removed, .code, .summedCode, .filtered, .unique, .reference, .expiry: break
      }
      return IndexInfo(
        name: record.name, version: record.version, buckets: record.buckets, fields: fields,
        parent: record.parent?.name, filter: filter, isManual: isManual, isUnique: record.isUnique,
        sumDecimals: record.decimals, reference: record.reference, expiry: record.expiry,
        text: text,
        events: events)
    }
  }
}
