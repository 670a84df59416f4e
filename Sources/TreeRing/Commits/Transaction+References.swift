// References at the end of a transaction: the effects of its deletes, then the checks.
//
//   1. Each row that was deleted while others referred to it, and is still absent: delete the rows
//      that refer to it by cascading references, then those that refer to these, and so on.
//   2. The same rows: remove their keys from the rows that refer to them by nullifying references.
//   3. Refuse references that the transaction added and whose row is absent, rows that lack a
//      required reference, and deleted rows that others still refer to.
//
// The effects are ordinary operations of the commit, so the log states them and a replay applies no
// rule. A reference that was added while its row was absent is left out in 1 and 2: it is refused,
// unless the row comes back or the row that refers to it goes.

internal import TreeRingLog

extension Transaction {
  /// Deletes and changes the rows that refer to deleted ones, as their references state.
  /// O(log n) for each row deleted, and for each row that referred to it.
  /// - Parameter first: the number of noted deletes to leave out.
  func applyDeletions(from first: Int) throws(TreeRingError) {
    var position = first
    // A delete appends to the list.
    while position < editor.rules.deleted.count {
      let target = editor.rules.deleted[position]
      position += 1
      try forEachReferrer(of: target, by: .cascade) { (_, row) throws(TreeRingError) in
        let id = try RowNames(catalog: editor.catalog).id(of: row)
        _ = try row.key.withUnsafeBytes { (key) throws(TreeRingError) in
          try delete(key, in: id.bucket)
        }
      }
    }
    for target in editor.rules.deleted.dropFirst(first) {
      try forEachReferrer(of: target, by: .nullify) { (index, row) throws(TreeRingError) in
        try remove(Key(bytes: target.key), from: row, in: index)
      }
    }
  }

  /// Calls `body` with each row that refers to an absent row by references of one kind, except for
  /// references added while that row was absent. `body` may write.
  private func forEachReferrer(
    of target: RowReference, by deletion: Reference.Deletion,
    _ body: (ActiveIndex, RowReference) throws(TreeRingError) -> Void
  ) throws(TreeRingError) {
    if try exists(target) { return }
    let name = try RowNames(catalog: editor.catalog).id(of: target).bucket
    for index in editor.active.referring(to: name) where index.reference?.deletion == deletion {
      for row in try referrers(to: target, in: index) { try body(index, row) }
    }
  }

  /// The rows that refer to a row, except by references added while it was absent. O(log n + rows).
  private func referrers(
    to target: RowReference, in index: ActiveIndex
  ) throws(TreeRingError) -> [RowReference] {
    guard let roots = editor.roots.index(index.number) else { return [] }
    let order = Tree(roots.order, pages: editor.pages)
    let group = GroupName(bytes: target.key)
    var rows: [RowReference] = []
    try order.forEach(in: order.positions(ofGroup: group)) { (key, value) throws(TreeRingError) in
      let row = try OrderEntry(key: key, value: value).row
      let isNew = editor.rules.isMissing(
        RuleChecks.Link(index: index.number, row: row, target: group))
      if !isNew { rows.append(row) }
      return true
    }
    return rows
  }

  private func exists(_ row: RowReference) throws(TreeRingError) -> Bool {
    try record(of: row) != nil
  }

  private func record(of row: RowReference) throws(TreeRingError) -> RowRecord? {
    try row.key.withUnsafeBytes { (key) throws(TreeRingError) in
      try editor.row(bucket: row.bucket, key: key)
    }
  }

  /// Puts a row without a key that it refers to.
  private func remove(
    _ key: Key, from row: RowReference, in index: ActiveIndex
  ) throws(TreeRingError) {
    guard let reference = index.reference else { return }
    let id = try RowNames(catalog: editor.catalog).id(of: row)
    let changed = try row.key.withUnsafeBytes {
      (bytes) throws(TreeRingError) -> (object: [UInt8], coder: UInt32)? in
      guard let record = try editor.row(bucket: row.bucket, key: bytes) else { return nil }
      return try editor.values.withInput(
        of: record, bucket: row.bucket, key: bytes, readsMetadata: index.readsMetadata
      ) { (input) throws(TreeRingError) in
        do {
          return try reference.removing(key, from: input)
        } catch {
          throw TreeRingError(
            .invalidInput,
            "The row \(id) could not be written without its reference \(index.name) to the deleted "
              + "row \(key): \(error)")
        }
      }
    }
    guard let changed else { return }
    try row.key.withUnsafeBytes { (bytes) throws(TreeRingError) in
      try changed.object.withUnsafeBytes { (object) throws(TreeRingError) in
        try putObject(bytes, in: id.bucket, object: object, coder: changed.coder)
      }
    }
  }

  // MARK: - Checks

