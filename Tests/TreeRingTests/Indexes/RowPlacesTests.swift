// A row's places in one index: lists in group order, compared in one pass, whatever the number of
// groups.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Places of a row", .leavesSoundStores)
struct RowPlacesTests {
  private static func places(_ keys: [Int?]) -> [EncodedPlace] {
    keys.enumerated().compactMap { group, key in
      key.map { EncodedPlace(group: GroupName("g\(group)"), sortKey: [UInt8($0)]) }
    }
  }

  /// Every list of places in three groups with two sort keys.
  private static let all: [[EncodedPlace]] = {
    let keys: [Int?] = [nil, 1, 2]
    return keys.flatMap { a in keys.flatMap { b in keys.map { places([a, b, $0]) } } }
  }()

  @Test("The difference of two lists has each group that differs once")
  func differences() {
    for old in Self.all {
      for new in Self.all {
        var found: [(EncodedPlace?, EncodedPlace?)] = []
        [EncodedPlace].forEachDifference(from: old, to: new) { found.append(($0, $1)) }
        #expect(found.compactMap(\.0) == old.filter { !new.contains($0) })
        #expect(found.compactMap(\.1) == new.filter { !old.contains($0) })
        #expect(Set(found.compactMap { ($0.0 ?? $0.1)?.group }).count == found.count)
      }
    }
  }

  @Test("A place is replaced in its group, and only there")
  func replacing() {
    for list in Self.all {
      for group in 0..<3 {
        let place = EncodedPlace(group: GroupName("g\(group)"), sortKey: [9])
        var changed = list
        changed.replace(with: place)
        #expect(changed == list.map { $0.group == place.group ? place : $0 })
      }
    }
  }

  @Test("A row in thousands of groups is put, moved in some, removed from some, and deleted")
  func manyGroups() throws {
    let groups = 2_000
    let index = GroupIndex("numbers", on: notes, version: 1) { (note: Note) in
      (0..<groups).filter { $0 % max(1, note.number) == 0 }.map {
        Place(in: "g\($0)", by: .ascending($0 % 3 == 0 ? note.text : ""))
      }
    }
    let store = try Store.inMemory(indexes: [index])
    func check(_ count: Int) throws {
      let reader = try store.snapshot().index("numbers")
      #expect(try reader.groups().count == count)
    }
    let start = try store.snapshot()
    try store.put(Note(number: 1, text: "a"), for: "row")
    try check(groups)
    try store.put(Note(number: 1, text: "b"), for: "row")
    try check(groups)
    try store.put(Note(number: 2, text: "b"), for: "row")
    try check(groups / 2)
    let middle = try store.snapshot()
    let rows = try store.affectedRows(ofIndex: "numbers", from: start, to: middle).rows
    #expect(rows.values.first?.newPlaces.count == groups / 2)
    try store.write { try $0.delete("row", in: notes) }
    try check(0)
    #expect(try store.checkInvariants() == [])
  }
}
