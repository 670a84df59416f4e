// A text index: the words of some fields, and the documents that contain them. Its definition is
// data, as that of a `FieldIndex`, so every process and the tool can maintain and search it. Its
// canonical text is one line of JSON with its members in this order:
// {"bucket":B,"text":["FIELD:WEIGHT","FIELD"],"stemmer":"english","where":{"FIELD":["V"]},
//  "tokenizer":1,"version":N}
//
// A row whose object is not JSON, or fails a condition, has no words.

public import TreeRingLog

/// A text index: fields of a JSON object whose words can be searched.
///
///     let search = try TextIndex(
///       "search", on: books, fields: [.init("title", weight: 4), "body"], stemmer: .english)
///     try store.define(search)
///
/// Words are compared without case and diacritics. The text of a field is a string, a number as
/// written, or an array of these. Every commit that writes a row updates the words of that row
/// alone.
public struct TextIndex: Hashable, Sendable {
  /// A field whose words are indexed.
  public struct Field: Hashable, Sendable, ExpressibleByStringLiteral {
    /// The dotted path of the field.
    public let name: String
    /// The factor for an occurrence in this field, 1 to 100. A greater one gives a higher score.
    public let weight: Int

    /// Creates a field.
    public init(_ name: String, weight: Int = 1) {
      self.name = name
      self.weight = weight
    }

    /// Creates a field of weight 1.
    public init(stringLiteral name: String) { self.init(name) }

    public static func == (a: Field, b: Field) -> Bool {
      a.name.isSameName(as: b.name) && a.weight == b.weight
    }
    public func hash(into hasher: inout Hasher) {
      name.hashName(into: &hasher)
      hasher.combine(weight)
    }
  }

  /// The maximum number of fields.
  public static let fieldLimit = 16

  /// The index's name, unique in the store.
  public let name: String
  /// The bucket whose rows are indexed.
  public let bucket: String
  /// The fields, at least one.
  public let fields: [Field]
  /// The language whose words are reduced to their stems; nil if words are compared whole.
  public let stemmer: TextStemmer?
  /// The conditions, all of which a row must fulfil. Each field occurs once.
  public let conditions: [FieldIndex.Condition]
  /// The definition's version; a definition with another version is another index.
  public let version: UInt32

  /// The fields in the order of their numbers in the postings: the last one, mostly the longest,
  /// has the number 0, which takes the fewest bytes.
  let slots: [Field]
  let program: FieldProgram
  let format: PostingFormat

  /// Creates a definition. Conditions on the same field are merged into one.
  ///
  /// Throws `invalidInput` if there is no field or more than 16, if a field's path has an empty
  /// name or occurs twice, and if a weight is not between 1 and 100.
  public init(
    _ name: String, bucket: String, fields: [Field], stemmer: TextStemmer? = nil,
    where conditions: [FieldIndex.Condition] = [], version: UInt32 = 1
  ) throws(TreeRingError) {
    guard !fields.isEmpty, fields.count <= Self.fieldLimit else {
      throw TreeRingError(
        .invalidInput,
        "A text index needs 1 to \(Self.fieldLimit) fields; this one has \(fields.count).")
    }
    for (index, field) in fields.enumerated() {
      guard (1...100).contains(field.weight) else {
        throw TreeRingError(
          .invalidInput,
          "The weight of the field \(field.name) is \(field.weight); it must be between 1 and 100.")
      }
      if fields[..<index].contains(where: { $0.name.isSameName(as: field.name) }) {
        throw TreeRingError(
          .invalidInput, "The field \(field.name) occurs twice; give it a weight instead.")
      }
    }
    let merged = FieldIndex.merged(conditions)
    self.name = name
    self.bucket = bucket
    self.fields = fields
    self.stemmer = stemmer
    self.conditions = merged
    self.version = version
    slots = fields.reversed()
    program = try FieldProgram(
      group: nil, order: slots.map { FieldIndex.Order($0.name) }, conditions: merged)
    format = PostingFormat(weights: slots.map { UInt32($0.weight) })
  }

  /// Creates a definition over the rows of a bucket, whose coder is `json` or `binary`. Rows that
  /// another coder has written have no words.
  ///
  /// Throws `invalidInput` as the other initialiser.
  public init(
    _ name: String, on bucket: some BucketName, fields: [Field], stemmer: TextStemmer? = nil,
    where conditions: [FieldIndex.Condition] = [], version: UInt32 = 1
  ) throws(TreeRingError) {
    try self.init(
      name, bucket: bucket.bucketName, fields: fields, stemmer: stemmer, where: conditions,
      version: version)
  }

