// Expiry, as a rule: a date in each row of a bucket, from which on the row is gone.
//
// An expiry is a group index with one group, in the order of the dates. So the rows that are due
// are found in O(log n + rows).
//
// The stored text is one line of JSON with its members in this order; an expiry by closure has the
// dates “code” and lacks the field:
//   {"bucket":B,"field":FIELD,"dates":"date","version":N}

public import TreeRingLog
public import TreeRingPlatform

/// A rule that rows vanish at a date of theirs, declared by a field of JSON objects or binary rows.
///
///     let expiry = try Expiry(on: sessions, field: "expires")
///     try store.define("expiry", expiry)
///
/// The field holds a date in ISO 8601 as text, or a number; `Numbers` states its unit. A row
/// without a date stays. The expiry can be read as a group index with one group, ``group``, in
/// which the next row to expire comes first.
///
/// A commit deletes all rows whose date is not later than its own, by operations of its own, so
/// that no snapshot of it shows them. The sweeper of the writing process makes commits for that
/// when nobody else does; see `Store.sweep`.
public struct Expiry: Hashable, Sendable {
  /// The meaning of numbers in the field.
  public enum Numbers: String, Hashable, Sendable, CaseIterable {
    /// Seconds since 2001, as `Date` is encoded by the coders of rows.
    case date
    /// Seconds since 1970.
    case seconds
    /// Milliseconds since 1970.
    case milliseconds
  }

  /// The group of all rows with a date.
  public static let group: GroupName = "expires"

  /// The bucket of the rows that expire.
  public let bucket: String
  /// The dotted path of the field with the date; nil for an expiry by closure.
  public let field: String?
  /// The meaning of numbers in the field.
  public let numbers: Numbers
  /// The definition's version; a definition with another version is another rule.
  public let version: UInt32

  /// The field, ready for use.
  private let path: JSONPath?

  /// Creates an expiry by a field. Throws `invalidInput` if the field's path has an empty name.
  public init(
    on bucket: some BucketName, field: String, numbers: Numbers = .date, version: UInt32 = 1
  ) throws(TreeRingError) {
    try self.init(
      bucket: bucket.bucketName, field: field, numbers: numbers, version: version)
  }

  /// Creates an expiry by a field, or by a closure if that is nil.
  init(
    bucket: String, field: String?, numbers: Numbers, version: UInt32
  ) throws(TreeRingError) {
    path = try field.map { (field) throws(TreeRingError) in try JSONPath(field) }
    self.bucket = bucket
    self.field = field
    self.numbers = numbers
    self.version = version
  }

  /// Returns the same expiry with another version.
  public func withVersion(_ version: UInt32) throws(TreeRingError) -> Expiry {
    try Expiry(bucket: bucket, field: field, numbers: numbers, version: version)
  }

  public static func == (a: Expiry, b: Expiry) -> Bool { a.json.isSameName(as: b.json) }
  public func hash(into hasher: inout Hasher) { json.hashName(into: &hasher) }
}

extension Expiry {
  /// The definition as canonical JSON, the text that is stored. Equal definitions have equal texts.
  public var json: String {
    let field = field.map { "\"field\":\(JSONScanner.quoted($0))," } ?? ""
    let dates = self.field == nil ? Self.inCode : numbers.rawValue
    return "{\"bucket\":\(JSONScanner.quoted(bucket)),\(field)\"dates\":\"\(dates)\","
      + "\"version\":\(version)}"
  }

  /// The member “dates” of an expiry by closure.
  private static let inCode = "code"

