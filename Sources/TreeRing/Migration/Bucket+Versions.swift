// Buckets with a version of their rows.

internal import TreeRingLog

/// The coding of a bucket's rows.
public enum RowFormat: Hashable, Sendable {
  /// JSON with sorted keys.
  case json
  /// The binary format of docs/rows.md.
  case binary
}

/// A bucket with the version of its rows, as a store is opened with it.
public protocol VersionedBucket: BucketName {
  /// The version of the rows that the program writes; the first is 1.
  var version: UInt32 { get }
}

extension Bucket: VersionedBucket {
  public var version: UInt32 { MigrationChain.version(ofCoder: coder.version) }
}

extension Bucket where Row: Codable & SendableMetatype {
  /// Creates a bucket whose rows have a version. It reads rows of earlier versions through the
  /// migrations: in snapshots of any commit, in indexes, mappings and collections. Rows without a
  /// version, such as those of a bucket that was declared without one, are of version 1.
  ///
  /// A row of a later version throws `newerVersion`. Give the bucket to ``StoreOptions/buckets``,
  /// so that opening a store with such rows does.
  ///
  /// A migration is a promise about rows, as the version of an index is one about its closure:
  /// neither may change once rows of its versions are stored. If a new version changes the places
  /// of rows in an index in code, raise the index's version too.
  ///
  /// - Parameters:
  ///   - name: The bucket's name.
  ///   - version: The version of the rows that this program writes. It takes the place of the
  ///     coder's version.
  ///   - format: The coding of rows that are written. Rows of both formats are read.
  ///   - migrations: The steps from earlier versions to this one; at most one from each. It is a
  ///     mistake of the program if one leads to a version without a further step.
  public init(
    _ name: String, version: UInt32, format: RowFormat = .json, migrations: [Migration] = []
  ) {
    precondition(version >= 1, "the first version of a bucket's rows is 1")
    let chain = MigrationChain(bucket: name, version: version, migrations)
    let present: RowCoder<Row> =
      switch format {
      case .json: .json(version: version)
      case .binary: .binary(version: version)
      }
    var coder = RowCoder<Row>(version: version, encode: present.encode) { bytes, coder in
      if MigrationChain.version(ofCoder: coder) == version {
        return try present.decode(bytes, coder)
      }
      return try chain.migrate(bytes, from: coder).decode()
    }
    coder.isOfLibrary = true
    self.init(name, coder: coder)
  }
}
