// Deletes of the rows that have expired, as ordinary operations of a commit.

internal import TreeRingLog

extension Transaction {
  /// Whether a process may delete expired rows that lacks the closures of some rules. Without that
  /// of another rule than an expiry, a delete might be refused that another process could make.
  static func mayExpire(_ unknown: [IndexRecord]) -> Bool { unknown.allSatisfy(\.isExpiry) }

  /// The number of expired rows that are collected before they are deleted.
  private static let stepRowCount = 1024

  /// Deletes the rows whose date is not later than another. Memory holds the commit, and no list of
  /// the rows.
  ///
  /// - Parameters:
  ///   - date: the date of the commit.
  ///   - limit: the number of rows of one expiry after which the rest is left.
  /// - Returns: the number of rows that were due and are gone. O(log n) for each, and O(log n) for
  ///   each expiry.
  @discardableResult
  func deleteExpired(at date: Timestamp, limit: Int = .max) throws(TreeRingError) -> Int {
    guard editor.rules.isActive, Self.mayExpire(editor.rules.unknown) else { return 0 }
    var count = 0
    for index in editor.active.expiring {
      var left = limit
      while left > 0 {
        let rows = try due(by: index, at: date, limit: min(left, Self.stepRowCount))
        var isAnyDeleted = false
        for row in rows {
          let id = try RowNames(catalog: editor.catalog).id(of: row)
          // A cascade from an earlier one may have deleted it.
          let isDeleted = try row.key.withUnsafeBytes { (key) throws(TreeRingError) in
            try delete(key, in: id.bucket)
          }
          if isDeleted { isAnyDeleted = true }
        }
        guard isAnyDeleted else { break }
        count += rows.count
        left -= rows.count
      }
    }
    return count
  }

  /// The first of the rows that are due at a date by one expiry.
  private func due(
    by index: ActiveIndex, at date: Timestamp, limit: Int
  ) throws(TreeRingError) -> [RowReference] {
    guard let roots = editor.roots.index(index.number) else { return [] }
    let order = Tree(roots.order, pages: editor.pages)
    var rows: [RowReference] = []
    try order.forEach(in: ActiveExpiry.due(in: order, at: date).prefix(limit)) {
      (key, value) throws(TreeRingError) in
      rows.append(try OrderEntry(key: key, value: value).row)
      return true
    }
    return rows
  }

  /// The last date, not later than `date`, at which no expiry has more than `limit` rows that are
  /// due. O(log n) for each expiry.
  func lastDate(
    withAtMost limit: Int, dueBy date: Timestamp
  ) throws(TreeRingError) -> Timestamp {
    var last = date
    for index in editor.active.expiring {
      guard let roots = editor.roots.index(index.number) else { continue }
      let order = Tree(roots.order, pages: editor.pages)
      if ActiveExpiry.due(in: order, at: last).count <= limit { continue }
      let next = order.withEntry(at: limit) { key, _ in ActiveExpiry.date(ofKey: key) }
      // No date comes before the first one, which a commit cannot have.
      guard let next, next.microseconds > .min else { continue }
      last = min(last, Timestamp(microseconds: next.microseconds - 1))
    }
    return last
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
