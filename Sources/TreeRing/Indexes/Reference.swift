// References between rows, as a rule: a field of the rows of one bucket holds the keys of rows of
// another bucket, or of the same, and those rows exist after every commit.
//
// A reference is a group index too: its groups are the keys that rows refer to. So the rows that
// refer to a row are found in O(log n + rows).
//
// The stored text is one line of JSON with its members in this order. A reference by closure lacks
// the field; one that is not required, or not unique, lacks that member:
//   {"bucket":B,"field":FIELD,"to":B,"delete":D,"required":true,"version":N,"unique":true}

public import TreeRingLog

/// A rule that rows refer to rows that exist, declared by a field of JSON objects or binary rows.
///
///     let author = try Reference(on: books, field: "author", to: authors, onDelete: .cascade)
///     try store.define("author", author)
///
/// The field holds one key, or an array of keys, as text; a number counts as its text. A row
/// without the field, or with null or an empty array in it, refers to nothing. The reference can be
/// read as a group index whose groups are the keys referred to.
///
/// A commit that adds a reference to a row that does not exist at its end throws
/// `referenceMissing`. `deletion` states the effect of deleting a row that others refer to.
public struct Reference: Hashable, Sendable {
  /// The effect of deleting a row on those that refer to it, in the same commit.
  public enum Deletion: String, Hashable, Sendable, CaseIterable {
    /// The commit is refused with `restricted` if a row refers to it at the end.
    case restrict
    /// Rows that refer to it are deleted too, and those that refer to these.
    case cascade
    /// The key is removed from the field: an array loses it, and a single key becomes null.
    case nullify
  }

  /// The bucket of the rows that refer to others.
  public let bucket: String
  /// The dotted path of the field with the keys; nil for a reference by closure.
  public let field: String?
  /// The bucket of the rows referred to.
  public let target: String
  /// The effect of deleting a row that others refer to.
  public let deletion: Deletion
  /// Whether every row of the bucket must refer to a row.
  public let isRequired: Bool
  /// The definition's version; a definition with another version is another rule.
  public let version: UInt32
  /// Whether a row may be referred to by one row at most; see ``unique()``.
  public private(set) var isUnique = false

  /// The field, ready for use.
  let keyField: KeyField?

  /// Creates a reference by a field. Throws `invalidInput` if the field's path has an empty name,
  /// or if the reference is required and to be nullified, which would leave rows without one.
  public init(
    on bucket: some BucketName, field: String, to target: some BucketName,
    onDelete deletion: Deletion = .restrict, isRequired: Bool = false, version: UInt32 = 1
  ) throws(TreeRingError) {
    try self.init(
      bucket: bucket.bucketName, field: field, target: target.bucketName, deletion: deletion,
      isRequired: isRequired, version: version)
  }

  /// Creates a reference by a field, or by a closure if that is nil.
  init(
    bucket: String, field: String?, target: String, deletion: Deletion, isRequired: Bool,
    version: UInt32
  ) throws(TreeRingError) {
    if isRequired, deletion == .nullify {
      throw TreeRingError(
        .invalidInput,
        "A required reference cannot be nullified, which would leave rows without one. Let deletes "
          + "cascade, or restrict them.")
    }
    keyField = try field.map { (path) throws(TreeRingError) in KeyField(try JSONPath(path)) }
    self.bucket = bucket
    self.field = field
    self.target = target
    self.deletion = deletion
    self.isRequired = isRequired
    self.version = version
  }

  /// Returns the same reference with the further rule that a row is referred to by one row at most.
  /// A commit after which two rows refer to one throws `notUnique`.
  public func unique() -> Reference {
    var unique = self
    unique.isUnique = true
    return unique
  }

  /// Returns the same reference with another version.
  public func withVersion(_ version: UInt32) throws(TreeRingError) -> Reference {
    var other = try Reference(
      bucket: bucket, field: field, target: target, deletion: deletion, isRequired: isRequired,
      version: version)
    other.isUnique = isUnique
    return other
  }

  public static func == (a: Reference, b: Reference) -> Bool { a.json.isSameName(as: b.json) }
  public func hash(into hasher: inout Hasher) { json.hashName(into: &hasher) }
}

