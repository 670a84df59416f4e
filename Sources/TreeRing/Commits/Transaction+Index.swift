// Defines, replaces and removes group indexes inside a commit.

public import TreeRingLog

extension Transaction {
  /// Defines a group index by fields, or replaces its definition, and builds it. O(n log n). Does
  /// nothing if this definition is already in force.
  ///
  /// - Parameters:
  ///   - name: the index's name.
  ///   - fields: the fields that it groups and orders rows by.
  ///   - progress: called repeatedly with the number of rows done; return false to cancel.
  public func define(
    _ name: String, _ fields: FieldIndex, progress: (Int) -> Bool = { _ in true }
  ) throws(TreeRingError) {
    try define(
      name, version: fields.version, IndexRecord.Definition(fields), progress: progress)
  }

  /// Defines a group index of any kind, or replaces its definition. Does nothing if this definition
  /// is already in force.
  package func define(
    _ name: String, version: UInt32, _ definition: IndexRecord.Definition,
    progress: (Int) -> Bool = { _ in true }
  ) throws(TreeRingError) {
    try beginEdit()
    try Limits.check(name: name, of: "index")
    if let known = editor.catalog.indexes[name], known.isSame(version, definition) { return }
    let record = IndexRecord(
      name: name, number: editor.catalog.nextIndexNumber, version: version,
      definition: definition)
    try record.check()
    try editor.define(record, progress: progress)
    if record.isRule { editor.rules.defined.append(record.number) }
    editor.findRules()
    payload.append(.index(record))
    for child in editor.catalog.filters(of: name) {
      try define(
        child.name, version: child.version, child.definition.filtering(record), progress: progress)
    }
  }

  /// Defines a group index that filters another one by fields, or replaces its filter, and builds
  /// it. O(n log n). Does nothing if this definition is already in force.
  ///
  /// - Parameters:
  ///   - name: the index's name.
  ///   - filter: the index filtered, and the condition for its rows.
  ///   - progress: called repeatedly with the number of rows done; return false to cancel.
  /// - Throws: `notFound` if the other index is not in force; `invalidInput` if it filters this
  ///   one.
  public func define(
    _ name: String, _ filter: FieldFilter, progress: (Int) -> Bool = { _ in true }
  ) throws(TreeRingError) {
    let parent = try parent(filter.parent, of: name)
    let definition = IndexRecord.Definition.selected(parent, filter.json)
    try define(
      name, version: filter.version, filter.isUnique ? .unique(definition) : definition,
      progress: progress)
  }

  /// Declares the rule that rows refer to rows that exist, or replaces it, and builds its index.
  /// The rows are checked at the end of the commit. O(n log n). Does nothing if this definition is
  /// already in force.
  ///
  /// - Parameters:
  ///   - name: the name of the rule and its index.
  ///   - reference: the field and the bucket that it refers to.
  ///   - progress: called repeatedly with the number of rows done; return false to cancel.
  public func define(
    _ name: String, _ reference: Reference, progress: (Int) -> Bool = { _ in true }
  ) throws(TreeRingError) {
    try define(
      name, version: reference.version, IndexRecord.Definition(reference), progress: progress)
  }

  /// Declares the rule that rows vanish at a date of theirs, or replaces it, and builds its index.
  /// Rows that are due already are deleted with this commit, or by the sweeper. O(n log n). Does
  /// nothing if this definition is already in force.
  ///
  /// - Parameters:
  ///   - name: the name of the rule and its index.
  ///   - expiry: the field with the date.
  ///   - progress: called repeatedly with the number of rows done; return false to cancel.
  /// - Throws: `invalidInput` if a reference restricts the deletes of these rows.
  public func define(
    _ name: String, _ expiry: Expiry, progress: (Int) -> Bool = { _ in true }
  ) throws(TreeRingError) {
    try define(name, version: expiry.version, .expiry(expiry.json), progress: progress)
  }

  /// Defines a text index, or replaces its definition, and builds it. O(n log n) for n words. Does
  /// nothing if this definition is already in force.
  ///
  /// - Parameters:
  ///   - text: the index.
  ///   - progress: called repeatedly with the number of rows done; return false to cancel.
  public func define(
    _ text: TextIndex, progress: (Int) -> Bool = { _ in true }
  ) throws(TreeRingError) {
    try define(text.name, version: text.version, .text(text.json), progress: progress)
  }

  /// Defines a group index whose rows are placed manually. If it exists already, it keeps its rows
  /// in the buckets that it still covers. Does nothing if this definition is already in force.
  public func define(_ name: String, _ manual: ManualIndex) throws(TreeRingError) {
    try define(name, version: 1, .manual(buckets: manual.buckets))
  }

  /// Defines a group index that filters another one by a closure.
  /// - Throws: `notFound` if the other one is not in force; `invalidInput` if it is over other
  ///   buckets, or filters this one.
  package func define(
    _ name: String, version: UInt32, filtering parent: String, buckets: [String],
    isUnique: Bool = false
  ) throws(TreeRingError) {
    let record = try self.parent(parent, of: name)
    guard buckets.allSatisfy(record.buckets.containsName) else {
      throw TreeRingError(
        .invalidInput,
        "The index \(name) is over other buckets than \(parent), which it filters: over "
          + "\(record.buckets.joined(separator: ", ")).")
    }
    let definition = IndexRecord.Definition.filtered(record, buckets: buckets)
    try define(name, version: version, isUnique ? .unique(definition) : definition)
  }

  /// The definition of the index to filter.
  private func parent(
    _ parent: String, of name: String
  ) throws(TreeRingError) -> IndexRecord {
    guard let record = editor.catalog.indexes[parent] else {
      throw TreeRingError(
        .notFound,
        "The index \(name) filters the index \(parent), which does not exist. Define that first.")
    }
    if record.isText { throw TextIndex.noGroups(parent) }
    var ancestor: IndexRecord? = record
    while let next = ancestor {
      if next.name.isSameName(as: name) {
        throw TreeRingError(
          .invalidInput, "The index \(parent) filters \(name) already; it cannot be its parent.")
      }
      ancestor = next.parent
    }
    return record
  }

  /// Removes a group index, after the indexes that filter it.
  /// - Throws: `notFound` if there is none of that name.
  public func removeIndex(_ name: String) throws(TreeRingError) {
    try beginEdit()
    guard let old = editor.catalog.indexes[name] else {
      throw TreeRingError.noIndex(named: name, for: .any, in: editor.catalog)
    }
    for child in editor.catalog.filters(of: name) { try removeIndex(child.name) }
    var record = old
    record.definition = .removed
    editor.setDefinition(record)
    editor.findRules()
    payload.append(.index(record))
  }
}

extension IndexRecord.Definition {
  /// The same filter with another definition of its parent; other definitions are returned
  /// unchanged.
  fileprivate func filtering(_ parent: IndexRecord) -> Self {
    switch self {
    case .filtered(_, let buckets): .filtered(parent, buckets: buckets)
    case .selected(_, let text): .selected(parent, text)
    case .unique(let definition): .unique(definition.filtering(parent))
    case .removed, .fields, .summed, .code, .summedCode, .manual, .reference, .expiry, .text,
      .events:
      self
    }
  }
}
