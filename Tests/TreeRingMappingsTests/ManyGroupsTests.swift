// The cost of a change with a very large number of groups, few of them affected.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

@Suite("A change among very many groups")
struct ManyGroupsTests {
  /// A state with three rows in each group.
  private static func state(_ groupCount: Int) -> ModelIndex {
    var rows: [RowReference: ModelRow] = [:]
    for group in 0..<groupCount {
      for number in 0..<3 as Range<UInt8> {
        let row = RowReference(bucket: 1, key: [UInt8(group >> 8), UInt8(group & 0xFF), number])
        rows[row] = ModelRow(
          places: [GroupName("g\(group)"): [number]],
          content: RowContent(object: 0, metadata: nil, touched: 0))
      }
    }
    return ModelIndex(commit: 1, rows: rows)
  }

  /// The number of runs of groups at different addresses in memory.
  private func unsharedRuns(_ a: Layout, _ b: Layout) -> Int {
    func addresses(_ layout: Layout) -> [UnsafePointer<GroupState>?] {
      layout.groups.runs.joined().map { $0.withUnsafeBufferPointer { $0.baseAddress } }
    }
    return zip(addresses(a), addresses(b)).count { $0 != $1 }
  }

  private func address(_ slots: [Int]) -> UnsafePointer<Int>? {
    slots.withUnsafeBufferPointer { $0.baseAddress }
  }

  @Test(
    "It reads only affected groups, and its two states share the others", arguments: [100, 20_000])
  func shared(_ groupCount: Int) throws {
    let names = (0..<groupCount).map { GroupName("g\($0)") }
    let old = Self.state(groupCount)
    var rows = old.rows
    // One insert, one delete, one move to another group, and one update.
    let place = 77 % groupCount
    func row(_ group: Int, _ number: UInt8) -> RowReference {
      RowReference(bucket: 1, key: [UInt8(group >> 8), UInt8(group & 0xFF), number])
    }
    let content = RowContent(object: 0, metadata: nil, touched: 0)
    rows[row(place, 9)] = ModelRow(places: [names[place]: [1]], content: content)
    rows[row(3, 0)] = nil
    rows[row(5, 1)]?.places = [names[6]: [1]]
    rows[row(8, 1)]?.content = RowContent(object: 1, metadata: nil, touched: 0)
    let new = ModelIndex(commit: 2, rows: rows)
    let affected = affectedRows(from: old, to: new)
    let list = Mappings(of: "model", groups: names)
    let views = [
      list, list.hidingEmptySections().range(.flexible(length: 2, growing: .bothSides)),
      list.drawn(withNeighborsAt: [-1, 2], in: names[8]).range(.fixed(length: 2, pin: .end)),
      Mappings(of: "model", groupsWhere: { $0.count > 0 }),
    ]
    for mappings in views {
      var cursor = MappingCursor(mappings)
      _ = try cursor.reset(to: old, at: 1)
      let reads = new.reads.value
      let change = try cursor.advance(to: new, by: affected)
      #expect(!change.isReset && change.changeset.count >= 3)
      // The change affects five groups.
      #expect(new.reads.value - reads <= 40, "\(new.reads.value - reads) reads")
      let (before, after) = (change.before.layout, change.after.layout)
      #expect(unsharedRuns(before, after) <= 5)
      #expect(address(before.slots) == address(after.slots))
      #expect(address(before.listed) == address(after.listed))
      #expect(before.groups.count == groupCount && change.before.sections.count == groupCount)
    }
  }

  @Test("The legacy list reads only the affected groups, unless mappings are edited")
  func legacy() throws {
    let names = (0..<5_000).map { GroupName("g\($0)") }
    let old = Self.state(names.count)
    var rows = old.rows
    let first = RowReference(bucket: 1, key: [0, 77, 9])
    rows[first] = ModelRow(
      places: ["g77": [0]], content: RowContent(object: 0, metadata: nil, touched: 0))
    rows[RowReference(bucket: 1, key: [0, 78, 0])]?.places = ["g78": [5]]
    let new = ModelIndex(commit: 2, rows: rows)
    let mappings = Mappings(of: "model", groups: names).range(.fixed(length: 2))
    var cursor = MappingCursor(mappings)
    _ = try cursor.reset(to: old, at: 1)
    let change = try cursor.advance(to: new, by: affectedRows(from: old, to: new))
    #expect(try change.legacy().rows.map(\.kind) == [.delete, .delete, .insert, .insert])
    let later = try #require(change.before.later)
    #expect(later.slotsChanged == [77, 78])
    // Rows that left or entered a range are found in no other group.
    let elsewhere = Change(
      before: ShownRows(
        commit: 1, layout: change.before.layout, groups: new,
        later: .init(affected: later.affected, places: later.places, slotsChanged: [79])),
      after: change.after, changeset: change.changeset)
    #expect(try elsewhere.legacy().rows.map(\.kind) == [.delete, .insert])
    // No row is affected, but the range of every group changes.
    let edited = try cursor.advance(
      to: new, by: AffectedRows(from: 2, to: 2), mappings: mappings.range(.fixed(length: 1)),
      limit: .max)
    #expect(try edited.legacy().rows.map(\.kind) == names.map { _ in .delete })
  }

  @Test("Groups that come and go leave nothing behind, unless their window is carried")
  func forgotten() throws {
    func state(_ commit: CommitNumber) -> ModelIndex {
      var rows: [RowReference: ModelRow] = [:]
      for (number, group) in ["stays", "g\(commit)"].enumerated() {
        rows[RowReference(bucket: 1, key: [UInt8(number)])] = ModelRow(
          places: [GroupName(group): [1]],
          content: RowContent(object: 0, metadata: nil, touched: 0))
      }
      return ModelIndex(commit: commit, rows: rows)
    }
    let all = Mappings(of: "model", groupsWhere: { _ in true })
    for (mappings, kept) in [(all, 3), (all.range(.flexible(length: 1)), 201)] {
      var cursor = MappingCursor(mappings)
      var old = state(1)
      _ = try cursor.reset(to: old, at: 1)
      for commit in 2...200 as ClosedRange<CommitNumber> {
        let new = state(commit)
        let change = try cursor.advance(to: new, by: affectedRows(from: old, to: new))
        #expect(change.after.visibleGroups.sorted() == [GroupName("g\(commit)"), "stays"])
        #expect(change.after.layout.table.names.count <= kept)
        old = new
      }
    }
  }

  @Test(
    "A shared array equals its source, and a change of a copy leaves the original")
  func sharedArray() {
    for count in [0, 1, 31, 32, 33, 1023, 1024, 1025, 3000] {
      var plain = Array(0..<count)
      let original = SharedArray(plain)
      #expect(Array(original) == plain)
      var copy = original
      for index in stride(from: 0, to: count, by: 97) {
        copy[index] = -index
        plain[index] = -index
      }
      #expect(Array(copy) == plain)
      #expect(Array(original) == Array(0..<count))
    }
  }
}