  /// Returns the same definition with another version.
  public func withVersion(_ version: UInt32) throws(TreeRingError) -> TextIndex {
    try TextIndex(
      name, bucket: bucket, fields: fields, stemmer: stemmer, where: conditions, version: version)
  }

  public static func == (a: TextIndex, b: TextIndex) -> Bool {
    a.name.isSameName(as: b.name) && a.json.isSameName(as: b.json)
  }

  public func hash(into hasher: inout Hasher) {
    name.hashName(into: &hasher)
    hasher.combine(version)
  }
}

extension TextIndex.Field: CustomStringConvertible {
  /// The field, followed by `:` and its weight if that is not 1.
  public var description: String {
    let isPlain = weight == 1 && TextIndex.Field(text: name).weight == 1
    return isPlain ? name : "\(name):\(weight)"
  }

  /// Creates a field from its text, `FIELD` or `FIELD:WEIGHT`.
  public init(text: String) {
    if let colon = text.lastIndex(of: ":"), let weight = Int(text[text.index(after: colon)...]) {
      self.init(String(text[..<colon]), weight: weight)
    } else {
      self.init(text)
    }
  }
}

extension TextIndex {
  /// The definition as canonical JSON, the text that is stored; without the name. Equal definitions
  /// have equal texts.
  public var json: String {
    let fields = FieldIndex.json(fields.map(\.description))
    let stemmer = stemmer.map { ",\"stemmer\":\"\($0.rawValue)\"" } ?? ""
    return "{\"bucket\":\(JSONScanner.quoted(bucket)),\"text\":\(fields)\(stemmer),"
      + "\"where\":\(FieldIndex.json(conditions)),"
      + "\"tokenizer\":\(TextTokenizer.version),\"version\":\(version)}"
  }

  /// Creates a definition from its JSON. Members may come in any order; `stemmer`, `where`,
  /// `tokenizer` and `version` may be absent.
  ///
  /// Throws `invalidInput` if the text is not JSON, or a member is unknown, missing or malformed;
  /// `unsupportedFormat` if this version of TreeRing has no such tokenizer or stemmer.
  public init(_ name: String, json: String) throws(TreeRingError) {
    self = try Array(json.utf8).withUnsafeBytes { (bytes) throws(TreeRingError) in
      try Self(name, json: bytes)
    }
  }

  /// Creates a definition from its JSON, as bytes.
  package init(_ name: String, json: UnsafeRawBufferPointer) throws(TreeRingError) {
    var reader = FieldDefinitionReader(scanner: JSONScanner(json))
    try reader.read(members: ["bucket", "text", "stemmer", "where", "tokenizer", "version"])
    guard let bucket = reader.bucket else {
      throw TreeRingError(
        .invalidInput, "The definition of a text index needs the members “bucket” and “text”")
    }
    let stemmer = reader.stemmer.map { TextStemmer(rawValue: $0) }
    guard reader.tokenizer == TextTokenizer.version, stemmer != .some(nil) else {
      throw TreeRingError(
        .unsupportedFormat,
        "The text index \(name) cuts words by tokenizer \(reader.tokenizer) and stemmer "
          + "\(reader.stemmer ?? "none"), which this version does not have. Open the store with a "
          + "newer version.")
    }
    try self.init(
      name, bucket: bucket, fields: reader.text.map { Field(text: $0) }, stemmer: stemmer ?? nil,
      where: reader.conditions, version: reader.version)
  }

  /// Creates a definition from typed options: `fields` as `FIELD[:WEIGHT][,…]`, each condition as
  /// `FIELD=V[,V…]`.
  ///
  /// Throws `invalidInput` with a sentence that states the expected form.
  public init(
    _ name: String, bucket: String, fields: String, stemmer: TextStemmer? = nil,
    where conditions: [String] = [], version: UInt32 = 1
  ) throws(TreeRingError) {
    try self.init(
      name, bucket: bucket, fields: fields.split(separator: ",").map { Field(text: String($0)) },
      stemmer: stemmer, where: try FieldIndex.conditions(of: conditions), version: version)
  }
}
