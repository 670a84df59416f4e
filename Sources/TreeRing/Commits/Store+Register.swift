// Registering of group indexes that are defined in code.

public import TreeRingLog
internal import TreeRingPlatform

extension Store {
  /// Registers a group index defined in code. If the index or its version is new, a commit records
  /// it; its trees are built when they are first needed. That commit has the date of the newest
  /// commit, or one before any data.
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  /// - Returns: the commit that registered it; the newest commit if it was known.
  @discardableResult
  public func register(_ index: some IndexDeclaration) throws -> CommitNumber {
    guard let index = index.groupIndex else { return newestCommit }
    let replaced = code.withLock { code in
      // Keep the closures of other versions: snapshots in which these are in force use them.
      let isReplaced: (CodeIndex) -> Bool = {
        $0.name.isSameName(as: index.name) && $0.version == index.version
      }
      defer {
        code.removeAll(where: isReplaced)
        code.append(index.code)
      }
      return code.filter(isReplaced)
    }
    definitions.clear()
    // Released here, outside the locks, because closures may retain objects whose `deinit` uses the
    // store.
    withExtendedLifetime(replaced) {}
    let code = index.code
    let visible = queue.visible
    if code.isInForce(in: visible.catalog) {
      let commit = visible.roots.commit
      try complete(log.ticket(for: commit, durability: options.durability))
      // Rows may be due by it.
      considerSweep()
      return commit
    }
    return try write { tx in
      tx.takesDateOfNewest = true
      if case .filter(let parent, _) = code.closure {
        try tx.define(
          code.name, version: code.version, filtering: parent, buckets: code.buckets,
          isUnique: code.isUnique)
      } else {
        try tx.define(code.name, version: code.version, code.definition)
      }
    }.commit
  }
}
