// A point in history as text: a commit number, a date, `tag:NAME`, or `-K`.

package import TreeRing
package import TreeRingLog

/// A point in history, not yet resolved.
package enum Point: Hashable, Sendable {
  case commit(CommitNumber)
  /// A number of commits back from the newest one.
  case back(CommitNumber)
  case date(Timestamp)
  case tag(String)

  /// Reads a point from text.
  ///
  /// - Throws: `invalidInput` if the text has none of the forms.
  package init(_ text: String) throws(TreeRingError) {
    if text.hasPrefix("tag:") {
      self = .tag(String(text.dropFirst(4)))
    } else if text.allSatisfy({ $0.isASCII && $0.isNumber }), let number = CommitNumber(text) {
      self = .commit(number)
    } else if text.first == "-", text.dropFirst().allSatisfy({ $0.isASCII && $0.isNumber }),
      let number = CommitNumber(text.dropFirst())
    {
      self = .back(number)
    } else {
      do throws(TreeRingError) {
        self = .date(try ISO8601.parse(text))
      } catch {
        throw TreeRingError(
          .invalidInput,
          "“\(text)” is not a point in history. Write a commit number, a date like "
            + "2013-01-03T08:00:00-05:00 or 2013-01-03, tag:NAME, or -K for K commits back.")
      }
    }
  }

  /// The point as a read point of the library.
  ///
  /// - Throws: `notFound` if there are fewer commits than `back` counts.
  package func readPoint(in store: Store) throws(TreeRingError) -> ReadPoint {
    switch self {
    case .commit(let number): return .commit(number)
    case .date(let date): return .date(date)
    case .tag(let name): return .tag(name)
    case .back(let count):
      let newest = store.newestCommit
      guard count <= newest else {
        throw TreeRingError(
          .notFound, "There is no commit \(count) back: the store has \(newest).")
      }
      return .commit(newest - count)
    }
  }

  /// The number of the commit. A commit given as a number may be absent.
  package func number(in store: Store) throws(TreeRingError) -> CommitNumber {
    if case .commit(let number) = self { return number }
    return try commit(in: store)
  }

  /// The commit's number.
  package func commit(in store: Store) throws(TreeRingError) -> CommitNumber {
    try store.commit(at: try readPoint(in: store))
  }
}

extension Store {
  /// The store's state at a point; the newest state without one.
  package func snapshot(at point: Point?) throws(TreeRingError) -> Snapshot {
    guard let point else { return try snapshot() }
    return try snapshot(at: try point.readPoint(in: self))
  }
}
