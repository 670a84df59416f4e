import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

/// One group of rows as a sorted array of numbers, with searches that count the visited elements.
private struct CountedGroup: OrderedGroups, OrderedGroup {
  typealias Group = CountedGroup

  let numbers: [UInt64]
  let visits = ReadCount()

  var count: Int { numbers.count }

  static func row(_ number: UInt64) -> RowReference {
    RowReference(bucket: 1, key: withUnsafeBytes(of: number.bigEndian) { Array($0) })
  }

  static func order(_ number: UInt64) -> [UInt8] {
    ModelIndex.order(row(number).key, row(number))
  }

  func rank(of order: [UInt8]) -> Int {
    let number = order[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return numbers.withUnsafeBufferPointer { numbers in
      var (low, high) = (0, numbers.count)
      while low < high {
        visits.add()
        let middle = (low + high) / 2
        if numbers[middle] < number { low = middle + 1 } else { high = middle }
      }
      return low
    }
  }

  func row(at position: Int) -> RowReference {
    for _ in 0...(Int.bitWidth - count.leadingZeroBitCount) { visits.add() }
    return Self.row(numbers[position])
  }

  func groupNames() -> [GroupName] { ["g"] }
  func group(_ name: GroupName) -> CountedGroup { self }
  func places(of row: RowReference) -> [RowPlace] {
    let order = ModelIndex.order(row.key, row)
    let position = rank(of: order)
    guard position < count, Self.row(numbers[position]) == row else { return [] }
    return [RowPlace(group: "g", order: order)]
  }
  func stored(_ row: RowReference) -> StoredRow? { nil }
  func id(of row: RowReference) -> RowID { RowID(row) }
  func reference(of id: RowID) -> RowReference? { id.reference }
}

@Suite("The cost of a change, in visited nodes")
struct VisitTests {
  @Test(
    "Nodes visited stay below c · k · log n, up to a million rows",
    arguments: [1_000, 10_000, 100_000, 1_000_000])
  func visits(_ count: Int) throws {
    var random = SeededGenerator(seed: UInt64(count))
    let old = CountedGroup(numbers: (0..<UInt64(count)).map { $0 * 8 })
    let whole = Mappings(of: "model", groups: ["g"])
    let middle = count / 2
    let views = [
      whole, whole.range(.fixed(length: 50, offset: middle), of: "g"),
      whole.range(.flexible(length: 50, offset: middle, growing: .bothSides), of: "g"),
      whole.range(.flexible(length: middle, min: 10, max: count), of: "g").reversed("g"),
      whole.drawn(withNeighborsAt: [-1, 1], in: "g"),
      Mappings(of: "model", groupsWhere: { $0.count > 1 }).consolidated(below: 5, as: "all"),
    ]
    for affectedCount in [1, 10, 100] {
      let (new, affected) = edit(old, affectedCount, &random)
      for mappings in views {
        var cursor = MappingCursor(mappings)
        _ = try cursor.reset(to: old, at: 1)
        let before = new.visits.value
        let change = try cursor.advance(to: new, by: affected, limit: .max)
        let visited = new.visits.value - before
        let depth = Int.bitWidth - count.leadingZeroBitCount + 1
        #expect(!change.isReset)
        #expect(
          visited <= 6 * affected.rows.count * depth,
          "\(count) rows, \(affected.rows.count) affected: \(visited) visits")
        #expect(change.changeset.count <= 6 * affected.rows.count)
      }
    }
  }

  @Test(
    "A lookup in either direction, in the state after or before, visits c · log n nodes",
    arguments: [1_000, 1_000_000])
  func lookups(_ count: Int) throws {
    var random = SeededGenerator(seed: UInt64(count))
    let old = CountedGroup(numbers: (0..<UInt64(count)).map { $0 * 8 })
    let (new, affected) = edit(old, 100, &random)
    let whole = Mappings(of: "model", groups: ["g"])
    let depth = Int.bitWidth - count.leadingZeroBitCount + 1
    for mappings in [whole, whole.range(.flexible(length: count / 2, pin: .end), of: "g")] {
      var cursor = MappingCursor(mappings)
      _ = try cursor.reset(to: old, at: 1)
      let change = try cursor.advance(to: new, by: affected, limit: .max)
      for shown in [change.before, change.after] {
        for _ in 0..<100 {
          let path = RowPath(section: 0, row: Int.random(in: 0..<shown.rowCount, using: &random))
          let before = new.visits.value
          let row = try #require(try shown.row(at: path))
          #expect(try shown.path(of: row) == path)
          #expect(try shown.nearestPath(to: row) == path)
          #expect(new.visits.value - before <= 6 * depth, "\(path) of \(count)")
        }
      }
    }
  }

