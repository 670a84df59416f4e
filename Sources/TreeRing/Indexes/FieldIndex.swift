// A group index whose definition is data, not code: the bucket, the field of the JSON object that
// names the group, the fields that order the rows, and the values that other fields must have.
//
// The store contains the definition, so that every process and the tool can evaluate it. Its
// canonical text is one line of JSON with its members in this order:
// {"bucket":B,"group":FIELD,"order":["FIELD","FIELD:desc"],"where":{"FIELD":["V","V"]},"version":N}
// A unique index has "unique":true after that, one with sums "sum":FIELD and "decimals":N, if these
// are not 0.
//
// Fields are dotted paths into the object. The group and the values that `where` compares are the
// texts of scalars: the text of a string, and any other scalar as written. A row is in no group if
// its object is not JSON, not an object, has no scalar in the group field, fails a `where`, or
// names a group longer than 255 bytes. A binary row counts as the JSON that stands for it.

public import TreeRingLog

/// A declarative group index: fields of a JSON object instead of a closure.
///
///     let byGenre = try FieldIndex(
///       on: books, group: "genre", order: [FieldIndex.Order("sales", descending: true)])
///     try store.define("ByGenre", byGenre)
public struct FieldIndex: Hashable, Sendable {
  /// A field that rows are ordered by.
  public struct Order: Hashable, Sendable {
    /// The dotted path of the field.
    public let field: String
    /// Whether greater values come first.
    public let isDescending: Bool

    /// Creates an order by a field.
    public init(_ field: String, descending: Bool = false) {
      self.field = field
      isDescending = descending
    }

    public static func == (a: Order, b: Order) -> Bool {
      a.field.isSameName(as: b.field) && a.isDescending == b.isDescending
    }
    public func hash(into hasher: inout Hasher) {
      field.hashName(into: &hasher)
      hasher.combine(isDescending)
    }
  }

  /// A condition that a row must fulfil to be in the index.
  public struct Condition: Hashable, Sendable {
    /// The dotted path of the field.
    public let field: String
    /// The permitted texts of the field.
    public let values: [String]

    /// Creates a condition: the field must have one of these texts.
    public init(_ field: String, in values: [String]) {
      self.field = field
      self.values = values
    }

    public static func == (a: Condition, b: Condition) -> Bool {
      a.field.isSameName(as: b.field) && a.values.areSameNames(as: b.values)
    }
    public func hash(into hasher: inout Hasher) {
      field.hashName(into: &hasher)
      hasher.combine(values.names)
    }
  }

  /// The bucket whose rows are indexed.
  public let bucket: String
  /// The dotted path of the field that names a row's group.
  public let group: String
  /// The fields that order the rows inside their group, the most significant first.
  public let order: [Order]
  /// The conditions, all of which a row must fulfil. Each field occurs once.
  public let conditions: [Condition]
  /// The definition's version; a definition with another version is another index.
  public let version: UInt32
  /// Whether each group may hold one row only; see ``unique()``.
  public private(set) var isUnique = false
  /// The field that it sums; nil if it has no sums. See ``summing(_:decimals:)``.
  public var sum: Sum? { sumField?.sum }

  /// The summed field, compiled.
  private(set) var sumField: SumField?
  /// The compiled fields.
  private(set) var program: FieldProgram

  /// Creates a definition. Conditions on the same field are merged into one.
  ///
  /// Throws `invalidInput` if a field's path has an empty name.
  public init(
    bucket: String, group: String, order: [Order], where conditions: [Condition] = [],
    version: UInt32 = 1
  ) throws(TreeRingError) {
    let merged = Self.merged(conditions)
    self.bucket = bucket
    self.group = group
    self.order = order
    self.conditions = merged
    self.version = version
    program = try FieldProgram(group: group, order: order, conditions: merged)
  }

  /// Creates a definition over the rows of a bucket, whose coder is `json` or `binary`. Rows that
  /// another coder has written are in no group.
  ///
  /// Throws `invalidInput` if a field's path has an empty name.
  public init(
    on bucket: some BucketName, group: String, order: [Order], where conditions: [Condition] = [],
    version: UInt32 = 1
  ) throws(TreeRingError) {
    try self.init(
      bucket: bucket.bucketName, group: group, order: order, where: conditions, version: version)
  }

