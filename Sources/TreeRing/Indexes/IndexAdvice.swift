// The messages about an index that is not there. They name the indexes that would serve instead,
// with their groups and orders.

package import TreeRingLog

extension IndexInfo {
  /// The index in a few words: its name, its buckets and its kind.
  ///
  /// - Parameter all: The indexes in force, of which it may filter one.
  fileprivate func summary(among all: [IndexInfo]) -> String {
    "\(name) (\(buckets.joined(separator: ", ")): \(kind(among: all))\(isUnique ? ", unique" : ""))"
  }

  private func kind(among all: [IndexInfo]) -> String {
    if let fields {
      let order = fields.order.map { $0.isDescending ? "\($0.field) descending" : $0.field }
      return "field \(fields.group)"
        + (order.isEmpty ? "" : " by \(order.joined(separator: ", "))")
        + Self.text(of: fields.conditions)
        + (fields.sum.map { ", sums of \($0.field)" } ?? "")
    }
    if let text { return "words of \(text.fields.map(\.name).joined(separator: ", "))" }
    if let reference { return reference.field.map { "reference \($0)" } ?? "reference in code" }
    if let expiry { return expiry.field.map { "expiry \($0)" } ?? "expiry in code" }
    if let parent {
      let filtered = all.first { $0.name.isSameName(as: parent) }
      return "filter of \(parent)" + Self.text(of: filter?.conditions ?? [])
        + (filtered.map { ", \($0.kind(among: all))" } ?? "")
    }
    if isManual { return "manual" }
    if events != nil { return "events" }
    return sumDecimals == nil ? "in code" : "in code, with sums"
  }

  private static func text(of conditions: [FieldIndex.Condition]) -> String {
    if conditions.isEmpty { return "" }
    return " where "
      + conditions.map { "\($0.field)=\($0.values.joined(separator: ","))" }
      .joined(separator: " and ")
  }

  /// The field whose values are the groups of all rows that have it; nil for other indexes.
  var groupField: String? {
    if let fields { return fields.conditions.isEmpty ? fields.group : nil }
    return reference?.field
  }

  /// Whether its groups or its order are those of a field.
  fileprivate func reads(_ field: String) -> Bool {
    guard let fields else { return reference?.field?.isSameName(as: field) ?? false }
    return fields.group.isSameName(as: field)
      || fields.order.contains { $0.field.isSameName(as: field) }
  }
}

/// The kind of index that a request reads.
package enum IndexUse {
  /// One with groups.
  case groups
  /// A text index.
  case words
  /// Any.
  case any

  fileprivate func isServed(by index: IndexInfo) -> Bool {
    switch self {
    case .groups: index.text == nil
    case .words: index.text != nil
    case .any: true
    }
  }

  /// The words for no such index.
  fileprivate var none: String {
    switch self {
    case .groups: "no index with groups"
    case .words: "no text index"
    case .any: "no index"
    }
  }
}

extension TreeRingError {
  /// The error for the name of an index that is not in force.
  ///
  /// - Parameters:
  ///   - bucket: The bucket whose rows are requested; nil if that is unknown. Then the name may be
  ///     that of a bucket.
  ///   - use: The kind of index that is requested.
  static func noIndex(
    named name: String, of bucket: String? = nil, for use: IndexUse = .groups,
    in definitions: Catalog
  ) -> TreeRingError {
    let all = IndexInfo.all(in: definitions)
    let isOfBucket = all.contains { $0.buckets.containsName(name) }
    let bucket = bucket ?? (isOfBucket ? name : nil)
    return TreeRingError(
      .notFound,
      "There is no index named \(name). " + all.offer(of: bucket, for: use, reading: name))
  }

  /// The error for a field that no index serves.
  static func noIndex(
    byField field: String, of bucket: String, in definitions: Catalog
  ) -> TreeRingError {
    TreeRingError(
      .notFound,
      "No index of the bucket \(bucket) has the field \(field) as its group. "
        + IndexInfo.all(in: definitions).offer(of: bucket, for: .groups, reading: field)
        + " Define a FieldIndex whose group is \(field).")
  }
}

extension [IndexInfo] {
  /// The number of indexes that a message describes, and of those that it names besides.
  private static var describedCount: Int { 8 }
  private static var namedCount: Int { 24 }

  /// The sentence that names the indexes that serve a request.
  ///
  /// - Parameters:
  ///   - bucket: The bucket whose rows are requested; nil for any.
  ///   - field: A field by which rows are requested: indexes that read it come first.
  fileprivate func offer(
    of bucket: String?, for use: IndexUse, reading field: String
  ) -> String {
    let known = filter { index in
      use.isServed(by: index) && (bucket.map { index.buckets.containsName($0) } ?? true)
    }
    let owner = bucket.map { "The bucket \($0)" } ?? "The store"
    if known.isEmpty { return "\(owner) has \(isEmpty ? IndexUse.any.none : use.none)." }
    let sorted = known.filter { $0.reads(field) } + known.filter { !$0.reads(field) }
    var text =
      "\(owner) has "
      + sorted.prefix(Self.describedCount).map { $0.summary(among: self) }
      .joined(separator: "; ")
    let others = sorted.dropFirst(Self.describedCount)
    if !others.isEmpty {
      text += "; and \(others.prefix(Self.namedCount).map(\.name).joined(separator: ", "))"
    }
    let rest = others.count - Self.namedCount
    return text + (rest > 0 ? ", and \(rest) more." : ".")
  }

  /// The sentence for a scan of a bucket with conditions: the indexes that give such rows without
  /// reading all, or the index to define. These are the indexes that the reader may see.
  ///
  /// An index serves if its groups are the values of a field that must be equal to something.
  /// - Throws: `invalidInput` if a condition is malformed.
  package func advice(
    on conditions: [String], in bucket: String
  ) throws(TreeRingError) -> String {
    var fields: [(field: String, isEqual: Bool)] = []
    for text in conditions {
      let condition = try FieldCondition(text)
      fields.append((condition.field, condition.relation == .equal))
    }
    let serving = filter { index in
      index.buckets.areSameNames(as: [bucket])
        && fields.contains {
          $0.isEqual && index.groupField?.isSameName(as: $0.field) ?? false
        }
    }
    if !serving.isEmpty {
      let list = serving.prefix(Self.describedCount).map { $0.summary(among: self) }
      return "Read the rows by a group of \(list.joined(separator: " or "))."
    }
    guard let equal = fields.first(where: \.isEqual) else {
      return "No index serves conditions without an equality; add one with FIELD=VALUE."
    }
    let range = fields.first { !$0.isEqual && !$0.field.isSameName(as: equal.field) }
    return "No index serves the conditions. Define one of the bucket \(bucket) by fields, with the "
      + "group \(equal.field)" + (range.map { " and the order \($0.field)." } ?? ".")
  }
}
