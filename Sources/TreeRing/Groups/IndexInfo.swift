// What a store tells about its index definitions.

/// A group index in force.
public struct IndexInfo: Hashable, Sendable {
  /// The index's name.
  public let name: String
  /// The version its author gave it.
  public let version: UInt32
  /// The buckets it covers.
  public let buckets: [String]
  /// The fields it is defined by; nil if it is defined by a closure.
  public let fields: FieldIndex?
  /// The index it filters; nil if it filters none.
  public let parent: String?

  static func all(in catalog: Catalog) -> [IndexInfo] {
    catalog.indexes.values.sorted { Key($0.name) < Key($1.name) }.map { record in
      var fields: FieldIndex?
      if case .fields(let text) = record.definition { fields = try? FieldIndex(json: text) }
      return IndexInfo(
        name: record.name, version: record.version, buckets: record.buckets, fields: fields,
        parent: record.parent?.name)
    }
  }
}
