// A bucket with the type of its rows, and the coder between rows and bytes.

public import Foundation

/// Turns rows into bytes and back.
///
/// A coder has a version. It is stored with every row, so that `decode` can read what an older coder
/// wrote; rows migrate when they are next put.
public struct RowCoder<Row>: Sendable {
  /// The version written with each row.
  public let version: UInt32
  /// Encodes a row.
  public let encode: @Sendable (Row) throws -> [UInt8]
  /// Decodes bytes that a coder of the given version wrote. The bytes are valid during the call.
  public let decode: @Sendable (_ bytes: UnsafeRawBufferPointer, _ version: UInt32) throws -> Row

  /// A coder of your own.
  public init(
    version: UInt32 = 0,
    encode: @escaping @Sendable (Row) throws -> [UInt8],
    decode: @escaping @Sendable (_ bytes: UnsafeRawBufferPointer, _ version: UInt32) throws -> Row
  ) {
    self.version = version
    self.encode = encode
    self.decode = decode
  }
}

extension RowCoder where Row: Codable & SendableMetatype {
  /// JSON with sorted keys, so that equal rows have equal bytes. Dates are numbers, Foundation's
  /// default, because text would lose fractions of a second.
  public static func json(version: UInt32 = 0) -> RowCoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let decoder = JSONDecoder()
    return RowCoder(
      version: version, encode: { Array(try encoder.encode($0)) },
      decode: { bytes, _ in try decoder.decode(Row.self, from: Data(bytes)) })
  }
}

extension RowCoder<[UInt8]> {
  /// The bytes themselves.
  public static let bytes = RowCoder(encode: { $0 }, decode: { bytes, _ in Array(bytes) })
}

extension RowCoder<Data> {
  /// The bytes themselves.
  public static let data = RowCoder(encode: { Array($0) }, decode: { bytes, _ in Data(bytes) })
}

/// A namespace of keys, with the type of its rows.
///
///     let books = Bucket<Book>("books")
public struct Bucket<Row>: Sendable {
  /// The bucket's name: 1 to 255 bytes of UTF-8.
  public let name: String
  /// How its rows become bytes.
  public let coder: RowCoder<Row>

  /// A bucket whose rows a coder turns into bytes.
  public init(_ name: String, coder: RowCoder<Row>) {
    self.name = name
    self.coder = coder
  }
}

extension Bucket where Row: Codable & SendableMetatype {
  /// A bucket whose rows are stored as JSON.
  public init(_ name: String) { self.init(name, coder: .json()) }
}

extension Bucket<[UInt8]> {
  /// A bucket of plain bytes.
  public static func bytes(_ name: String) -> Bucket { Bucket(name, coder: .bytes) }
}
