import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

@Suite("Minimal changesets")
struct MinimalChangesetTests {
  @Test("Random changes are valid and minimal, and every form leads to the new state")
  func randomChanges() {
    for seed in seeds(1...3_000) {
      var maker = CaseMaker(seed: seed)
      let given = maker.changeCase()
      let found = violations(given)
      #expect(found.isEmpty, "seed \(seed): \(found)")
      if !found.isEmpty { return }
    }
  }

  @Test("Merged change records give the changeset of the two end states")
  func merging() throws {
    for seed in seeds(1...500) {
      let found = try Self.mergeViolations(seed: seed)
      #expect(found.isEmpty, "seed \(seed): \(found)")
      if !found.isEmpty { return }
    }
  }

  /// All violations by changes from merged records.
  private static func mergeViolations(seed: UInt64) throws -> [String] {
    var problems: [String] = []
    var maker = CaseMaker(seed: seed)
    let mappings = maker.mappings()
    var states = [maker.state(at: 5)]
    for _ in 0..<4 { states.append(maker.successor(of: states[states.count - 1])) }
    let records = zip(states, states.dropFirst()).map { affectedRows(from: $0, to: $1) }
    let last = states[states.count - 1]
    var all = records[0]
    for record in records.dropFirst() { all.merge(record) }
    let forward = affectedRows(from: states[0], to: last)
    if try change(mappings, from: states[0], all, last)
      != change(mappings, from: states[0], forward, last)
    {
      problems.append("forward")
    }
    let backward = affectedRows(from: last, to: states[0])
    if try change(mappings, from: last, all.reversed, states[0])
      != change(mappings, from: last, backward, states[0])
    {
      problems.append("backward")
    }
    for cuts in 0..<8 {
      var cursor = MappingCursor(mappings)
      _ = try cursor.reset(to: states[0], at: states[0].commit)
      var view = NaiveView(mappings, states[0])
      var pending: AffectedRows?
      for (index, record) in records.enumerated() {
        var merged = pending ?? record
        if pending != nil { merged.merge(record) }
        pending = merged
        guard index == 3 || cuts & (1 << index) != 0 else { continue }
        let given = ChangeCase(from: view, to: states[index + 1], affected: merged)
        let next = try cursor.advance(to: states[index + 1], by: merged, limit: .max)
        problems += violations(of: next, in: given).map { "cuts \(cuts): \($0)" }
        if !problems.isEmpty { return problems }
        view = given.newView
        pending = nil
      }
    }
    return problems
  }

  private static func change(
    _ mappings: Mappings, from old: ModelIndex, _ affected: AffectedRows, _ new: ModelIndex
  ) throws -> Changeset {
    var cursor = MappingCursor(mappings)
    _ = try cursor.reset(to: old, at: old.commit)
    return try cursor.advance(to: new, by: affected, limit: .max).changeset
  }

