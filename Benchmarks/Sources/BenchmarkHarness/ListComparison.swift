// Comparisons of two whole lists, before and after: the only way without knowledge of the writes.
// Plain implementations of published algorithms.

/// A row of a compared list: its identity and the version of its content.
public struct ListRow: Hashable, Sendable {
  public let id: Int
  public let version: Int
  public init(id: Int, version: Int) {
    self.id = id
    self.version = version
  }
}

/// Two states of a list, in a form that every comparison can use directly.
public struct ListPair: Sendable {
  public let old: [ListRow]
  public let new: [ListRow]
  public let oldIDs: [Int]
  public let newIDs: [Int]

  public init(old: [ListRow], new: [ListRow]) {
    self.old = old
    self.new = new
    oldIDs = old.map(\.id)
    newIDs = new.map(\.id)
  }

  /// For each new position the old position of the same row; -1 for an inserted row.
  func oldPositions() -> [Int] {
    var positions = [Int: Int](minimumCapacity: old.count)
    for (position, row) in old.enumerated() { positions[row.id] = position }
    return new.map { positions[$0.id] ?? -1 }
  }

  /// The minimum number of moves between the lists, beside deletes and inserts: the number of
  /// common rows less the length of their longest run that keeps its order.
  public func fewestMoves() -> Int {
    let common = oldPositions().filter { $0 >= 0 }
    // The least last element of the runs of each length (Schensted, "Longest increasing and
    // decreasing subsequences", 1961).
    var lasts: [Int] = []
    for position in common {
      var (low, high) = (0, lasts.count)
      while low < high {
        let middle = (low + high) / 2
        if lasts[middle] < position { low = middle + 1 } else { high = middle }
      }
      if low == lasts.count { lasts.append(position) } else { lasts[low] = position }
    }
    return common.count - lasts.count
  }
}

/// The number of edits that a comparison found.
public struct ListEdits: Sendable {
  public var deletes: [Int] = []
  public var inserts: [Int] = []
  public var moves: [(from: Int, to: Int)] = []
  public var updates: [Int] = []
  public init() {}
}

/// A way to compare two lists.
public protocol ListComparison: Sendable {
  /// Its name in reports.
  static var name: String { get }
  static func moveCount(_ pair: ListPair) -> Int
}

/// `difference(from:)`, which implements Myers ("An O(ND) difference algorithm and its variations",
/// 1986), and `inferringMoves()`. It ignores contents.
public enum LibraryComparison: ListComparison {
  public static let name = "standard library"

  public static func moveCount(_ pair: ListPair) -> Int {
    let difference = pair.newIDs.difference(from: pair.oldIDs).inferringMoves()
    var moves = 0
    for case .insert(_, _, .some) in difference { moves += 1 }
    return moves
  }
}

/// Heckel, "A technique for isolating differences between files", 1978, for unique rows. A row
/// counts as moved unless the deletes and inserts before it explain its position.
public enum HeckelComparison: ListComparison {
  public static let name = "Heckel"

  public static func moveCount(_ pair: ListPair) -> Int { edits(pair).moves.count }

  static func edits(_ pair: ListPair) -> ListEdits {
    var edits = ListEdits()
    let oldPositions = pair.oldPositions()
    var stays = [Bool](repeating: false, count: pair.old.count)
    for position in oldPositions where position >= 0 { stays[position] = true }
    var deletesBefore: [Int] = []
    deletesBefore.reserveCapacity(pair.old.count)
    for position in pair.old.indices {
      deletesBefore.append(edits.deletes.count)
      if !stays[position] { edits.deletes.append(position) }
    }
    for (position, old) in oldPositions.enumerated() {
      if old < 0 {
        edits.inserts.append(position)
        continue
      }
      if pair.old[old].version != pair.new[position].version { edits.updates.append(old) }
      if old - deletesBefore[old] + edits.inserts.count != position {
        edits.moves.append((old, position))
      }
    }
    return edits
  }
}

/// The rule of libraries for web pages (React's reconciliation). In a pass over the new list, a row
/// counts as moved if its old position precedes that of a row already passed.
public enum GreedyComparison: ListComparison {
  public static let name = "greedy"

  public static func moveCount(_ pair: ListPair) -> Int { edits(pair).moves.count }

  static func edits(_ pair: ListPair) -> ListEdits {
    var edits = ListEdits()
    var stays = [Bool](repeating: false, count: pair.old.count)
    var furthest = -1
    for (position, old) in pair.oldPositions().enumerated() {
      if old < 0 {
        edits.inserts.append(position)
        continue
      }
      stays[old] = true
      if pair.old[old].version != pair.new[position].version { edits.updates.append(old) }
      if old < furthest { edits.moves.append((old, position)) }
      furthest = max(furthest, old)
    }
    for position in pair.old.indices where !stays[position] { edits.deletes.append(position) }
    return edits
  }
}
