// Puts index definitions in force and out of force, and builds the trees of new ones.

internal import TreeRingLog

extension StateEditor {
  /// Puts an index definition in force, or takes it out of force.
  func setDefinition(_ record: IndexRecord) {
    if let old = catalog.indexes[record.name] {
      remove(old.number)
      if case .manual = old.definition {
        // Keep its places: indexes that show them, perhaps under a later definition of that name,
        // are rebuilt from them.
        for number in active.numbers(where: { $0.manualName == record.name }) { remove(number) }
        hand(on: old, to: record)
      }
    }
    catalog.set(record)
    active.isComplete = false
    // A removed definition stays in the catalog, so that its number is not reused.
    var value: [UInt8] = []
    record.encode(into: &value)
    putCatalog(CatalogKey.of(CatalogKey.index, record.name.utf8), value)
  }

  /// Puts a definition in force and builds its index. Does not build it if its closure is not
  /// registered here.
  /// - Throws: the error that prevents the build; then nothing has changed.
  func define(
    _ record: IndexRecord, progress: (Int) -> Bool
  ) throws(TreeRingError) {
    let index = try record.active(code: code)
    var labeled: [UInt32: Tree] = [:]
    if let old = catalog.indexes[record.name]?.number, active.comparing.contains(old) {
      labeled[record.number] = roots.index(old).map { Tree($0.places, pages: pages) }
    }
    let built = try build(index.map { [$0] } ?? [], labeled: labeled, progress)
    setDefinition(record)
    if let index { maintain([index], built) }
  }

  /// Builds every index that is in force, can be evaluated here and is not maintained yet. O(1) if
  /// there is none.
  ///
  /// - Parameter base: a readable state. An index that compares rows and is redefined keeps its
  ///   labels from there as far as the order allows.
  func buildMissingIndexes(
    keepingLabelsOf base: Version? = nil, progress: (Int) -> Bool = { _ in true }
  ) throws(TreeRingError) {
    if active.isComplete { return }
    var missing: [ActiveIndex] = []
    var labeled: [UInt32: Tree] = [:]
    for record in catalog.indexes.values.sorted(by: { $0.number < $1.number }) {
      if active[record.number] != nil { continue }
      guard let index = try record.active(code: code) else { continue }
      missing.append(index)
      if let base, let old = base.catalog.indexes[record.name],
        try old.active(code: code)?.comparison != nil, let known = base.roots.index(old.number)
      {
        labeled[record.number] = Tree(known.places, pages: pages)
      }
    }
    maintain(missing, try build(missing, labeled: labeled, progress))
    active.isComplete = true
  }

  private func build(
    _ indexes: [ActiveIndex], labeled: [UInt32: Tree], _ progress: (Int) -> Bool
  ) throws(TreeRingError) -> [IndexRoots] {
    if indexes.isEmpty { return [] }
    return try IndexEditor(editor: editor).build(
      indexes, rows: rows, catalog: catalog, catalogTree: catalogTree, values: values,
      labeled: labeled, spill: spill, progress: progress)
  }

  private func maintain(_ indexes: [ActiveIndex], _ built: [IndexRoots]) {
    for index in indexes { active.insert(index) }
    for trees in built { roots.indexes.set(trees) }
  }

  private func remove(_ number: UInt32) {
    active.remove(number)
    dropTrees(number)
  }

  /// Removes the trees of an index.
  func dropTrees(_ number: UInt32) {
    guard var index = roots.index(number) else { return }
    editor.removeAll(&index.order)
    editor.removeAll(&index.places)
    roots.indexes[number] = nil
  }
}
