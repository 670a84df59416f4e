// Deletes of the rows that have expired, as ordinary operations of a commit.

internal import TreeRingLog

extension Transaction {
  /// Whether a process may delete expired rows that lacks the closures of some rules. Without that
  /// of another rule than an expiry, a delete might be refused that another process could make.
  static func mayExpire(_ unknown: [IndexRecord]) -> Bool { unknown.allSatisfy(\.isExpiry) }

  /// Deletes rows whose date is not later than another, those with the earliest dates first.
  ///
  /// - Parameters:
  ///   - date: the date of the commit.
  ///   - limit: the maximum number of rows.
  ///   - isWhole: whether to delete none if there are more.
  /// - Returns: the number of rows deleted. O(log n) for each.
  @discardableResult
  func deleteExpired(
    at date: Timestamp, limit: Int, isWhole: Bool
  ) throws(TreeRingError) -> Int {
    guard editor.rules.isActive, Self.mayExpire(editor.rules.unknown) else { return 0 }
    var due: [RowReference] = []
    for index in editor.active.expiring {
      guard let roots = editor.roots.index(index.number) else { continue }
      let order = Tree(roots.order, pages: editor.pages)
      let positions = ActiveExpiry.due(in: order, at: date)
      if isWhole, due.count + positions.count > limit { return 0 }
      try order.forEach(in: positions.prefix(limit - due.count)) {
        (key, value) throws(TreeRingError) in
        due.append(try OrderEntry(key: key, value: value).row)
        return true
      }
    }
    var count = 0
    for row in due {
      let id = try RowNames(catalog: editor.catalog).id(of: row)
      let isDeleted = try row.key.withUnsafeBytes { (key) throws(TreeRingError) in
        try delete(key, in: id.bucket)
      }
      if isDeleted { count += 1 }
    }
    return count
  }

  /// Throws `invalidInput` if a reference restricts the deletes of rows that expire, directly or
  /// along cascades: such rows could not be deleted at their date.
  func checkExpiry() throws(TreeRingError) {
    let references = editor.catalog.rules.compactMap { rule in
      rule.reference.map { (rule.name, $0) }
    }
    for rule in editor.catalog.rules {
      guard let expiry = rule.expiry else { continue }
      var reached = [expiry.bucket]
      var next = 0
      while next < reached.count {
        for (name, reference) in references where reference.target.isSameName(as: reached[next]) {
          switch reference.deletion {
          case .restrict:
            throw TreeRingError(
              .invalidInput,
              "The rows of \(expiry.bucket) expire by \(rule.name), but the reference \(name) "
                + "restricts the deletes of rows of \(reference.target). Let it cascade or nullify."
            )
          case .cascade where !reached.containsName(reference.bucket):
            reached.append(reference.bucket)
          case .cascade, .nullify: break
          }
        }
        next += 1
      }
    }
  }
}
