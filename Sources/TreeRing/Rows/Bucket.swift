// A bucket with the type of its rows.

/// A bucket as a parameter: its name, or the bucket with the type of its rows. Verbs that neither
/// encode nor decode rows take either.
public protocol BucketName: Sendable {
  /// The bucket's name: 1 to 255 bytes of UTF-8.
  var bucketName: String { get }
}

extension String: BucketName {
  public var bucketName: String { self }
}

extension Bucket: BucketName {
  public var bucketName: String { name }
}

/// A namespace of keys, with the type of its rows.
///
///     let books = Bucket<Book>("books")
public struct Bucket<Row>: Sendable {
  /// The bucket's name: 1 to 255 bytes of UTF-8.
  public let name: String
  /// The coder of its rows.
  public let coder: RowCoder<Row>

  /// Creates a bucket with a coder for its rows.
  public init(_ name: String, coder: RowCoder<Row>) {
    self.name = name
    self.coder = coder
  }
}

extension Bucket where Row: Codable & SendableMetatype {
  /// Creates a bucket whose rows are stored as JSON.
  public init(_ name: String) { self.init(name, coder: .json()) }
}

extension Bucket<[UInt8]> {
  /// A bucket of plain bytes.
  public static func bytes(_ name: String) -> Bucket { Bucket(name, coder: .bytes) }
}
