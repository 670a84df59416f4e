// Keeps the two trees of group indexes in step with the rows, and builds them whole from a row tree.

internal import TreeRingLog

/// Writes pages of an unfinished transaction to the page file, if it has made too many.
typealias SpillAction = (PageEditor) throws(TreeRingError) -> Void

/// Edits the trees of one group index inside a transaction.
struct IndexEditor {
  let editor: PageEditor

  /// Replaces a row's places. Only what differs is edited.
  func replace(
    _ roots: inout IndexRoots, bucket: UInt32, key: UnsafeRawBufferPointer, prefix: [UInt8],
    old: [EncodedPlace], new: [EncodedPlace]
  ) {
    for place in old where !new.contains(place) {
      removeOrder(&roots, place, bucket: bucket, key: key)
      if !new.contains(where: { $0.group == place.group }) {
        (prefix + place.group.bytes).withUnsafeBytes {
          _ = editor.remove(&roots.places, key: $0)
        }
      }
    }
    for place in new where !old.contains(place) {
      insertOrder(&roots, place, bucket: bucket, key: key)
      (prefix + place.group.bytes).withUnsafeBytes { placeKey in
        place.sortKey.withUnsafeBytes {
          _ = editor.put(&roots.places, key: placeKey, value: $0)
        }
      }
    }
  }

  private func removeOrder(
    _ roots: inout IndexRoots, _ place: EncodedPlace, bucket: UInt32, key: UnsafeRawBufferPointer
  ) {
    let entry = Self.entry(place, bucket: bucket, key: key)
    entry.key.withUnsafeBytes { _ = editor.remove(&roots.order, key: $0) }
  }

  private func insertOrder(
    _ roots: inout IndexRoots, _ place: EncodedPlace, bucket: UInt32, key: UnsafeRawBufferPointer
  ) {
    let entry = Self.entry(place, bucket: bucket, key: key)
    entry.key.withUnsafeBytes { entryKey in
      entry.value.withUnsafeBytes { _ = editor.put(&roots.order, key: entryKey, value: $0) }
    }
  }

  static func entry(
    _ place: EncodedPlace, bucket: UInt32, key: UnsafeRawBufferPointer
  ) -> (key: [UInt8], value: [UInt8]) {
    var bytes = place.group.encoded
    let groupLength = bytes.count
    bytes.append(contentsOf: place.sortKey)
    bytes.append(ordered32: bucket)
    bytes.append(contentsOf: key)
    return (bytes, OrderKey.lengths(group: groupLength, sortKey: place.sortKey.count))
  }

  /// Builds both trees from the rows of the buckets an index covers; one that shows the places of a
  /// manual index from those. O(n log n). Entries are sorted some megabytes at a time; only of an index
  /// that compares rows all rows are held in memory.
  ///
  /// - Parameters:
  ///   - labeled: of an index that compares rows, the places of its definition before, whose labels are
  ///     kept as far as the order allows, so that little differs.
  ///   - entryByteLimit: how many bytes of entries are held before they go to the trees.
  ///   - spill: called now and then while nothing points into pages of the transaction.
  ///   - progress: called now and then with the number of rows done; false cancels.
  /// - Throws: what keeps it from being built; its pages are given up then.
  func build(
    _ index: ActiveIndex, rows: Tree, catalog: Catalog, catalogTree: Tree, values: ValueSource,
    labeled: Tree? = nil, entryByteLimit: Int = IndexBuilding.entryByteLimit,
    spill: SpillAction? = nil, progress: (Int) -> Bool = { _ in true }
  ) throws(TreeRingError) -> IndexRoots {
    var building = IndexBuilding(
      index: index, values: values, editor: editor, entryByteLimit: entryByteLimit)
    let pages = editor.pages
    do throws(TreeRingError) {
      if let name = index.manualName {
        let manual = ManualPlaces(tree: catalogTree, catalog: catalog)
        try typed {
          try pages.reading {
            try building.addPlaced(manual, of: name, rows: rows, catalog, progress)
          }
        }
      } else {
        for name in index.buckets {
          guard let bucket = catalog.buckets[name] else { continue }
          try building.addRows(of: bucket, rows, spill, progress)
        }
      }
      try typed { try pages.reading { try building.label(keeping: labeled) } }
      return try building.finish(spill)
    } catch {
      building.discard()
      throw error
    }
  }
}
