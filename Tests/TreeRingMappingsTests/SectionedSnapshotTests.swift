import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

/// A model of the snapshots of diffable data sources: it records the cases on which those trap.
private struct ModelSnapshot: SectionedSnapshot {
  typealias Member = Placements.Member
  private(set) var sections: [(group: GroupName, members: [Member])] = []
  private(set) var reconfigured: [Member] = []
  private(set) var mistakes: [String] = []

  var sectionIdentifiers: [GroupName] { sections.map(\.group) }
  var members: [[Member]] { sections.map(\.members) }

  private mutating func find(_ group: GroupName) -> Int? {
    let index = sections.firstIndex { $0.group == group }
    if index == nil { mistakes.append("there is no section \(group)") }
    return index
  }

  private mutating func find(_ member: Member) -> (section: Int, row: Int)? {
    for (section, part) in sections.enumerated() {
      if let row = part.members.firstIndex(of: member) { return (section, row) }
    }
    mistakes.append("there is no member \(member)")
    return nil
  }

  private mutating func checkNew(_ members: [Member]) {
    for member in members where indexOfItem(member) != nil {
      mistakes.append("\(member) is there already")
    }
    if Set(members).count != members.count { mistakes.append("a member twice: \(members)") }
  }

  func numberOfItems(inSection section: GroupName) -> Int {
    sections.first { $0.group == section }?.members.count ?? -1
  }
  func indexOfItem(_ member: Member) -> Int? { sections.flatMap(\.members).firstIndex(of: member) }
  mutating func appendSections(_ groups: [GroupName]) {
    for group in groups {
      if sectionIdentifiers.contains(group) { mistakes.append("\(group) is there already") }
      sections.append((group, []))
    }
  }
  mutating func deleteSections(_ groups: [GroupName]) {
    for group in groups { if let index = find(group) { sections.remove(at: index) } }
  }
  mutating func moveSection(_ section: GroupName, beforeSection next: GroupName) {
    guard let from = find(section) else { return }
    let moved = sections.remove(at: from)
    if let to = find(next) { sections.insert(moved, at: to) }
  }
  mutating func moveSection(_ section: GroupName, afterSection last: GroupName) {
    guard let from = find(section) else { return }
    let moved = sections.remove(at: from)
    if let to = find(last) { sections.insert(moved, at: to + 1) }
  }
  mutating func appendItems(_ members: [Member], toSection section: GroupName?) {
    checkNew(members)
    guard let group = section ?? sections.last?.group, let index = find(group) else { return }
    sections[index].members += members
  }
  mutating func insertItems(_ members: [Member], beforeItem next: Member) {
    checkNew(members)
    guard let (section, row) = find(next) else { return }
    sections[section].members.insert(contentsOf: members, at: row)
  }
  mutating func deleteItems(_ members: [Member]) {
    for member in members {
      if let (section, row) = find(member) { sections[section].members.remove(at: row) }
    }
  }
  mutating func reconfigureItems(_ members: [Member]) {
    for member in members where find(member) != nil { reconfigured.append(member) }
  }
  mutating func forgetReconfigured() { reconfigured = [] }
}

@Suite("Snapshots of diffable data sources, on a model of them")
struct SectionedSnapshotTests {
  private func members(_ shown: ShownRows) throws -> [[Placements.Member]] {
    try shown.sections.map { section in
      try section.indices.map { row in
        let path = RowPath(section: section.index, row: row)
        return Placements.Member(
          group: try #require(shown.group(at: path)), row: try #require(try shown.row(at: path)))
      }
    }
  }

  @Test("An edited snapshot shows the state after each change, without a call that traps")
  func edited() throws {
    for seed in seeds(1...300) {
      var maker = CaseMaker(seed: seed)
      var cursor = MappingCursor(maker.mappings())
      var state = maker.state(at: 5)
      var snapshot = ModelSnapshot()
      try snapshot.show(try cursor.reset(to: state, at: 5))
      for _ in 0..<5 {
        let next = maker.successor(of: state)
        let change = try cursor.advance(
          to: next, by: affectedRows(from: state, to: next), limit: .max)
        snapshot.forgetReconfigured()
        try snapshot.show(change)
        #expect(snapshot.mistakes.isEmpty, "seed \(seed): \(snapshot.mistakes)")
        #expect(snapshot.sectionIdentifiers == change.after.visibleGroups, "seed \(seed)")
        #expect(try snapshot.members == members(change.after), "seed \(seed)")
        #expect(snapshot.reconfigured.map(\.row) == change.rows.updates.map(\.row), "seed \(seed)")
        state = next
      }
    }
  }

  @Test("A snapshot that lacks a change's rows is filled from scratch, whatever its count")
  func filledAnew() throws {
    let states = [[1, 2, 3], [1, 3], [0, 1, 3]].enumerated().map {
      MappingsTests.index($1, at: CommitNumber($0 + 1))
    }
    var cursor = MappingCursor(Mappings(of: "model", groups: ["g"]))
    _ = try cursor.reset(to: states[0], at: 1)
    let deletion = try cursor.advance(
      to: states[1], by: affectedRows(from: states[0], to: states[1]))
    let insertion = try cursor.advance(
      to: states[2], by: affectedRows(from: states[1], to: states[2]))
    func other(_ rows: [UInt8]) -> ModelSnapshot {
      var snapshot = ModelSnapshot()
      snapshot.appendSections(["g"])
      snapshot.appendItems(
        rows.map {
          Placements.Member(group: "g", row: RowID(bucket: "other", key: Key(bytes: [$0])))
        },
        toSection: "g")
      return snapshot
    }
    for (change, rows) in [(deletion, [7, 8, 9]), (insertion, [7, 8])] as [(Change, [UInt8])] {
      for rows in [rows, rows + [10]] {
        var snapshot = other(rows)
        try snapshot.show(change)
        #expect(snapshot.mistakes.isEmpty)
        #expect(try snapshot.members == members(change.after))
      }
    }
  }
}