extension Reference {
  /// The definition as canonical JSON, the text that is stored. Equal definitions have equal texts.
  public var json: String {
    let field = field.map { "\"field\":\(JSONScanner.quoted($0))," } ?? ""
    return "{\"bucket\":\(JSONScanner.quoted(bucket)),\(field)\"to\":\(JSONScanner.quoted(target)),"
      + "\"delete\":\"\(deletion.rawValue)\",\(isRequired ? "\"required\":true," : "")"
      + "\"version\":\(version)\(FieldIndex.uniqueness(isUnique))}"
  }

  /// Creates a definition from its JSON. Members may come in any order; `delete`, `required`,
  /// `version` and `unique` may be absent.
  ///
  /// Throws `invalidInput` if the text is not JSON, or a member is unknown, missing or malformed.
  public init(json: String) throws(TreeRingError) {
    self = try Array(json.utf8).withUnsafeBytes { (bytes) throws(TreeRingError) in
      try Self(json: bytes)
    }
  }

  /// Creates a definition from its JSON, as bytes.
  package init(json: UnsafeRawBufferPointer) throws(TreeRingError) {
    var reader = FieldDefinitionReader(scanner: JSONScanner(json))
    try reader.read(
      members: ["bucket", "field", "to", "delete", "required", "version", "unique"])
    guard let bucket = reader.bucket, let target = reader.target else {
      throw TreeRingError(
        .invalidInput, "The definition of a reference needs the members “bucket” and “to”")
    }
    guard let deletion = Deletion(rawValue: reader.deletion) else {
      throw TreeRingError(
        .invalidInput,
        "“\(reader.deletion)” is no effect of a delete; write restrict, cascade or nullify")
    }
    try self.init(
      bucket: bucket, field: reader.field, target: target, deletion: deletion,
      isRequired: reader.isRequired, version: reader.version)
    if reader.isUnique { self = unique() }
  }
}

extension Reference {
  /// The reference, ready for use; nil if it is by closure.
  var active: ActiveReference? {
    keyField.map {
      ActiveReference(
        target: target, deletion: deletion, isRequired: isRequired, source: .field($0))
    }
  }
}

extension IndexRecord.Definition {
  /// The definition of a reference, unique or not.
  package init(_ reference: Reference) {
    let definition = Self.reference(reference.json)
    self = reference.isUnique ? .unique(definition) : definition
  }
}

/// A reference, ready to find the keys of a row.
struct ActiveReference: Sendable {
  /// The bucket of the rows referred to.
  let target: String
  let deletion: Reference.Deletion
  let isRequired: Bool
  let source: Source

  /// The origin of the keys.
  enum Source: Sendable {
    case field(KeyField)
    case code(
      keys: @Sendable (RowInput) throws -> [GroupName],
      remove: @Sendable (Key, RowInput) throws -> (object: [UInt8], coder: UInt32)?)
  }

  /// The keys that a row refers to, in any order. A key longer than a group's name is left out.
  func keys(of row: RowInput) throws -> [GroupName] {
    switch source {
    case .code(let keys, _): return try keys(row)
    case .field(let field):
      return field.keys(in: row.object).filter { key in
        key.withUnsafeBytes { GroupName.isWithinLimit($0) }
      }.map { GroupName(bytes: $0) }
    }
  }

  /// The object of a row without a key, and the version of its coder; nil if it cannot lose the
  /// key.
  func removing(_ key: Key, from row: RowInput) throws -> (object: [UInt8], coder: UInt32)? {
    switch source {
    case .code(_, let remove): return try remove(key, row)
    case .field(let field):
      return field.removing(key.bytes, from: row.object).map { ($0, row.record.coder) }
    }
  }

  /// Throws `tooLarge` if a row refers to a key that is too long to be indexed.
  func checkLength(of row: RowInput, in name: String) throws(TreeRingError) {
    guard case .field(let field) = source,
      field.keys(in: row.object).contains(where: { key in
        !key.withUnsafeBytes { GroupName.isWithinLimit($0) }
      })
    else { return }
    throw TreeRingError(
      .tooLarge,
      "A key in the field of the reference \(name) exceeds \(Limits.nameByteCount) bytes, of which "
        + "each zero byte counts twice. Refer to rows with shorter keys.")
  }
}
