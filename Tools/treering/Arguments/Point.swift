// A point in history on the command line: a commit number, a date, `tag:NAME`, or `-K`.

import ArgumentParser
import TreeRing
import TreeRingLog

/// A point in history, not yet resolved.
enum Point {
  case commit(CommitNumber)
  /// A number of commits back from the newest one.
  case back(CommitNumber)
  case date(Timestamp)
  case tag(String)

  /// Parses a point. The transform of an argument.
  @Sendable static func parse(_ argument: String) throws -> Point {
    let text = NegativeNumber.shown(argument)
    if text.hasPrefix("tag:") { return .tag(String(text.dropFirst(4))) }
    if text.allSatisfy({ $0.isASCII && $0.isNumber }), let number = CommitNumber(text) {
      return .commit(number)
    }
    if text.first == "-", let number = CommitNumber(text.dropFirst()) { return .back(number) }
    do throws(TreeRingError) {
      return .date(try ISO8601.parse(text))
    } catch {
      throw ValidationError(
        "“\(text)” is not a point in history. Write a commit number, a date like "
          + "2013-01-03T08:00:00-05:00 or 2013-01-03, tag:NAME, or -K for K commits back.")
    }
  }

  /// The point as a read point of the library.
  func readPoint(in store: Store) throws -> ReadPoint {
    switch self {
    case .commit(let number): return .commit(number)
    case .date(let date): return .date(date)
    case .tag(let name): return .tag(name)
    case .back(let count):
      guard count <= store.newestCommit else {
        throw Failure(
          .no, "There is no commit \(count) back: the store has \(store.newestCommit).")
      }
      return .commit(store.newestCommit - count)
    }
  }

  /// The number of the commit. A commit given as a number may be absent.
  func number(in store: Store) throws -> CommitNumber {
    if case .commit(let number) = self { return number }
    return try commit(in: store)
  }

  /// The commit's number.
  func commit(in store: Store) throws -> CommitNumber {
    try store.commit(at: try readPoint(in: store))
  }
}

extension Store {
  /// The store's state at a point; the newest state without one.
  func snapshot(at point: Point?) throws -> Snapshot {
    guard let point else { return try snapshot() }
    return try snapshot(at: try point.readPoint(in: self))
  }
}