  /// Throws the error of a reference that the commit would leave without its row.
  func checkReferences() throws(TreeRingError) {
    let checks = editor.rules
    for link in checks.missing {
      guard let index = editor.active[link.index], try refers(link),
        let refusal = try refusal(of: link, in: index)
      else { continue }
      throw refusal
    }
    for (number, row) in checks.lacking {
      guard let index = editor.active[number], try exists(row),
        try targets(of: row, in: index).isEmpty
      else { continue }
      throw index.refusalOfLacking(try RowNames(catalog: editor.catalog).id(of: row))
    }
    for target in checks.deleted where try !exists(target) {
      let id = try RowNames(catalog: editor.catalog).id(of: target)
      for index in editor.active.referring(to: id.bucket) {
        let rows = try referrers(to: target, in: index)
        guard let first = rows.first else { continue }
        throw index.refusal(
          ofDeleting: id, try RowNames(catalog: editor.catalog).id(of: first), count: rows.count)
      }
    }
  }

  /// Whether the row of a link still refers to its target.
  private func refers(_ link: RuleChecks.Link) throws(TreeRingError) -> Bool {
    guard let index = editor.active[link.index] else { return false }
    return try targets(of: link.row, in: index).contains { $0.group == link.target }
  }

  private func targets(
    of row: RowReference, in index: ActiveIndex
  ) throws(TreeRingError) -> [EncodedPlace] {
    guard let roots = editor.roots.index(index.number) else { return [] }
    return row.key.withUnsafeBytes { key in
      PlaceKey.places(
        in: Tree(roots.places, pages: editor.pages),
        prefix: PlaceKey.prefix(bucket: row.bucket, key: key))
    }
  }

  /// The error for a link whose target does not exist; nil if it does.
  private func refusal(
    of link: RuleChecks.Link, in index: ActiveIndex
  ) throws(TreeRingError) -> TreeRingError? {
    guard let reference = index.reference,
      !editor.exists(link.target, in: reference.target)
    else { return nil }
    return index.refusalOfMissing(
      try RowNames(catalog: editor.catalog).id(of: link.row),
      RowID(bucket: reference.target, key: Key(bytes: link.target.bytes)))
  }

  /// The first errors of a reference over all rows. O(n log n).
  func offenders(
    of index: ActiveIndex, limit: Int
  ) throws(TreeRingError) -> [TreeRingError] {
    guard let reference = index.reference, let roots = editor.roots.index(index.number) else {
      return []
    }
    var errors: [TreeRingError] = []
    var last: (group: [UInt8], exists: Bool)?
    try Tree(roots.order, pages: editor.pages).forEach { (key, value) throws(TreeRingError) in
      let entry = try OrderEntry(key: key, value: value)
      if last.map({ !entry.group.elementsEqual($0.group) }) ?? true {
        last = (Array(entry.group), editor.exists(try entry.groupName, in: reference.target))
      }
      if last?.exists == false {
        let link = RuleChecks.Link(
          index: index.number, row: entry.row, target: try entry.groupName)
        if let error = try refusal(of: link, in: index) { errors.append(error) }
      }
      return errors.count < limit
    }
    if !reference.isRequired { return errors }
    for name in index.buckets {
      guard let bucket = editor.catalog.number(ofBucket: name) else { continue }
      let positions = RowTreeKey.positions(in: editor.rows, bucket: bucket)
      if errors.count == limit { break }
      try editor.rows.forEach(in: positions) { (treeKey, _) throws(TreeRingError) in
        let row = RowReference(bucket: bucket, key: Array(RowTreeKey.key(of: treeKey)))
        if try targets(of: row, in: index).isEmpty {
          errors.append(
            index.refusalOfLacking(try RowNames(catalog: editor.catalog).id(of: row)))
        }
        return errors.count < limit
      }
    }
    return errors
  }
}

extension ActiveIndex {
  private func refusal(
    _ code: TreeRingError.Code, _ message: String, row: RowID, other: RowID?
  ) -> TreeRingError {
    var error = TreeRingError(code, message)
    error.brokenRule = BrokenRule(name: name, row: .init(row), other: other.map { .init($0) })
    return error
  }

  fileprivate func refusalOfMissing(_ row: RowID, _ target: RowID) -> TreeRingError {
    refusal(
      .referenceMissing,
      "The row \(row) refers to \(target) by \(name), and there is no such row. Put that row in "
        + "the same commit, or refer to another.", row: row, other: target)
  }

  fileprivate func refusalOfLacking(_ row: RowID) -> TreeRingError {
    refusal(
      .referenceMissing,
      "The row \(row) refers to no row by \(name), which requires a reference. Name a row of the "
        + "bucket \(reference?.target ?? "").", row: row, other: nil)
  }

  fileprivate func refusal(
    ofDeleting target: RowID, _ referrer: RowID, count: Int
  ) -> TreeRingError {
    let others =
      switch count {
      case 1: ""
      case 2: ", as does a further row,"
      default: ", as do \(count - 1) further rows,"
      }
    return refusal(
      .restricted,
      "The row \(target) cannot be deleted: the row \(referrer)\(others) refers to it by \(name). "
        + "Delete or change what refers to it in the same commit.", row: target, other: referrer)
  }
}
