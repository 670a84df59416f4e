// Derives an index that a commit does not maintain from the same index at another commit. Only the
// places of rows that differ between the two change. The trees share all other pages.

internal import TreeRingLog

extension IndexEditor {
  /// Derives the trees of an index at one state from its trees at another one. O(rows that differ ·
  /// log n).
  ///
  /// - Parameter limit: The maximum number of rows that differ.
  /// - Returns: The trees; nil if more rows differ, or if the index cannot be derived row by row,
  ///   because it compares rows or is manual.
  /// - Throws: The error that prevents the derivation; the caller then has to discard its pages.
  func derive(
    _ index: ActiveIndex, from trees: IndexRoots, of donor: StateReader, for state: StateReader,
    limit: Int
  ) throws(TreeRingError) -> IndexRoots? {
    if !index.isDerivable { return nil }
    let buckets = Set(
      index.buckets.compactMap { donor.catalog.buckets[$0] ?? state.catalog.buckets[$0] })
    guard let keys = try differingKeys(from: donor.rows, to: state.rows, in: buckets, limit: limit)
    else { return nil }
    var roots = trees
    var next = 0
    while next < keys.count {
      let part = keys[next..<min(next + StateReader.sectionEntryCount, keys.count)]
      try editor.pages.read { () throws(TreeRingError) in
        for key in part {
          try key.withUnsafeBytes { (treeKey) throws(TreeRingError) in
            try move(&roots, index, treeKey, from: donor.rows, to: state.rows, state.values)
          }
        }
      }
      next = part.endIndex
    }
    return roots
  }

  /// The keys of differing rows in the row tree; nil if they exceed the limit.
  private func differingKeys(
    from old: Tree, to new: Tree, in buckets: Set<UInt32>, limit: Int
  ) throws(TreeRingError) -> [[UInt8]]? {
    var keys: [[UInt8]] = []
    try editor.pages.read {
      var difference = TreeDiff(from: old.root, to: new.root, pages: editor.pages)
      difference.forEach { key, _, _ in
        if buckets.contains(RowTreeKey.bucket(of: key)) { keys.append(Array(key)) }
        return keys.count <= limit
      }
    }
    return keys.count <= limit ? keys : nil
  }

  /// Replaces the old places of one row by its new places.
  private func move(
    _ roots: inout IndexRoots, _ index: ActiveIndex, _ treeKey: UnsafeRawBufferPointer,
    from old: Tree, to new: Tree, _ values: ValueSource
  ) throws(TreeRingError) {
    let (bucket, key) = (RowTreeKey.bucket(of: treeKey), RowTreeKey.key(of: treeKey))
    if let text = index.text {
      let collector = TermCollector()
      func words(in rows: Tree) throws(TreeRingError) -> DocumentPostings? {
        guard let bytes = rows.value(of: treeKey) else { return nil }
        return try text.postings(of: try RowRecord(bytes), values, bucket, key, collector)
      }
      let (before, after) = (try words(in: old), try words(in: new))
      return TextEditor(editor: editor, format: text.format).replace(
        &roots, old: before, new: after, bucket: bucket, key: key)
    }
    func places(in rows: Tree) throws(TreeRingError) -> [EncodedPlace]? {
      guard let bytes = rows.value(of: treeKey) else { return [] }
      return try values.withInput(
        of: try RowRecord(bytes), bucket: bucket, key: key, readsMetadata: index.readsMetadata
      ) { (input) throws(TreeRingError) in try index.places(of: input) }
    }
    if roots.undecodable > 0, try places(in: old) == nil { roots.undecodable -= 1 }
    let now = try places(in: new)
    if now == nil { roots.undecodable += 1 }
    let prefix = PlaceKey.prefix(bucket: bucket, key: key)
    let before = PlaceKey.places(
      in: Tree(roots.places, pages: editor.pages), prefix: prefix)
    guard let sum = index.sum else {
      return replace(&roots, bucket: bucket, key: key, prefix: prefix, old: before, new: now ?? [])
    }
    var summands = SummandChange()
    if let place = before.first {
      summands.old = try summand(in: roots, at: place, bucket: bucket, key: key)
    }
    if now?.isEmpty == false, let bytes = new.value(of: treeKey) {
      summands.new = try values.withInput(
        of: try RowRecord(bytes), bucket: bucket, key: key, readsMetadata: index.readsMetadata
      ) { sum.summand(of: $0) }
    }
    replace(
      &roots, bucket: bucket, key: key, prefix: prefix, old: before, new: now ?? [],
      summands: summands)
  }
}
