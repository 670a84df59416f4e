// Where rows were placed by hand. This is data, as rows are, so it lies in the catalog tree, which is
// kept at every commit whichever indexes are maintained; the trees of a manual index are made of it.
//
//   5 · index's number (4, big-endian) · bucket (4) · key length (2) · key · group name   → label
//
// A label may be there without its row: of a compacted log only the last write of a row is left, which
// may come behind the placing. The row then appears at its place when it comes.

internal import TreeRingLog

/// The places given by hand, at one state.
struct ManualPlaces {
  let tree: Tree
  let catalog: Catalog

  /// The number by which the places of a manual index are kept; nil if none of that name is in force.
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
    tree.forEach(withPrefix: prefix) { key, label in
      places.append(
        EncodedPlace(
          group: GroupName(bytes: key[prefix.count...]), sortKey: OrderLabel.sortKey(label)))
      return true
    }
    return places
  }

  /// The label of a row in a group; nil if it is not in it.
  func label(
    in group: GroupName, of index: String, bucket: UInt32, key: UnsafeRawBufferPointer
  ) -> [UInt8]? {
    guard let number = number(of: index) else { return nil }
    return Self.key(number, bucket: bucket, key: key, group: group).withUnsafeBytes {
      tree.value(of: $0).map { Array($0) }
    }
  }

  /// Calls `body` with every place of an index, by bucket, key and group, until it returns false.
  func forEach(
    of index: String, _ body: (ManualPlace) throws -> Bool
  ) throws {
    guard let number = number(of: index) else { return }
    try tree.forEach(withPrefix: Self.prefix(number, [])) { key, label in
      try body(try ManualPlace(key, label))
    }
  }

  /// Calls `body` with what leads from the places of an index at another state to those here: each
  /// place that is not there or has another label, and, without a label, each that is gone. O(places ·
  /// log n).
  ///
  /// - Parameter all: whether every place here counts as not there.
  func forEachDifference(
    from old: ManualPlaces, of index: String, all: Bool = false,
    _ body: (ManualPlace) throws -> Void
  ) throws {
    try old.forEach(of: index) { place in
      let isThere = place.key.withUnsafeBytes {
        label(in: place.group, of: index, bucket: place.bucket, key: $0) != nil
      }
      if !isThere { try body(place.removed) }
      return true
    }
    try forEach(of: index) { place in
      let known = place.key.withUnsafeBytes {
        old.label(in: place.group, of: index, bucket: place.bucket, key: $0)
      }
      if all || known != place.label { try body(place) }
      return true
    }
  }

  /// What the keys of an index's places begin with, and those of one row's with its prefix behind.
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

/// One place given by hand.
struct ManualPlace {
  let bucket: UInt32
  let key: [UInt8]
  let group: GroupName
  /// Empty if the place is gone.
  private(set) var label: [UInt8]

  /// From an entry of the catalog tree.
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
  /// The places given by hand. Inside a read section.
  var manualPlaces: ManualPlaces {
    ManualPlaces(tree: Tree(roots.catalog, pages: pages), catalog: catalog)
  }
}
