import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

/// Every pair of states of at most four rows in three groups, up to the names of the rows, with
/// every choice of rows that may be unaffected.
///
/// Rows are named in the order of the old state, and new rows in the order of the new state. So
/// each pair stands for all pairs that differ in names only. An unaffected row keeps its sort key.
/// Every other row gets a new key, even if it stays between the same neighbours.
///
/// A sweep runs all of it in a release build; `swift test` runs every third old state.
@Suite("Exhaustive: at most four rows in three groups")
struct ExhaustiveTests {
  typealias Lists = [[UInt8]]
  static let rowLimit = 4
  static let groups: [GroupName] = ["a", "b", "c"]

  @Test("All pairs of states, with each set of unaffected rows, whole and through ranges")
  func everything() async {
    let all = Self.arrangements(of: Array(0..<UInt8(Self.rowLimit)), inOrder: true)
      .sorted { $0.description < $1.description }
    let olds = isSweep ? all : all.enumerated().filter { $0.offset % 3 == 0 }.map(\.element)
    let counts = await withTaskGroup(of: (pairs: Int, cases: Int).self) { tasks in
      for start in 0..<4 {
        tasks.addTask {
          stride(from: start, to: olds.count, by: 4).reduce((0, 0)) { sum, index in
            let next = Self.check(olds[index], turn: index)
            return (sum.0 + next.pairs, sum.1 + next.cases)
          }
        }
      }
      return await tasks.reduce(into: (pairs: 0, cases: 0)) {
        $0 = ($0.pairs + $1.pairs, $0.cases + $1.cases)
      }
    }
    print("exhaustive: \(counts.pairs) pairs of states, \(counts.cases) changes")
    // By orbits: 685 named states make 469,225 pairs, of which this many differ in more than names.
    if isSweep { #expect(counts.pairs == 19_647) } else { #expect(counts.pairs > 1_000) }
  }

  /// Checks one old state against every new state.
  static func check(_ old: Lists, turn: Int) -> (pairs: Int, cases: Int) {
    let oldRows = old.flatMap(\.self)
    var pairs = 0
    var cases = 0
    for common in subsets(of: oldRows) {
      for freshCount in 0...(rowLimit - oldRows.count) {
        let fresh = (0..<UInt8(freshCount)).map { UInt8(rowLimit) + $0 }
        for new in arrangements(of: common + fresh, inOrder: false)
        where new.flatMap(\.self).count == common.count + freshCount
          && new.flatMap(\.self).filter({ $0 >= rowLimit }) == fresh
        {
          pairs += 1
          for unaffected in unaffectedSets(old, new) {
            let states = states(old, new, unaffected, turn: turn + cases)
            for mappings in views(turn + cases) {
              let given = ChangeCase(
                old: states.old, new: states.new, oldMappings: mappings.old,
                newMappings: mappings.new, affected: states.affected)
              // The new state's contents do not depend on the affected rows.
              let found = violations(given, looksAfter: unaffected.isEmpty)
              #expect(found.isEmpty, "\(old) to \(new), \(unaffected) unaffected: \(found)")
              cases += 1
            }
          }
        }
      }
    }
    return (pairs, cases)
  }

  /// The groups whole, then through ranges in turn.
  static func views(_ turn: Int) -> [(old: Mappings, new: Mappings)] {
    let whole = Mappings(of: "model", groups: groups)
    let ranges: [RangeOptions?] = [
      .fixed(length: 2), .fixed(length: 2, offset: 1), .fixed(length: 1, pin: .end), nil,
      .fixed(length: 2, offset: 1, pin: .end), .fixed(length: 3), .fixed(length: 0),
      .fixed(length: 2, offset: 3),
    ]
    var ranged = whole.hidingEmptySections(turn % 2 == 0)
    for (index, group) in groups.enumerated() {
      ranged = ranged.range(ranges[(turn / 2 + index * 3) % ranges.count], of: group)
        .reversed(group, (turn >> index) % 3 == 0)
    }
    let other = ranged.range(ranges[(turn / 3) % ranges.count], of: groups[turn % 3])
    return [
      (whole.hidingEmptySections(turn % 3 != 0), whole.hidingEmptySections(turn % 3 != 0)),
      (ranged, ranged), (ranged, other),
    ]
  }

  /// States in which unaffected rows keep their sort keys and all others have new keys.
  static func states(
    _ old: Lists, _ new: Lists, _ unaffected: Set<UInt8>, turn: Int
  ) -> (old: ModelIndex, new: ModelIndex, affected: AffectedRows) {
    func index(_ lists: Lists, at commit: CommitNumber, keys: UInt8) -> ModelIndex {
      var rows: [RowReference: ModelRow] = [:]
      for (group, list) in lists.enumerated() {
        var anchor: UInt8 = 0
        var step = keys
        for row in list {
          if unaffected.contains(row) {
            anchor += 1
            step = keys
          } else {
            step += 1
          }
          let isChanged = commit == 2 && (turn >> Int(row)) & 1 == 1
          rows[RowReference(bucket: 1, key: [row])] = ModelRow(
            places: [groups[group]: [anchor, unaffected.contains(row) ? 0 : step]],
            content: RowContent(object: isChanged ? 1 : 0, metadata: nil, touched: 0))
        }
      }
      return ModelIndex(commit: commit, rows: rows)
    }
    let before = index(old, at: 1, keys: 100)
    let after = index(new, at: 2, keys: 10)
    return (before, after, affectedRows(from: before, to: after))
  }

  /// The sets of rows that may be unaffected: rows of one group on both sides, in the same order.
  static func unaffectedSets(_ old: Lists, _ new: Lists) -> [Set<UInt8>] {
    let candidates = zip(old, new).flatMap { before, after in before.filter(after.contains) }
    return subsets(of: candidates).map(Set.init).filter { set in
      zip(old, new).allSatisfy { $0.filter(set.contains) == $1.filter(set.contains) }
    }
  }

  static func subsets(of rows: [UInt8]) -> [[UInt8]] {
    (0..<(1 << rows.count)).map { bits in
      rows.enumerated().filter { bits & (1 << $0.offset) != 0 }.map(\.element)
    }
  }

  /// Every way to list these rows, or the first few of them, in three groups; in the given order or
  /// in any order.
  static func arrangements(of rows: [UInt8], inOrder: Bool) -> [Lists] {
    var result: [Lists] = [[[], [], []]]
    var frontier = result
    for row in rows {
      var longer: Set<Lists> = []
      for lists in frontier {
        for group in groups.indices {
          if inOrder {
            guard lists[(group + 1)...].allSatisfy(\.isEmpty) else { continue }
            var next = lists
            next[group].append(row)
            longer.insert(next)
          } else {
            for position in 0...lists[group].count {
              var next = lists
              next[group].insert(row, at: position)
              longer.insert(next)
            }
          }
        }
      }
      frontier = Array(longer)
      result += frontier
    }
    return result
  }
}
