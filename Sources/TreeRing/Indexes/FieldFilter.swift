// A filter of another index whose conditions are data, not code, so that every process and the tool
// can evaluate it. Its canonical text is one line of JSON with its members in this order:
//   {"filters":INDEX,"where":{"FIELD":["V","V"]},"version":N}
// A unique filter has "unique":true after that.
//
// Conditions are those of `FieldIndex`. A row fits if its object is a JSON object in which every
// field with a condition has one of the permitted texts.

public import TreeRingLog

/// A declarative filter: the rows of another group index whose fields have certain values, in the
/// same groups and the same order.
///
///     let inStock = FieldIndex.Condition("stock", in: ["yes"])
///     try store.define("In stock", FieldFilter(of: "SalesRank", where: [inStock]))
///
/// The other index may be of any kind, even a filter or manual. If it is defined by a closure, a
/// process without the closure can read neither of the two. The filter is adapted when the other
/// index is redefined, and removed with it.
public struct FieldFilter: Hashable, Sendable {
  /// The name of the index it filters.
  public let parent: String
  /// The conditions, all of which a row must fulfil. Each field occurs once.
  public let conditions: [FieldIndex.Condition]
  /// The definition's version; a definition with another version is another index.
  public let version: UInt32
  /// Whether each group may hold one row only; see ``unique()``.
  public private(set) var isUnique = false

  /// The compiled conditions.
  private let program: FieldProgram

  /// Creates a filter. Conditions on the same field are merged into one.
  ///
  /// Throws `invalidInput` if a field's path has an empty name.
  public init(
    of parent: String, where conditions: [FieldIndex.Condition], version: UInt32 = 1
  ) throws(TreeRingError) {
    self.parent = parent
    self.conditions = FieldIndex.merged(conditions)
    self.version = version
    program = try FieldProgram(group: nil, order: [], conditions: self.conditions)
  }

  /// Creates a filter from typed conditions, each `FIELD=V[,V…]`.
  ///
  /// Throws `invalidInput` with a sentence that states the expected form.
  public init(
    of parent: String, where conditions: [String], version: UInt32 = 1
  ) throws(TreeRingError) {
    try self.init(
      of: parent, where: try FieldIndex.conditions(of: conditions), version: version)
  }

  /// Returns the same filter as a rule: of the rows that fit, each group holds at most one. See
  /// ``FieldIndex/unique()``.
  public func unique() -> FieldFilter {
    var unique = self
    unique.isUnique = true
    return unique
  }

  public static func == (a: FieldFilter, b: FieldFilter) -> Bool {
    a.parent.isSameName(as: b.parent) && a.conditions == b.conditions && a.version == b.version
      && a.isUnique == b.isUnique
  }

  public func hash(into hasher: inout Hasher) {
    parent.hashName(into: &hasher)
    hasher.combine(conditions)
    hasher.combine(version)
  }

  /// Returns the same filter with another version.
  public func withVersion(_ version: UInt32) throws(TreeRingError) -> FieldFilter {
    let filter = try FieldFilter(of: parent, where: conditions, version: version)
    return isUnique ? filter.unique() : filter
  }

  /// Whether a row's object fulfils the conditions. O(bytes), in one pass over the object.
  package func fits(_ object: UnsafeRawBufferPointer) -> Bool {
    var entry = FieldEntry()
    return program.evaluate(object, into: &entry)
  }
}

extension FieldFilter {
  /// The definition as canonical JSON, the text that is stored. Equal definitions have equal texts.
  public var json: String {
    "{\"filters\":\(JSONScanner.quoted(parent)),\"where\":\(FieldIndex.json(conditions)),"
      + "\"version\":\(version)\(FieldIndex.uniqueness(isUnique))}"
  }

  /// Creates a filter from its JSON. Members may come in any order; `version` and
  /// `unique` may be absent.
  ///
  /// Throws `invalidInput` if the text is not JSON, or a member is unknown, missing or malformed.
  public init(json: String) throws(TreeRingError) {
    self = try Array(json.utf8).withUnsafeBytes { (bytes) throws(TreeRingError) in
      try Self(json: bytes)
    }
  }

  /// Creates a filter from its JSON, as bytes.
  package init(json: UnsafeRawBufferPointer) throws(TreeRingError) {
    var reader = FieldDefinitionReader(scanner: JSONScanner(json))
    try reader.read(members: ["filters", "where", "version", "unique"])
    guard let parent = reader.parent else {
      throw TreeRingError(
        .invalidInput, "The definition of a filter needs the member “filters”, the name of an index"
      )
    }
    try self.init(of: parent, where: reader.conditions, version: reader.version)
    if reader.isUnique { self = unique() }
  }
}
