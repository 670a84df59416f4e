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
        OrderKey.with(before, bucket: bucket, key: key) { entry, _ in
          _ = editor.remove(&roots.order, key: entry)
        }
        if after == nil {
          PlaceKey.with(prefix: prefix, group: before.group) {
            _ = editor.remove(&roots.places, key: $0)
          }
        }
      }
      if let after {
        OrderKey.with(after, bucket: bucket, key: key) { entry, groupLength in
          withUnsafeBytes(
            of: OrderKey.lengthsWord(group: groupLength, sortKey: after.sortKey.count)
          ) { _ = editor.put(&roots.order, key: entry, value: $0) }
        }
        PlaceKey.with(prefix: prefix, group: after.group) { place in
          after.sortKey.withUnsafeBytes {
            _ = editor.put(&roots.places, key: place, value: $0)
          }
        }
      }
    }
  }

  func remove(_ key: [UInt8], from root: inout TreeRoot) {
    key.withUnsafeBytes { _ = editor.remove(&root, key: $0) }
  }

  func put(_ key: [UInt8], _ value: [UInt8], into root: inout TreeRoot) {
    key.withUnsafeBytes { key in
      value.withUnsafeBytes { _ = editor.put(&root, key: key, value: $0) }
    }
  }

  static func entry(
    _ place: EncodedPlace, bucket: UInt32, key: UnsafeRawBufferPointer
  ) -> (key: [UInt8], value: [UInt8]) {
    OrderKey.with(place, bucket: bucket, key: key) { entry, groupLength in
      (Array(entry), OrderKey.lengths(group: groupLength, sortKey: place.sortKey.count))
    }
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
        rows: rows, catalog: catalog, catalogTree: catalogTree, values: values, editor: editor,
        entryByteLimit: entryByteLimit, spill: spill, progress: progress,
        drafts: indexes.map { IndexDraft(index: $0, editor: editor) })
      return try builder.run(labeled: labeled)
    }
  }

  /// Builds the trees of one index of a state.
  func build(_ index: ActiveIndex, of state: StateReader) throws(TreeRingError) -> IndexRoots {
    let built = try build(
      [index], rows: state.rows, catalog: state.catalog,
      catalogTree: Tree(state.roots.catalog, pages: state.pages), values: state.values)
    return built.first ?? IndexRoots(number: index.number)
  }
}