  @Test("In the state before, a row among very many that left one place is found by bisection")
  func neighborsThatLeft() throws {
    let count = 30_000
    let left = 5_000..<25_000
    let old = CountedGroup(numbers: (0..<UInt64(count)).map { $0 * 8 })
    var affected = AffectedRows(from: 1, to: 2)
    for position in left {
      let number = old.numbers[position]
      affected.rows[CountedGroup.row(number)] = AffectedRow(
        oldPlaces: [RowPlace(group: "g", order: CountedGroup.order(number))], newPlaces: [],
        oldContent: RowContent(object: 0, metadata: nil, touched: 0), newContent: nil)
    }
    let new = CountedGroup(
      numbers: old.numbers.enumerated().filter { !left.contains($0.0) }.map(\.1))
    var cursor = MappingCursor(Mappings(of: "model", groups: ["g"]))
    _ = try cursor.reset(to: old, at: 1)
    let before = try cursor.advance(to: new, by: affected, limit: .max).before
    let later = try #require(before.later)
    let delta = later.places.delta(of: 0)
    for position in stride(from: 4_999, to: 25_002, by: 667) + [5_000, 24_999, 25_000] {
      let row = CountedGroup.row(old.numbers[position])
      #expect(try before.path(of: RowID(row)) == RowPath(section: 0, row: position))
      let rank = new.rank(of: CountedGroup.order(old.numbers[position]))
      var compared = 0
      let found = later.places.oldRank(of: row, at: rank, in: delta) { other in
        compared += 1
        return other < row
      }
      #expect(found == position)
      #expect(compared <= 15, "\(compared) of \(left.count) rows compared")
    }
  }

  /// Deletes, inserts, moves and updates, a quarter each. In this index a row's name is the number
  /// for its order. So a row that moves takes the name of its new place; the algorithm does not
  /// notice.
  private func edit(
    _ old: CountedGroup, _ affectedCount: Int, _ random: inout SeededGenerator
  ) -> (CountedGroup, AffectedRows) {
    var affected = AffectedRows(from: 1, to: 2)
    var gone: Set<UInt64> = []
    var fresh: Set<UInt64> = []
    func place(_ number: UInt64) -> [RowPlace] {
      [RowPlace(group: "g", order: CountedGroup.order(number))]
    }
    let content = RowContent(object: 0, metadata: nil, touched: 0)
    let changed = RowContent(object: 1, metadata: nil, touched: 0)
    for turn in 0..<affectedCount {
      let number = UInt64.random(in: 0..<UInt64(old.count), using: &random) * 8
      guard gone.insert(number).inserted else { continue }
      let row = CountedGroup.row(number)
      switch turn % 4 {
      case 0:
        gone.remove(number)
        fresh.insert(number + 1)
        affected.rows[CountedGroup.row(number + 1)] = AffectedRow(
          oldPlaces: [], newPlaces: place(number + 1), oldContent: nil, newContent: content)
      case 1:
        affected.rows[row] = AffectedRow(
          oldPlaces: place(number), newPlaces: [], oldContent: content, newContent: nil)
      case 2:
        let target = UInt64.random(in: 0..<UInt64(old.count), using: &random) * 8 + 3
        guard fresh.insert(target).inserted else {
          gone.remove(number)
          continue
        }
        affected.rows[row] = AffectedRow(
          oldPlaces: place(number), newPlaces: place(target), oldContent: content,
          newContent: content)
      default:
        gone.remove(number)
        affected.rows[row] = AffectedRow(
          oldPlaces: place(number), newPlaces: place(number), oldContent: content,
          newContent: changed)
      }
    }
    let numbers = old.numbers.filter { !gone.contains($0) }
    return (CountedGroup(numbers: (numbers + fresh).sorted()), affected)
  }
}
