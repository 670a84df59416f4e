// Keeps the two trees of group indexes in step with the rows, and builds them whole from a row tree.

internal import TreeRingLog

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

  fileprivate static func entry(
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
  /// manual index from those. O(n log n).
  ///
  /// - Parameters:
  ///   - labeled: of an index that compares rows, the places of its definition before, whose labels are
  ///     kept as far as the order allows, so that little differs.
  ///   - progress: called now and then with the number of rows done; false cancels.
  func build(
    _ index: ActiveIndex, rows: Tree, catalog: Catalog, catalogTree: Tree, values: ValueSource,
    labeled: Tree? = nil, progress: (Int) -> Bool = { _ in true }
  ) throws(TreeRingError) -> IndexRoots {
    var building = IndexBuilding(index: index, values: values)
    if let name = index.manualName {
      let manual = ManualPlaces(tree: catalogTree, catalog: catalog)
      try building.addPlaced(manual, of: name, rows: rows, catalog, progress)
    } else {
      for name in index.buckets {
        guard let bucket = catalog.buckets[name] else { continue }
        try building.addRows(of: bucket, rows, progress)
      }
    }
    building.label(keeping: labeled)
    var roots = IndexRoots(number: index.number)
    roots.undecodable = building.undecodable
    roots.order = building.order.build(with: editor)
    roots.places = building.places.build(with: editor)
    return roots
  }
}

/// The entries of an index that is being built.
private struct IndexBuilding {
  let index: ActiveIndex
  let values: ValueSource
  var order = SortBuffer()
  var places = SortBuffer()
  var undecodable: UInt64 = 0
  /// Of an index that compares rows, those of each group.
  private var compared: [GroupName: [ComparedRow]] = [:]
  private var rowCount = 0

  init(index: ActiveIndex, values: ValueSource) {
    self.index = index
    self.values = values
  }

  /// Adds every row of a bucket.
  mutating func addRows(
    of bucket: UInt32, _ rows: Tree, _ progress: (Int) -> Bool
  ) throws(TreeRingError) {
    var failure: TreeRingError?
    rows.forEachRow(in: bucket) { key, record in
      do throws(TreeRingError) {
        try add(try RowRecord(record), bucket, key, byHand: [], progress)
        return true
      } catch {
        failure = error
        return false
      }
    }
    if let failure { throw failure }
  }

  /// Adds the rows that were placed by hand.
  mutating func addPlaced(
    _ manual: ManualPlaces, of name: String, rows: Tree, _ catalog: Catalog,
    _ progress: (Int) -> Bool
  ) throws(TreeRingError) {
    let covered = Set(index.buckets.compactMap { catalog.buckets[$0] })
    var last: RowReference?
    try typed {
      try manual.forEach(of: name) { place in
        let row = RowReference(bucket: place.bucket, key: place.key)
        // The places of a row lie side by side.
        if row == last || !covered.contains(row.bucket) { return true }
        last = row
        try row.key.withUnsafeBytes { key in
          guard
            let record = RowKey.with(bucket: row.bucket, key: key, { rows.value(of: $0) })
          else { return }
          let byHand = manual.places(of: name, bucket: row.bucket, key: key)
          try add(try RowRecord(record), row.bucket, key, byHand: byHand, progress)
        }
        return true
      }
    }
  }

  private mutating func add(
    _ row: RowRecord, _ bucket: UInt32, _ key: UnsafeRawBufferPointer, byHand: [EncodedPlace],
    _ progress: (Int) -> Bool
  ) throws(TreeRingError) {
    if let found = try values.places(
      of: row, bucket: bucket, key: key, index: index, byHand: byHand)
    {
      if let comparison = index.comparison {
        try compare(row, bucket, key, in: found.map(\.group), comparison)
      } else {
        for place in found { append(place, bucket, key) }
      }
    } else {
      undecodable += 1
    }
    rowCount += 1
    if rowCount & 0xFFF == 0, !progress(rowCount) {
      throw TreeRingError(.cancelled, "Building the index \(index.name) was cancelled.")
    }
  }

  private mutating func append(
    _ place: EncodedPlace, _ bucket: UInt32, _ key: UnsafeRawBufferPointer
  ) {
    let entry = IndexEditor.entry(place, bucket: bucket, key: key)
    order.append(key: entry.key, value: entry.value)
    places.append(
      key: PlaceKey.prefix(bucket: bucket, key: key) + place.group.bytes, value: place.sortKey)
  }

  private mutating func compare(
    _ row: RowRecord, _ bucket: UInt32, _ key: UnsafeRawBufferPointer, in groups: [GroupName],
    _ comparison: RowComparison
  ) throws(TreeRingError) {
    if groups.isEmpty { return }
    guard let row = try values.compared(row, bucket: bucket, key: key, by: comparison) else {
      undecodable += 1
      return
    }
    for group in groups { compared[group, default: []].append(row) }
  }

  /// Sorts the rows that are compared, and gives them labels.
  ///
  /// - Parameter places: the place tree that labels are taken from as far as they can be.
  mutating func label(keeping places: Tree?) {
    guard let comparison = index.comparison else { return }
    for (group, var rows) in compared {
      rows.sort(by: comparison.isBefore)
      let labels = OrderLabel.keeping(
        rows.map { row in places.flatMap { row.reference.label(in: group, places: $0) } })
      for (row, label) in zip(rows, labels) {
        row.reference.key.withUnsafeBytes {
          append(
            EncodedPlace(group: group, sortKey: OrderLabel.sortKey(label)), row.reference.bucket, $0
          )
        }
      }
    }
    compared = [:]
  }
}

extension RowReference {
  /// The label of the row in a group, of an index that compares rows; nil if it is not in it.
  fileprivate func label(in group: GroupName, places: Tree) -> [UInt8]? {
    let place = key.withUnsafeBytes { PlaceKey.of(bucket: bucket, key: $0, group: group) }
    // The last byte of the sort key ends the label.
    return place.withUnsafeBytes { places.value(of: $0).map { Array($0.dropLast()) } }
  }
}

/// Entries of a tree to be, collected in one run of bytes and sorted by key.
private struct SortBuffer {
  private var bytes: [UInt8] = []
  private var entries: [(start: Int, keyLength: Int32, valueLength: Int32)] = []

  mutating func append(key: [UInt8], value: [UInt8]) {
    entries.append((bytes.count, Int32(key.count), Int32(value.count)))
    bytes.append(contentsOf: key)
    bytes.append(contentsOf: value)
  }

  mutating func build(with editor: PageEditor) -> TreeRoot {
    var builder = editor.makeBuilder()
    bytes.withUnsafeBytes { all in
      func key(_ entry: (start: Int, keyLength: Int32, valueLength: Int32))
        -> UnsafeRawBufferPointer
      {
        UnsafeRawBufferPointer(rebasing: all[entry.start..<entry.start + Int(entry.keyLength)])
      }
      for position in KeySorter.order(of: entries.map(key)) {
        let entry = entries[position]
        let valueStart = entry.start + Int(entry.keyLength)
        builder.append(
          key: key(entry),
          value: UnsafeRawBufferPointer(
            rebasing: all[valueStart..<valueStart + Int(entry.valueLength)]))
      }
    }
    return builder.finish()
  }
}
