// Placing rows by hand: the labels in the catalog tree, and the indexes that show them.

internal import TreeRingLog

extension StateEditor {
  /// The places given by hand so far.
  var manualPlaces: ManualPlaces { ManualPlaces(tree: catalogTree, catalog: catalog) }

  /// Gives a row its place in a group of a manual index, whether or not the row is there yet.
  ///
  /// - Parameter label: where in the group; empty takes the row out of it.
  /// - Throws: `notFound` if no manual index of that name is in force, `invalidInput` if it is not over
  ///   that bucket; what keeps an index that filters it from being evaluated. Nothing is changed then.
  func place(
    _ key: UnsafeRawBufferPointer, in reference: BucketReference, _ place: PlaceAddress,
    label: [UInt8]
  ) throws(TreeRingError) {
    guard let record = catalog.indexes[place.index], case .manual(let buckets) = record.definition
    else { throw Self.noManualIndex(place.index) }
    guard buckets.contains(reference.name) else {
      throw TreeRingError(
        .invalidInput,
        "The index \(place.index) is over other buckets than \(reference.name): over "
          + "\(buckets.joined(separator: ", ")).")
    }
    let bucket = reference.number
    let edits = try edits(of: place, label, in: reference, key: key)
    let treeKey = ManualPlaces.key(record.number, bucket: bucket, key: key, group: place.group)
    if label.isEmpty {
      treeKey.withUnsafeBytes { _ = editor.remove(&roots.catalog, key: $0) }
    } else {
      putCatalog(treeKey, label)
    }
    if let edits { commit(edits, bucket: bucket, key: key) }
  }

  static func noManualIndex(_ name: String) -> TreeRingError {
    TreeRingError(
      .notFound,
      "There is no manual index named \(name). Define it by a ManualIndex before placing rows.")
  }

  /// What a new place of a row does to the indexes that show it; nil if the row is not there.
  private func edits(
    of place: PlaceAddress, _ label: [UInt8], in reference: BucketReference,
    key: UnsafeRawBufferPointer
  ) throws(TreeRingError) -> Edits? {
    let bucket = reference.number
    guard let row = try row(bucket: bucket, key: key) else { return nil }
    let old = manualPlaces.places(of: place.index, bucket: bucket, key: key)
    var new = old.filter { $0.group != place.group }
    if !label.isEmpty {
      new.append(EncodedPlace(group: place.group, sortKey: OrderLabel.sortKey(label)))
      new.sort { $0.group < $1.group }
    }
    var edits = Edits()
    edits.oldContent = recorder == nil ? nil : row.content
    edits.newContent = edits.oldContent
    for position in active.indices
    where active[position].manualName == place.index
      && active[position].buckets.contains(reference.name)
    {
      let index = active[position]
      func places(_ byHand: [EncodedPlace]) throws(TreeRingError) -> [EncodedPlace]? {
        try values.places(of: row, bucket: bucket, key: key, index: index, byHand: byHand)
      }
      let (before, after) = (try places(old), try places(new))
      let undecodable = (after == nil ? 1 : 0) - (before == nil ? 1 : 0)
      if before == after, undecodable == 0 { continue }
      edits.indexes.append(
        IndexEdit(
          position: position, old: before ?? [], new: after ?? [], undecodable: undecodable,
          prefix: PlaceKey.prefix(bucket: bucket, key: key)))
    }
    return edits
  }

  /// Takes a row out of every group of every manual index.
  func takeOut(bucket: UInt32, key: UnsafeRawBufferPointer) {
    if catalog.manualNumbers.isEmpty { return }
    let row = PlaceKey.prefix(bucket: bucket, key: key)
    for number in catalog.manualNumbers { removePlaces(ManualPlaces.prefix(number, row)) }
  }

  /// Makes the places of one definition those of the next of the same name, as far as that is manual and
  /// over their buckets.
  func hand(on old: IndexRecord, to new: IndexRecord) {
    let prefix = ManualPlaces.prefix(old.number, [])
    var places: [(key: [UInt8], label: [UInt8])] = []
    if case .manual(let buckets) = new.definition {
      let covered = Set(buckets.compactMap { catalog.buckets[$0] })
      catalogTree.forEach(withPrefix: prefix) { key, label in
        let row = key.dropFirst(prefix.count)
        let bucket = UnsafeRawBufferPointer(rebasing: row).prefix(4).reduce(UInt32(0)) {
          $0 << 8 | UInt32($1)
        }
        if covered.contains(bucket) {
          places.append((ManualPlaces.prefix(new.number, Array(row)), Array(label)))
        }
        return true
      }
    }
    removePlaces(prefix)
    for place in places { putCatalog(place.key, place.label) }
  }

  private func removePlaces(_ prefix: [UInt8]) {
    var keys: [[UInt8]] = []
    catalogTree.forEach(withPrefix: prefix) { key, _ in
      keys.append(Array(key))
      return true
    }
    for key in keys { key.withUnsafeBytes { _ = editor.remove(&roots.catalog, key: $0) } }
  }
}