  /// Returns the same definition as a rule: each group holds at most one row, so no two rows have
  /// the same value in the field that names the group.
  ///
  ///     let byEmail = try FieldIndex(on: members, group: "email", order: []).unique()
  ///     try store.define("ByEmail", byEmail)
  ///
  /// A commit after which two rows share a group throws `notUnique`. It is checked at the end of
  /// the commit, so two rows may exchange their values in one. A row without the field, or with
  /// null in it, is in no group, and there may be many of those. A value longer than a group's name
  /// may be throws `tooLarge`.
  public func unique() -> FieldIndex {
    var unique = self
    unique.isUnique = true
    unique.program.skipsNull = true
    return unique
  }

  /// Returns the same definition with sums: the index keeps the sum of a field's numbers, of any
  /// range of its order, also at earlier commits.
  ///
  ///     let days = try FieldIndex(on: orders, group: "customer", order: []).summing("day")
  ///     try store.define("Days", days)
  ///     let sum = try store.snapshot().index("Days").sum(in: "ann")
  ///
  /// Sums are exact. A number counts in units of the last decimal; so with `decimals: 2`, 12.5 and
  /// 12.50 are the same and 12.505 is refused. A commit that leaves a number with more decimals in
  /// a row of the index, or one of more than 64 bits in these units, throws `notSummable`. A row
  /// without a number in the field adds nothing; a number in quotes is text.
  ///
  /// - Throws: `invalidInput` if the field's path has an empty name, or there are not 0 to 18
  ///   decimals.
  public func summing(_ field: String, decimals: Int = 0) throws(TreeRingError) -> FieldIndex {
    var index = self
    index.sumField = try SumField(Sum(field, decimals: decimals))
    return index
  }

  /// Returns the conditions with those on the same field merged into one.
  static func merged(_ conditions: [Condition]) -> [Condition] {
    var merged: [Condition] = []
    for condition in conditions {
      if let index = merged.firstIndex(where: { $0.field.isSameName(as: condition.field) }) {
        let both = merged[index].values.filter { condition.values.containsName($0) }
        merged[index] = Condition(condition.field, in: both)
      } else {
        merged.append(condition)
      }
    }
    return merged
  }

  public static func == (a: FieldIndex, b: FieldIndex) -> Bool {
    a.bucket.isSameName(as: b.bucket) && a.group.isSameName(as: b.group) && a.order == b.order
      && a.conditions == b.conditions && a.version == b.version && a.isUnique == b.isUnique
      && a.sum == b.sum
  }

  public func hash(into hasher: inout Hasher) {
    bucket.hashName(into: &hasher)
    group.hashName(into: &hasher)
    hasher.combine(order)
    hasher.combine(conditions)
    hasher.combine(version)
  }

  /// Returns the same definition with another version.
  public func withVersion(_ version: UInt32) throws(TreeRingError) -> FieldIndex {
    var index = try FieldIndex(
      bucket: bucket, group: group, order: order, where: conditions, version: version)
    index.sumField = sumField
    return isUnique ? index.unique() : index
  }
}

/// The working memory of consecutive evaluations, and the result of the last one.
package struct FieldEntry {
  /// The group's name of the last row that is in the index.
  package internal(set) var group: [UInt8] = []
  /// The sort key of the last row that is in the index.
  package var sortKey: [UInt8] { encoder.bytes }

  /// Whether the last row is not in the index only because its group's name is too long.
  var isGroupTooLong = false
  var encoder = SortKeyEncoder()
  /// The values found in a binary row, as JSON.
  var json: [UInt8] = []
  /// The text of a string with escapes; never allocated without such a string.
  var text: [UInt8] = []

  init() {}
}

extension FieldIndex {
  /// The group and sort key of a row's object; nil if the row is not in the index. O(bytes), in one
  /// pass over the object.
  func evaluate(_ object: UnsafeRawBufferPointer) -> (group: [UInt8], sortKey: [UInt8])? {
    var entry = FieldEntry()
    return program.evaluate(object, into: &entry) ? (entry.group, entry.sortKey) : nil
  }

  /// Whether a row is not in the index only because its group's name is too long. O(bytes).
  func hasTooLongGroup(_ object: UnsafeRawBufferPointer) -> Bool {
    var entry = FieldEntry()
    return !program.evaluate(object, into: &entry) && entry.isGroupTooLong
  }
}