  @Test("Rows that a commit writes without changing them cost no operation")
  func supersets() throws {
    for seed in seeds(1...500) {
      var maker = CaseMaker(seed: seed)
      let given = maker.changeCase()
      let everything = ChangeCase(
        old: given.old, new: given.new, oldMappings: given.oldMappings,
        newMappings: given.newMappings,
        affected: affectedRows(from: given.old, to: given.new, extra: Set(given.old.rows.keys)))
      #expect(
        try everything.change().changeset == given.change().changeset, "seed \(seed)")
    }
  }

  @Test("Commits and changes of mappings may come in any order, in either direction")
  func interleaving() throws {
    for seed in seeds(1...300) {
      let found = try Self.interleavingViolations(seed: seed)
      #expect(found.isEmpty, "seed \(seed): \(found)")
      if !found.isEmpty { return }
    }
  }

  /// The first violation on a way through some states, with changing mappings and ranges.
  private static func interleavingViolations(seed: UInt64) throws -> [(Property, String)] {
    var maker = CaseMaker(seed: seed)
    var mappings = maker.mappings()
    var states = [maker.state(at: 5)]
    for _ in 0..<5 { states.append(maker.successor(of: states[states.count - 1])) }
    var view = NaiveView(mappings, states[0])
    var cursor = MappingCursor(mappings)
    let first = try cursor.reset(to: states[0], at: states[0].commit)
    #expect(first.isReset)
    #expect(first.after.outline == view.list.sections)
    for turn in 0..<12 {
      let edited = maker.chance(2) ? maker.edited(mappings) : mappings
      let edits = maker.chance(2) ? maker.rangeEdits(edited) : []
      let next =
        maker.chance(3)
        ? view.index : states[Int.random(in: 0..<states.count, using: &maker.random)]
      let given = ChangeCase(from: view, to: next, mappings: edited, edits: edits)
      let change = try cursor.advance(
        to: next, by: given.affected, mappings: edited, edits: edits, limit: .max)
      let found = violations(of: change, in: given)
      if !found.isEmpty { return found.map { ($0.0, "turn \(turn): \($0.1)") } }
      view = given.newView
      mappings = view.mappings
    }
    return []
  }

  @Test("Long histories with all features, delivered in any portions")
  func longHistories() throws {
    for seed in seeds(1...12) {
      var maker = CaseMaker(seed: seed)
      var mappings = maker.mappings()
      var state = maker.state(at: 5)
      var view = NaiveView(mappings, state)
      var cursor = MappingCursor(mappings)
      _ = try cursor.reset(to: state, at: state.commit)
      for turn in 0..<120 {
        var affected = AffectedRows(from: state.commit, to: state.commit)
        for _ in 0..<Int.random(in: 0...3, using: &maker.random) {
          let next = maker.successor(of: state)
          affected.merge(affectedRows(from: state, to: next))
          state = next
        }
        if maker.chance(6) { mappings = maker.edited(mappings) }
        let edits = maker.chance(5) ? maker.rangeEdits(mappings) : []
        let given = ChangeCase(
          from: view, to: state, mappings: mappings, affected: affected, edits: edits)
        let change = try cursor.advance(
          to: state, by: affected, mappings: mappings, edits: edits, limit: .max)
        let found = violations(of: change, in: given)
        #expect(found.isEmpty, "seed \(seed), turn \(turn): \(found)")
        if !found.isEmpty { return }
        view = given.newView
        mappings = view.mappings
      }
    }
  }

  @Test("After a replaced definition the change is minimal and windows keep their position")
  func definedAnew() throws {
    for seed in seeds(1...500) {
      var maker = CaseMaker(seed: seed)
      let mappings = maker.mappings()
      let old = maker.state(at: 5)
      let new = maker.successor(of: maker.successor(of: old))
      let given = ChangeCase(from: NaiveView(mappings, old), to: new, isDefinedAnew: true)
      var cursor = MappingCursor(mappings)
      _ = try cursor.reset(to: old, at: old.commit)
      let change = try cursor.advance(
        to: new, by: given.affected, isDefinedAnew: true, limit: .max)
      let found = violations(of: change, in: given)
      #expect(found.isEmpty, "seed \(seed): \(found)")
      if !found.isEmpty { return }
    }
  }

  @Test("A change over the limit is a reset; at the limit it is a changeset")
  func limit() {
    for seed in seeds(1...300) {
      var maker = CaseMaker(seed: seed)
      let found = limitViolations(maker.changeCase())
      #expect(found.isEmpty, "seed \(seed): \(found)")
    }
  }

  @Test("A change reads the index in proportion to the affected rows, whatever the number of rows")
  func reads() throws {
    var random = SeededGenerator(seed: 1)
    for count in [500, 20_000] {
      var rows: [RowReference: ModelRow] = [:]
      func row(_ random: inout SeededGenerator) -> ModelRow {
        let key = UInt32.random(in: 0..<1_000_000, using: &random)
        return ModelRow(
          places: ["g": withUnsafeBytes(of: key.bigEndian) { Array($0) }],
          content: RowContent(object: random.next(), metadata: nil, touched: 0))
      }
      func reference(_ number: Int) -> RowReference {
        RowReference(bucket: 1, key: withUnsafeBytes(of: number.bigEndian) { Array($0) })
      }
      for number in 0..<count { rows[reference(number)] = row(&random) }
      let old = ModelIndex(commit: 1, rows: rows)
      for affectedCount in [1, 10, 100] {
        var edited = rows
        for _ in 0..<affectedCount {
          let number = Int.random(in: 0..<(count * 5 / 4), using: &random)
          edited[reference(number)] = Bool.random(using: &random) ? nil : row(&random)
        }
        let new = ModelIndex(commit: 2, rows: edited)
        let affected = affectedRows(from: old, to: new)
        let whole = Mappings(of: "model", groups: ["g"])
        for mappings in [whole, whole.range(.fixed(length: 50, offset: count / 2), of: "g")] {
          var cursor = MappingCursor(mappings)
          _ = try cursor.reset(to: old, at: 1)
          let before = new.reads.value
          let change = try cursor.advance(to: new, by: affected, limit: .max)
          // At most two ranks for each affected row, and a lookup for each listed row that is not
          // affected.
          #expect(new.reads.value - before <= 2 * affected.rows.count + change.changeset.count)
          #expect(change.changeset.count <= 4 * affected.rows.count)
        }
      }
    }
  }
}
