// The manual places of rows. They are data, as rows are. So they lie in the catalog tree, which
// every commit has even if it does not maintain the index. The trees of a manual index are built
// from them.
//
//   5 · index's number (4, big-endian) · bucket (4) · key length (2) · key · group name → label
//
// A label may exist without its row: a compacted log keeps only the last write of a row, which may
// follow the operation that places it. The row appears in the index once it is written.

internal import TreeRingLog

/// The manual places in one state.
struct ManualPlaces {
  let tree: Tree
  let catalog: Catalog

  /// The number under which the places of a manual index are stored; nil if none of that name is in
  /// force.
  func number(of index: String) -> UInt32? {
    guard let record = catalog.indexes[index], case .manual = record.definition else { return nil }
    return record.number
  }

  /// The places of a row, in group order. O(places · log n).
  func places(
    of index: String, bucket: UInt32, key: UnsafeRawBufferPointer
  ) -> [EncodedPlace] {
    guard let number = number(of: index) else { return [] }
    var places: [EncodedPlace] = []
    let prefix = Self.prefix(number, PlaceKey.prefix(bucket: bucket, key: key))
    prefix.withUnsafeBytes { prefix in
      tree.forEach(startingWith: prefix) { group, label in
        places.append(
          EncodedPlace(group: GroupName(bytes: group), sortKey: OrderLabel.sortKey(label)))
      }
    }
    return places
  }

  /// The label of a row in a group; nil if the row is not in the group.
  func label(
    in group: GroupName, of index: String, bucket: UInt32, key: UnsafeRawBufferPointer
  ) -> [UInt8]? {
    guard let number = number(of: index) else { return nil }
    return Self.key(number, bucket: bucket, key: key, group: group).withUnsafeBytes {
      tree.value(of: $0).map { Array($0) }
    }
  }

  /// Calls `body` with every place of an index, by bucket, key and group.
  func forEach(of index: String, _ body: (ManualPlace) throws -> Void) throws {
    guard let number = number(of: index) else { return }
    try tree.forEach(withPrefix: Self.prefix(number, [])) { key, label in
      try body(try ManualPlace(key, label))
      return true
    }
  }

  /// Calls `body` with the differences between an index's places in another state and here: each
  /// place that is new or has another label, and each removed place, without a label. O(places ·
  /// log n).
  ///
  /// - Parameter all: True to treat every place here as new.
  func forEachDifference(
    from old: ManualPlaces, of index: String, all: Bool = false,
    _ body: (ManualPlace) throws -> Void
  ) throws {
    try old.forEach(of: index) { place in
      let isThere = place.key.withUnsafeBytes {
        label(in: place.group, of: index, bucket: place.bucket, key: $0) != nil
      }
      if !isThere { try body(place.removed) }
    }
    try forEach(of: index) { place in
      let known = place.key.withUnsafeBytes {
        old.label(in: place.group, of: index, bucket: place.bucket, key: $0)
      }
      if all || known != place.label { try body(place) }
    }
  }

  /// The common prefix of the keys of an index's places, or of one row's places if the row's prefix
  /// is given.
  static func prefix(_ number: UInt32, _ row: [UInt8]) -> [UInt8] {
    var bytes = [CatalogKey.place]
    bytes.append(ordered32: number)
    return bytes + row
  }

  static func key(
    _ number: UInt32, bucket: UInt32, key: UnsafeRawBufferPointer, group: GroupName
  ) -> [UInt8] {
    prefix(number, PlaceKey.of(bucket: bucket, key: key, group: group))
  }
}

/// One manual place.
struct ManualPlace {
  let bucket: UInt32
  let key: [UInt8]
  let group: GroupName
  /// The label; empty if the place was removed.
  private(set) var label: [UInt8]

  /// Decodes an entry of the catalog tree.
  init(
    _ treeKey: UnsafeRawBufferPointer, _ label: UnsafeRawBufferPointer
  ) throws(TreeRingError) {
    var reader = ByteReader(UnsafeRawBufferPointer(rebasing: treeKey.dropFirst(5)))
    bucket = UInt32(bigEndian: try reader.run(4).loadUnaligned(as: UInt32.self))
    let length = UInt16(bigEndian: try reader.run(2).loadUnaligned(as: UInt16.self))
    key = Array(try reader.run(Int(length)))
    group = GroupName(bytes: reader.rest())
    self.label = Array(label)
  }

  fileprivate var removed: ManualPlace {
    var place = self
    place.label = []
    return place
  }
}

extension Tree {
  /// Calls `body` with the entries whose keys begin with these bytes, until it returns false.
  func forEach(
    withPrefix prefix: [UInt8],
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Bool
  ) rethrows {
    if isEmpty { return }
    try prefix.withUnsafeBytes { prefix in
      try forEach(from: prefix) { key, value in
        guard key.starts(with: prefix) else { return false }
        return try body(key, value)
      }
    }
  }
}

extension StateReader {
  /// The manual places. To be used inside a read section.
  var manualPlaces: ManualPlaces {
    ManualPlaces(tree: Tree(roots.catalog, pages: pages), catalog: catalog)
  }
}
