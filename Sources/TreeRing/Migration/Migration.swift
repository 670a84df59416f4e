// Migrations: the steps from one version of a bucket's rows to the next.

internal import TreeRingLog
internal import TreeRingPlatform

/// A step from one version of a bucket's rows to a later one. Rows of the older version are read
/// through it, at every commit.
///
///     let books = Bucket<Book>(
///       "books", version: 3,
///       migrations: [
///         Migration(from: 1, to: 2, fields: { try $0.setDefault("genre", "unknown") }),
///         Migration(from: 2, to: 3) { (old: BookV2) in Book(old, pages: 0) },
///       ])
///
/// The closures must depend on nothing but the row: they run whenever an old row is read.
public struct Migration: Sendable {
  /// The version of the rows that it takes.
  public let from: UInt32
  /// The version of the rows that it gives.
  public let to: UInt32
  let step: @Sendable (MigratedRow) throws -> MigratedRow

  /// A step between two types, each as its rows are decoded and encoded.
  public init<Old: Decodable & SendableMetatype, New: Encodable & SendableMetatype>(
    from: UInt32, to: UInt32, _ body: @escaping @Sendable (Old) throws -> New
  ) {
    Self.check(from, to)
    self.from = from
    self.to = to
    step = { row in .value(try body(try row.decode())) }
  }

  /// A step that changes fields of the row.
  public init(
    from: UInt32, to: UInt32, fields body: @escaping @Sendable (inout RowFields) throws -> Void
  ) {
    Self.check(from, to)
    self.from = from
    self.to = to
    step = { row in
      var fields = try RowFields(json: try row.json())
      try body(&fields)
      return .stored(fields.json)
    }
  }

  private static func check(_ from: UInt32, _ to: UInt32) {
    precondition(
      1 <= from && from < to,
      "a migration leads from a version to a later one; the first version is 1")
  }
}

/// A row on its way through migrations.
enum MigratedRow {
  /// JSON or a binary row.
  case stored([UInt8])
  /// The result of a step.
  case value(any Encodable)

  /// The row as a value of a type.
  func decode<Row: Decodable>() throws -> Row {
    switch self {
    case .value(let value as Row): return value
    case .stored(let bytes):
      return try bytes.withUnsafeBytes { bytes in
        BinaryRow.isMarked(bytes)
          ? try BinaryDecoder.decode(Row.self, from: bytes)
          : try JSONDecoder.lenient.decode(Row.self, from: Data(bytes))
      }
    case .value: return try JSONDecoder.lenient.decode(Row.self, from: Data(try json()))
    }
  }

  /// The row as JSON.
  func json() throws -> [UInt8] {
    switch self {
    case .value(let value): return Array(try JSONEncoder.lenient.encode(value))
    case .stored(let bytes):
      var json: [UInt8] = []
      let isBinary = bytes.withUnsafeBytes { BinaryRow.appendJSON(of: $0, to: &json) }
      return isBinary ? json : bytes
    }
  }
}

// Numbers that are not finite are written as in the JSON of binary rows.
extension JSONDecoder {
  static var lenient: JSONDecoder {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    return decoder
  }
}

extension JSONEncoder {
  static var lenient: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    return encoder
  }
}

/// The migrations of a bucket, from its oldest rows to its present ones.
struct MigrationChain: Sendable {
  let bucket: String
  let version: UInt32
  /// The steps by the version that they take.
  private let steps: [UInt32: Migration]

  /// - Parameter migrations: at most one from each version; from each of them the steps lead to
  ///   `version`.
  init(bucket: String, version: UInt32, _ migrations: [Migration]) {
    self.bucket = bucket
    self.version = version
    var steps: [UInt32: Migration] = [:]
    for migration in migrations {
      precondition(
        steps.updateValue(migration, forKey: migration.from) == nil,
        "the bucket \(bucket) has two migrations from version \(migration.from)")
    }
    for migration in migrations {
      precondition(
        migration.to == version || steps[migration.to] != nil,
        "no migration of the bucket \(bucket) leads from version \(migration.to) to \(version)")
    }
    self.steps = steps
  }

  /// The version of a row by its coder's number: rows without one are of version 1.
  static func version(ofCoder coder: UInt32) -> UInt32 { max(1, coder) }

  /// Brings a row of an older version to the present one.
  /// - Throws: `newerVersion` for a row of a later version; `notSupported` if no step takes the
  ///   row's version; the errors of the steps.
  func migrate(_ bytes: UnsafeRawBufferPointer, from coder: UInt32) throws -> MigratedRow {
    var row = MigratedRow.stored(Array(bytes))
    var reached = Self.version(ofCoder: coder)
    if reached > version { throw TreeRingError.newer(reached, of: bucket, than: version) }
    while reached < version {
      guard let migration = steps[reached] else {
        throw TreeRingError(
          .notSupported,
          "A row of the bucket \(bucket) has version \(reached), and no migration leads from there "
            + "to version \(version). Add it to the bucket.")
      }
      row = try migration.step(row)
      reached = migration.to
    }
    return row
  }
}

extension TreeRingError {
  /// The error for rows of a version that the program does not know.
  static func newer(_ found: UInt32, of bucket: String, than known: UInt32) -> TreeRingError {
    TreeRingError(
      .newerVersion,
      "The bucket \(bucket) has rows of version \(found); this program knows them up to version "
        + "\(known). Update the program.")
  }
}
