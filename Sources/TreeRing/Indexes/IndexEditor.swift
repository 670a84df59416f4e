// Updates the two trees of group indexes with the rows, and builds them from a row tree.

internal import TreeRingLog

/// Writes pages of an unfinished transaction to the page file if it has too many.
typealias SpillAction = (PageEditor) throws(TreeRingError) -> Void

/// Edits the trees of one group index inside a transaction.
struct IndexEditor {
  let editor: PageEditor

  /// Replaces a row's places, given in group order. Edits only the differences.
  func replace(
    _ roots: inout IndexRoots, bucket: UInt32, key: UnsafeRawBufferPointer, prefix: [UInt8],
    old: [EncodedPlace], new: [EncodedPlace]
  ) {
    [EncodedPlace].forEachDifference(from: old, to: new) { before, after in
      if let before {
        removeOrder(&roots, before, bucket: bucket, key: key)
        if after == nil {
          (prefix + before.group.bytes).withUnsafeBytes {
            _ = editor.remove(&roots.places, key: $0)
          }
        }
      }
      if let after {
        insertOrder(&roots, after, bucket: bucket, key: key)
        (prefix + after.group.bytes).withUnsafeBytes { placeKey in
          after.sortKey.withUnsafeBytes {
            _ = editor.put(&roots.places, key: placeKey, value: $0)
          }
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

  /// Builds the trees of indexes from the rows of the buckets they cover. An index that shows the
  /// places of a manual index is built from those. O(n log n) for each. Entries are sorted some
  /// megabytes at a time, but an index that compares rows holds all of its rows in memory.
  ///
  /// - Parameters:
  ///   - labeled: For indexes that compare rows, by number: the place trees of their previous
  ///     definitions, whose labels are kept as far as the order allows, so that few places differ.
  ///   - entryByteLimit: The maximum number of entry bytes in memory before they are put into the
  ///     trees.
  ///   - spill: Called repeatedly, while no pointer into pages of the transaction is held.
  ///   - progress: Called at intervals with the number of rows done; false cancels the build.
  /// - Returns: The trees, in the order of the indexes.
  /// - Throws: The error that prevents the build; the pages are freed then.
  func build(
    _ indexes: [ActiveIndex], rows: Tree, catalog: Catalog, catalogTree: Tree,
    values: ValueSource, labeled: [UInt32: Tree] = [:],
    entryByteLimit: Int = IndexBuilder.entryByteLimit, spill: SpillAction? = nil,
    progress: (Int) -> Bool = { _ in true }
  ) throws(TreeRingError) -> [IndexRoots] {
    try withoutActuallyEscaping(progress) { (progress) throws(TreeRingError) in
      var builder = IndexBuilder(
        indexes, rows: rows, catalog: catalog, catalogTree: catalogTree, values: values,
        editor: editor, entryByteLimit: entryByteLimit, spill: spill, progress: progress)
      return try builder.run(labeled: labeled)
    }
  }

  /// Builds the trees of one index.
  func build(
    _ index: ActiveIndex, rows: Tree, catalog: Catalog, catalogTree: Tree, values: ValueSource,
    entryByteLimit: Int = IndexBuilder.entryByteLimit
  ) throws(TreeRingError) -> IndexRoots {
    let built = try build(
      [index], rows: rows, catalog: catalog, catalogTree: catalogTree, values: values,
      entryByteLimit: entryByteLimit)
    return built.first ?? IndexRoots(number: index.number)
  }
}
