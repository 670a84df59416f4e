// The coder between the rows of a bucket and their bytes.

public import TreeRingPlatform

/// Encodes rows as bytes and decodes them.
///
/// A coder has a version. It is stored with every row, so that `decode` can read rows that an older
/// coder wrote. Rows migrate at their next put.
public struct RowCoder<Row>: Sendable {
  /// The version stored with each row.
  public let version: UInt32
  /// Encodes a row.
  public let encode: @Sendable (Row) throws -> [UInt8]
  /// Decodes bytes that a coder of the given version wrote. The bytes are valid during the call.
  public let decode: @Sendable (_ bytes: UnsafeRawBufferPointer, _ version: UInt32) throws -> Row
  let identity: CoderIdentity
  /// Whether its rows have the JSON of `json(version:)`, or stand for it.
  var isOfLibrary = false
}

/// The identity of a coder, so that indexes with equal coders share a decoded row. Coders that
/// decode in the same way are equal: copies of one, and the JSON and binary coders of one type.
enum CoderIdentity: Equatable, Sendable {
  case codable(ObjectIdentifier)
  case own(UUID)
}

extension RowCoder {
  /// Creates a custom coder. Keep it, or its bucket, in a constant: a written row is decoded once
  /// for all indexes whose buckets have copies of one coder.
  public init(
    version: UInt32 = 0,
    encode: @escaping @Sendable (Row) throws -> [UInt8],
    decode: @escaping @Sendable (_ bytes: UnsafeRawBufferPointer, _ version: UInt32) throws -> Row
  ) {
    self.init(version: version, encode: encode, decode: decode, identity: .own(UUID()))
  }
}

extension RowCoder where Row: Codable & SendableMetatype {
  /// A coder for JSON with sorted keys, so that equal rows have equal bytes. Dates are numbers,
  /// Foundation's default, because text would lose fractions of a second.
  ///
  /// It also decodes rows that a ``binary(version:)`` coder wrote, so that a bucket may change from
  /// one to the other.
  public static func json(version: UInt32 = 0) -> RowCoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return RowCoder(
      version: version, encode: { Array(try encoder.encode($0)) }, decode: eitherDecode(),
      identity: .codable(ObjectIdentifier(Row.self)), isOfLibrary: true)
  }

  /// A coder for a binary format, CBOR, which is decoded several times faster than JSON and takes
  /// less space. Equal rows have equal bytes. docs/rows.md defines the format.
  ///
  ///     let books = Bucket<Book>("books", coder: .binary())
  ///
  /// Indexes by fields and the tool read such rows as if they were JSON. Numbers that are not
  /// finite are permitted. The coder also decodes rows that a ``json(version:)`` coder wrote, so
  /// that a bucket may change from one to the other: its rows migrate at their next put.
  ///
  /// Encoding and decoding are O(bytes), and n log n for the n keys of a dictionary. Decoding
  /// throws `DecodingError`, also for damaged bytes. An error that a type catches costs at most a
  /// pass over the array or map that contains both its place and that of the error before; in
  /// ascending order, all of them cost O(bytes · depth) together. Encoding throws `EncodingError`,
  /// for instance for a row of more than 512 arrays and keyed values inside one another.
  public static func binary(version: UInt32 = 0) -> RowCoder {
    RowCoder(
      version: version, encode: { try BinaryEncoder.encode($0) }, decode: eitherDecode(),
      identity: .codable(ObjectIdentifier(Row.self)), isOfLibrary: true)
  }

  /// Decodes binary rows and JSON, which the first bytes tell apart.
  private static func eitherDecode() -> @Sendable (UnsafeRawBufferPointer, UInt32) throws -> Row {
    let decoder = JSONDecoder()
    return { bytes, _ in
      BinaryRow.isMarked(bytes)
        ? try BinaryDecoder.decode(Row.self, from: bytes)
        : try decoder.decode(Row.self, from: Data(bytes))
    }
  }
}

extension RowCoder<[UInt8]> {
  /// A coder whose rows are the stored bytes.
  public static let bytes = RowCoder(encode: { $0 }, decode: { bytes, _ in Array(bytes) })
}

extension RowCoder<Data> {
  /// A coder whose rows are the stored bytes.
  public static let data = RowCoder(encode: { Array($0) }, decode: { bytes, _ in Data(bytes) })
}
