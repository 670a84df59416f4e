// A filter of another index whose conditions are data, not code, so that every process and the tool
// can evaluate it. Its canonical text is one line of JSON with its members in this order:
//   {"filters":INDEX,"where":{"FIELD":["V","V"]},"version":N}
//
// Conditions are those of `FieldIndex`: a row fits if its object is a JSON object whose fields have,
// each of them, one of the texts given.

public import TreeRingLog

/// A declarative filter: the rows of another group index whose fields have certain values, in the same
/// groups and the same order.
///
///     try store.define("In stock", FieldFilter(of: "SalesRank", where: [.init("stock", in: ["yes"])]))
///
/// The other index may be defined in any way, also by a filter or by hand. If it is defined by a closure,
/// so is in effect this one: a process without the closure cannot read either. It follows when the other
/// index is defined anew, and is removed with it.
public struct FieldFilter: Hashable, Sendable {
  /// The name of the index it filters.
  public let parent: String
  /// What a row must fulfil, all of it. Each field stands here once.
  public let conditions: [FieldIndex.Condition]
  /// The definition's version; another one is another index.
  public let version: UInt32

  /// The conditions in the form that is evaluated.
  private let program: FieldProgram

  /// A filter. Conditions on the same field are merged into one.
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

  /// A filter from what is typed: each condition as `FIELD=V[,V…]`.
  ///
  /// Throws `invalidInput` with a sentence that says what to type instead.
  public init(
    of parent: String, where conditions: [String], version: UInt32 = 1
  ) throws(TreeRingError) {
    try self.init(
      of: parent, where: try FieldIndex.conditions(of: conditions), version: version)
  }

  public static func == (a: FieldFilter, b: FieldFilter) -> Bool {
    a.parent == b.parent && a.conditions == b.conditions && a.version == b.version
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(parent)
    hasher.combine(conditions)
    hasher.combine(version)
  }

  /// The same filter under another version.
  public func withVersion(_ version: UInt32) throws(TreeRingError) -> FieldFilter {
    try FieldFilter(of: parent, where: conditions, version: version)
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
    var output: [UInt8] = []
    output.append(contentsOf: "{\"filters\":".utf8)
    JSONScanner.appendQuoted(parent, to: &output)
    output.append(contentsOf: ",\"where\":".utf8)
    FieldIndex.append(conditions, to: &output)
    output.append(contentsOf: ",\"version\":\(version)}".utf8)
    return String(decoding: output, as: UTF8.self)
  }

  /// A filter from its JSON. Members may come in any order; `version` may be absent.
  ///
  /// Throws `invalidInput` if the text is not JSON, or a member is unknown, missing or malformed.
  public init(json: String) throws(TreeRingError) {
    self = try json.withBytes { (bytes) throws(TreeRingError) in try Self(json: bytes) }
  }

  /// A filter from its JSON, as bytes.
  package init(json: UnsafeRawBufferPointer) throws(TreeRingError) {
    var reader = FieldDefinitionReader(scanner: JSONScanner(json))
    try reader.read(members: ["filters", "where", "version"])
    guard let parent = reader.parent else {
      throw TreeRingError(.invalidInput, "The definition of a filter needs the member “filters”")
    }
    try self.init(of: parent, where: reader.conditions, version: reader.version)
  }
}