  /// Creates a definition from its JSON. Members may come in any order; `version` may be absent.
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
    try reader.read(members: ["bucket", "field", "dates", "version"])
    guard let bucket = reader.bucket, let dates = reader.dates,
      (dates == Self.inCode) == (reader.field == nil)
    else {
      throw TreeRingError(
        .invalidInput,
        "The definition of an expiry needs the members “bucket” and “dates”, and “field” unless "
          + "the dates are in code")
    }
    guard let numbers = dates == Self.inCode ? .date : Numbers(rawValue: dates) else {
      throw TreeRingError(
        .invalidInput, "“\(dates)” is no kind of dates; write date, seconds or milliseconds")
    }
    try self.init(
      bucket: bucket, field: reader.field, numbers: numbers, version: reader.version)
  }

  /// The date in the field of an object; nil if there is none.
  func date(in object: UnsafeRawBufferPointer) -> Timestamp? {
    guard let path else { return nil }
    return KeyField(path).withValue(in: object) { json -> Timestamp? in
      var text: [UInt8] = []
      guard JSONScanner.appendText(ofScalar: json, to: &text) else { return nil }
      if json.first == UInt8(ascii: "\"") {
        return text.withUnsafeBytes { bytes in try? ISO8601.parse(bytes) }
      }
      return Double(String(decoding: text, as: UTF8.self)).flatMap { date(of: $0) }
    } ?? nil
  }

  private func date(of number: Double) -> Timestamp? {
    if number.isNaN { return nil }
    return switch numbers {
    case .date: Timestamp(Date(timeIntervalSinceReferenceDate: number))
    case .seconds: Timestamp(Date(timeIntervalSince1970: number))
    case .milliseconds: Timestamp(Date(timeIntervalSince1970: number / 1000))
    }
  }

  /// The expiry, ready for use; nil if it is by closure.
  var active: ActiveExpiry? {
    path == nil ? nil : ActiveExpiry(readsMetadata: false) { date(in: $0.object) }
  }
}

/// An expiry, ready to find the date of a row.
struct ActiveExpiry: Sendable {
  let readsMetadata: Bool
  let date: @Sendable (RowInput) throws -> Timestamp?

  /// The places of a row: one by its date, or none.
  func places(of row: RowInput) throws -> [EncodedPlace] {
    guard let date = try date(row) else { return [] }
    return [EncodedPlace(group: Expiry.group, sortKey: Self.sortKey(date))]
  }

  static func sortKey(_ date: Timestamp) -> [UInt8] {
    var encoder = SortKeyEncoder()
    encoder.append(date)
    return encoder.bytes
  }

  /// The date of a key of the order tree; nil for an empty key, which stands for a page that could
  /// not be fetched.
  static func date(ofKey key: UnsafeRawBufferPointer) -> Timestamp? {
    let head = Expiry.group.encoded.count
    guard key.count >= head + 8 else { return nil }
    let bits = UInt64(bigEndian: key.loadUnaligned(fromByteOffset: head, as: UInt64.self))
    return Timestamp(microseconds: Int64(bitPattern: bits ^ 1 << 63))
  }

  /// The earliest date in an order tree; nil without one. Inside a read section. O(log n).
  static func earliest(in order: Tree) -> Timestamp? {
    order.isEmpty ? nil : order.withEntry(at: 0) { key, _ in date(ofKey: key) }
  }

  /// The entries of an order tree whose date is not later than another. The tree has one group.
  /// Inside a read section. O(log n); usually nothing is due, which takes one descent.
  static func due(in order: Tree, at date: Timestamp) -> Range<Int> {
    guard let earliest = earliest(in: order), earliest <= date else { return 0..<0 }
    // The first key after those of the date.
    let (next, isLast) = date.microseconds.addingReportingOverflow(1)
    if isLast { return 0..<order.count }
    let bound = Expiry.group.encoded + sortKey(Timestamp(microseconds: next))
    return 0..<bound.withUnsafeBytes { order.rank(of: $0) }
  }
}

extension GroupIndex {
  /// Defines a rule that rows vanish at a date, by a closure that returns it; nil keeps the row.
  ///
  ///     let idle = GroupIndex("idle", on: sessions, version: 1, expires: { $0.lastUse + 3600 })
  ///
  /// Otherwise as ``Expiry``. Rows vanish only in processes that register it.
  @_disfavoredOverload
  public init<Row: SendableMetatype>(
    _ name: String, on bucket: Bucket<Row>, version: UInt32,
    expires date: @escaping @Sendable (Row) throws -> Date?
  ) {
    let coder = bucket.coder
    guard
      let expiry = try? Expiry(bucket: bucket.name, field: nil, numbers: .date, version: version)
    else { preconditionFailure("an expiry without a field has no path to be wrong") }
    let active = ActiveExpiry(readsMetadata: true) { input in
      try date(try input.row(by: coder).row).map { Timestamp($0) }
    }
    self.init(
      name, version: version,
      CodeIndex(
        name: name, version: version, buckets: [bucket.name], closure: .expiry(expiry, active)))
  }
}
