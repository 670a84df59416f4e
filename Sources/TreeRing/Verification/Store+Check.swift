// Checks the invariants of an open store: those of its trees, indexes against rows, pages in use.

internal import TreeRingLog
internal import TreeRingPlatform

extension Store {
  /// The flaws in the trees of the visible version; empty if there are none.
  ///
  /// - Parameter comparesIndexes: Whether to compare each index with one rebuilt from the rows.
  package func checkInvariants(comparesIndexes: Bool = true) throws -> [String] {
    try pages.reading { try findProblems(comparesIndexes: comparesIndexes) }
  }

  private func findProblems(comparesIndexes: Bool) throws -> [String] {
    let version = queue.visible
    let pages = version.pages
    var problems: [String] = []
    func check(_ root: TreeRoot, _ name: String) {
      problems += TreeChecker.check(root, pages: pages).map { "\(name): \($0)" }
    }
    check(version.roots.rows, "rows")
    check(version.roots.tombstones, "tombstones")
    check(version.roots.catalog, "catalog")
    problems += try TagReader(Tree(version.roots.catalog, pages: pages)).problems()
    for index in version.allIndexes {
      check(index.order, "order of index \(index.number)")
      check(index.places, "places of index \(index.number)")
      let isText = version.catalog.textNumbers.contains(index.number)
      let nodeCount = SumKey.nodeCount(in: Tree(index.places, pages: pages))
      let placeCount = Int(index.places.count) - nodeCount
      if !isText, Int(index.order.count) != placeCount {
        problems.append(
          "index \(index.number) has \(index.order.count) entries but \(placeCount) places")
      }
    }
    if comparesIndexes { problems += try checkIndexes(of: version) }
    return problems
  }

  /// Compares every maintained index with one rebuilt from the rows.
  private func checkIndexes(of version: Version) throws -> [String] {
    var problems: [String] = []
    let code = code.withLock { $0 }
    for record in version.catalog.indexes.values {
      guard let existing = version.existingIndex(record.number),
        let index = try record.active(code: code)
      else { continue }
      let pages = version.pages
      let editor = PageEditor(pages: pages, epoch: version.roots.commit, isPrivate: true)
      defer { editor.discard() }
      let fresh = try IndexEditor(editor: editor).build(index, of: reader(of: version))
      if let text = index.text {
        problems += TextCheck(format: text.format, pages: pages).differences(
          of: record.name, existing, fresh)
        continue
      }
      if index.comparison != nil {
        problems += try Self.differences(
          of: record.name, Tree(existing.order, pages: pages), Tree(fresh.order, pages: pages))
        continue
      }
      for (old, new, tree) in [
        (existing.order, fresh.order, "order"), (existing.places, fresh.places, "places"),
      ] {
        var difference = TreeDiff(from: old, to: new, pages: pages)
        difference.forEach { key, before, after in
          let what = before == nil ? "lacks" : after == nil ? "has a surplus" : "has another"
          let isNode = tree == "places" && SumKey.isNode(key)
          problems.append(
            "\(isNode ? "sums" : tree) of index \(record.name) \(what) entry \(Key(bytes: key))")
          return problems.count < 100
        }
      }
    }
    return problems
  }

  /// Compares two order trees by their groups and rows, and ignores labels.
  private static func differences(
    of name: String, _ old: Tree, _ new: Tree
  ) throws -> [String] {
    func row(_ tree: Tree, _ position: Int) throws(TreeRingError) -> (GroupName, RowReference) {
      try tree.withEntry(at: position) { (key, value) throws(TreeRingError) in
        let entry = try OrderEntry(key: key, value: value)
        return (try entry.groupName, entry.row)
      }
    }
    guard old.count == new.count else {
      return ["order of index \(name) has \(old.count) entries instead of \(new.count)"]
    }
    var problems: [String] = []
    for position in 0..<old.count where problems.count < 100 {
      let (found, wanted) = (try row(old, position), try row(new, position))
      if found != wanted {
        problems.append(
          "order of index \(name) has \(Key(bytes: found.1.key)) in group \(found.0) where "
            + "\(Key(bytes: wanted.1.key)) belongs")
      }
    }
    return problems
  }
}

extension Store {
  /// Evicts every page that the file holds from the heap, as the engine does when memory is short.
  /// The next access to one fetches it from the file.
  package func evictCleanPages() { engine.checkpointer?.evict(isForced: true) }

  /// The number of pages in memory that neither a kept version nor one of these snapshots reaches;
  /// negative if pages are missing. The caller ensures that there are no concurrent writes and no
  /// other snapshots.
  package func leakedPageCount(beside snapshots: [Snapshot]) throws -> Int {
    guard let checkpointer = engine.checkpointer else { return try countLeaked(beside: snapshots) }
    // A checkpoint under way holds pages of its own.
    return try checkpointer.withoutCheckpoint { try countLeaked(beside: snapshots) }
  }

  private func countLeaked(beside snapshots: [Snapshot]) throws -> Int {
    timeTravel.evictAll()
    reclaimer.settle()
    var reachable = try engine.checkpointer?.reachablePages() ?? []
    let shown = queue.readable + snapshots.compactMap { try? $0.version }
    let versions = shown + shown.compactMap(\.origin)
    var leases = versions.flatMap(\.leases)
    var seen: Set<ObjectIdentifier> = []
    while let lease = leases.popLast() {
      guard seen.insert(ObjectIdentifier(lease)).inserted else { continue }
      leases += lease.shared
      reachable.formUnion(lease.pages)
    }
    // The rest of a rebuilt version's pages are those of the version that it was rebuilt on.
    for version in versions where version.depth == 0 {
      for tree in version.roots.trees {
        reachable.formUnion(TreeChecker.reachablePages(tree, pages: pages))
      }
    }
    return pages.livePageCount - reachable.count
  }
}
