// The end of a transaction: the checks of the rules that its edits may have broken.

internal import TreeRingLog

extension Transaction {
  /// Whether the commit has to keep the store's rules. A copy of what another store has committed
  /// need not.
  package var keepsRules: Bool {
    get { editor.rules.isEnforced }
    set { editor.rules.isEnforced = newValue }
  }

  /// Throws the error of a rule that the commit would break, after the effects of deletes. O(log n)
  /// for each group that held several rows during the transaction; O(n) for each rule that it
  /// defines.
  ///
  /// - Parameter first: the number of noted deletes that have no effects.
  func checkRules(applyingDeletionsFrom first: Int) throws(TreeRingError) {
    if !editor.rules.isActive { return }
    try applyDeletions(from: first)
    if !editor.rules.defined.isEmpty { try checkExpiry() }
    for number in editor.rules.defined {
      guard let rule = editor.catalog.rules.first(where: { $0.number == number }) else { continue }
      guard let index = editor.active[number] else {
        if rule.isExpiry { continue }
        throw rule.unregistered
      }
      if index.isUnique {
        let pairs = try sharedPairs(of: rule, limit: Self.offenderLimit)
        if let first = pairs.first { throw rule.refusal(first, of: pairs) }
      }
      let errors =
        try offenders(of: index, limit: Self.offenderLimit)
        + unsummable(of: index, limit: Self.offenderLimit)
      if let first = errors.first { throw rule.refusal(first, of: errors) }
    }
    try checkReferences()
    for group in editor.rules.shared {
      guard let rule = editor.catalog.rules.first(where: { $0.number == group.index }),
        let roots = editor.roots.index(group.index)
      else { continue }
      let order = Tree(roots.order, pages: editor.pages)
      let positions = order.positions(ofGroup: group.name)
      if positions.count < 2 { continue }
      throw rule.refusal(
        try pair(
          in: group.name, try row(in: order, at: positions.lowerBound),
          try row(in: order, at: positions.lowerBound + 1)))
    }
  }

  /// The maximum number of offending rows that an error names.
  private static let offenderLimit = 5

  private func row(in order: Tree, at position: Int) throws(TreeRingError) -> RowReference {
    try order.withEntry(at: position) { (key, value) throws(TreeRingError) in
      try OrderEntry(key: key, value: value).row
    }
  }

  /// Two rows of one group, the one written last first.
  private func pair(
    in group: GroupName, _ first: RowReference, _ second: RowReference
  ) throws(TreeRingError) -> SharedPair {
    let isFirstLast = try written(first) > written(second)
    let names = RowNames(catalog: editor.catalog)
    return SharedPair(
      group: group, row: try names.id(of: isFirstLast ? first : second),
      other: try names.id(of: isFirstLast ? second : first))
  }

  private func written(_ row: RowReference) throws(TreeRingError) -> Stamp {
    let record = try row.key.withUnsafeBytes { (key) throws(TreeRingError) in
      try editor.row(bucket: row.bucket, key: key)
    }
    guard let record else { throw ByteReader.damaged }
    return record.written
  }

  /// The first pairs of rows of an index that share a group, in the order of groups. O(n).
  private func sharedPairs(
    of rule: IndexRecord, limit: Int
  ) throws(TreeRingError) -> [SharedPair] {
    guard let roots = editor.roots.index(rule.number) else { return [] }
    var pairs: [SharedPair] = []
    var last: (group: [UInt8], row: RowReference)?
    try Tree(roots.order, pages: editor.pages).forEach { (key, value) throws(TreeRingError) in
      let entry = try OrderEntry(key: key, value: value)
      if let last, entry.group.elementsEqual(last.group) {
        pairs.append(try pair(in: try entry.groupName, last.row, entry.row))
        return pairs.count < limit
      }
      last = (Array(entry.group), entry.row)
      return true
    }
    return pairs
  }
}

/// Two rows that share a group of a unique index.
private struct SharedPair {
  var group: GroupName
  var row: RowID
  var other: RowID
}

extension IndexRecord {
  /// The error for rows that break a reference that is being defined.
  fileprivate func refusal(_ first: TreeRingError, of all: [TreeRingError]) -> TreeRingError {
    var error = first
    let further = all.dropFirst().compactMap { $0.violation?.row.description }
    if !further.isEmpty {
      error.message += " Further rows break the rule: \(further.joined(separator: ", "))."
    }
    error.message += " The rule was not defined; change these rows first, or in the same commit."
    return error
  }

  /// The error for rows that share a group.
  /// - Parameter all: the first pairs, if the rule is being defined over existing rows.
  fileprivate func refusal(_ pair: SharedPair, of all: [SharedPair] = []) -> TreeRingError {
    var message =
      "The rows \(pair.row) and \(pair.other) both have the value “\(pair.group)” in the unique "
      + "index \(name). "
    if all.isEmpty {
      message +=
        "Give \(pair.row) another value, or change or delete \(pair.other) in the same commit."
    } else {
      let further = all.dropFirst().map { "\($0.row) and \($0.other) share “\($0.group)”" }
      if !further.isEmpty { message += "Further: \(further.joined(separator: "; ")). " }
      message += "The index was not defined; change these rows first, or in the same commit."
    }
    var error = TreeRingError(.notUnique, message)
    error.brokenRule = BrokenRule(name: name, row: .init(pair.row), other: .init(pair.other))
    return error
  }
}
