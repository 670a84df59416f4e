// Sections with twin names: texts that look alike but differ in their bytes.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

@Suite("Names of sections", .leavesSoundStores) struct SectionNameTests {
  private static let twins = ["caf\u{E9}", "cafe\u{301}"]

  private func spelled(_ text: some CustomStringConvertible) -> String {
    text.description.unicodeScalars.map { $0.escaped(asASCII: true) }.joined()
  }

  @Test("Twin groups of twin indexes are two sections, and observers distinguish them")
  func twins() throws {
    let store = try Store.inMemory()
    let bucket = Bucket<[UInt8]>.bytes("rows")
    let (one, two) = (Self.twins[0], Self.twins[1])
    for name in Self.twins { try store.define(name, ManualIndex(on: "rows")) }
    try store.write { tx in
      for key in Self.twins {
        try tx.put(Array("{}".utf8), for: Key(key), in: bucket)
        for name in Self.twins {
          try tx.group(GroupName(key), of: name).append(RowID(bucket: "rows", key: Key(key)))
        }
      }
    }
    let groups = Self.twins.map { GroupName($0) }
    var observer = store.observer(of: Mappings(of: one, groups: groups + groups))
    let shown = try observer.advance().after
    #expect(shown.outline.map { spelled($0.group) } == Self.twins.map { spelled($0) })
    #expect(shown.outline.map(\.count) == [1, 1])
    // A change of the twin index does not affect this one.
    try store.write { tx in
      try tx.group(GroupName(one), of: two).remove(RowID(bucket: "rows", key: Key(one)))
    }
    #expect(try observer.advance().isEmpty)
    // A row that moves from a group to its twin moves from section to section.
    try store.write { tx in
      let row = RowID(bucket: "rows", key: Key(one))
      try tx.group(GroupName(one), of: one).remove(row)
      try tx.group(GroupName(two), of: one).insert(row, at: 0)
    }
    let change = try observer.advance()
    #expect(change.rows.moves.count == 1 || change.rows.deletes.count == 1)
    #expect(change.after.outline.map(\.count) == [0, 2])
    // Positions of the twins are different, and belong to their own index.
    let position = try #require(observer.position)
    var other = store.observer(of: Mappings(of: two, groups: groups))
    _ = try other.advance()
    #expect(try #require(other.position) != position)
    var resumed = store.observer(of: Mappings(of: two, groups: groups), from: position)
    #expect(try resumed.advance().isReset)
    try store.close()
  }
}
