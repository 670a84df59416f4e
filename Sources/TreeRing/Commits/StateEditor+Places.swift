// Manual placing of rows: the labels in the catalog tree, and the indexes that show them.

internal import TreeRingLog

extension StateEditor {
  /// The manual places in the current state.
  var manualPlaces: ManualPlaces { ManualPlaces(tree: catalogTree, catalog: catalog) }

  /// Sets a row's place in a group of a manual index, whether or not the row exists yet.
  ///
  /// - Parameter label: the label in the group; an empty one removes the row from it.
  /// - Throws: `notFound` if no manual index of that name is in force; `invalidInput` if it is not
  ///   over that bucket; the error of evaluating an index that filters it. Then nothing has
  ///   changed.
  func place(
    _ key: UnsafeRawBufferPointer, in reference: BucketReference, _ place: PlaceAddress,
    label: [UInt8]
  ) throws(TreeRingError) {
    guard let record = catalog.indexes[place.index], case .manual(let buckets) = record.definition
    else { throw Self.noManualIndex(place.index) }
    guard buckets.containsName(reference.name) else {
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

  /// The effect of a row's new place on the indexes that show it; nil if the row does not exist.
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
    let showing = active.covering(reference.name).filter {
      $0.manualName.isSameName(as: place.index)
    }
    var edits = Edits()
    if showing.isEmpty { return edits }
    edits.oldContent = recorder == nil ? nil : row.content
    edits.newContent = edits.oldContent
    try values.withInput(
      of: row, bucket: bucket, key: key, readsMetadata: showing.contains(where: \.readsMetadata)
    ) { (input) throws(TreeRingError) in
      for index in showing {
        let before = try index.places(of: input, manualPlaces: old)
        let after = try index.places(of: input, manualPlaces: new)
        let undecodable = (after == nil ? 1 : 0) - (before == nil ? 1 : 0)
        if before == after, undecodable == 0 { continue }
        edits.indexes.append(
          IndexEdit(
            index: index.number, old: before ?? [], new: after ?? [], undecodable: undecodable))
      }
    }
    return edits
  }

  /// Removes a row from every group of every manual index over its bucket.
  func takeOut(of bucket: BucketReference, key: UnsafeRawBufferPointer) {
    let numbers = catalog.manualNumbers(over: bucket.name)
    if numbers.isEmpty { return }
    let row = PlaceKey.prefix(bucket: bucket.number, key: key)
    for number in numbers { removePlaces(ManualPlaces.prefix(number, row)) }
  }

  /// Moves the places of a definition to the next definition of the same name. Keeps only places in
  /// buckets that the new definition covers as a manual index.
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
