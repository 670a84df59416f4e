import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

/// The range of a group by the words of the contract, fixed or flexible, carried from list to list.
struct NaiveRange {
  let options: RangeOptions
  private var window: NaiveWindow

  init(_ options: RangeOptions, count: Int) {
    self.options = options
    window = NaiveWindow(options, count: count)
  }

  /// - Parameter isSame: returns whether a row's sort key is equal at both ends.
  mutating func carry(
    from old: [RowReference], to new: [RowReference], isSame: (RowReference) -> Bool
  ) {
    if options.isFlexible {
      window.carry(options, from: old, to: new, isSame: isSame)
    } else {
      window = NaiveWindow(options, count: new.count)
    }
  }

  /// Its position in a group of a given number of rows.
  func position(_ count: Int) -> RangePosition {
    let missing =
      options.isFlexible
      ? (window.shown == nil ? window.waiting - count : 0) : max(0, options.offset - count)
    let shown = window.shown ?? (options.pin == .beginning ? count..<count : 0..<0)
    return RangePosition(
      offsetFromBeginning: shown.lowerBound, offsetFromEnd: count - shown.upperBound,
      length: shown.count, missing: missing)
  }
}

/// Every single change of two small groups under every setting of a range, as a changeset.
///
/// A changeset depends on the setting only through the rows shown before and after. So of all
/// settings that show the same rows, the test checks all properties of the first one; the others
/// must give the same changeset. For each setting it compares the shown rows with the naive range.
///
/// A sweep tries all settings; `swift test` tries a few in turn for each change.
@Suite("Every range setting, every single change")
struct RangeSweepTests {
  typealias State = WindowTests.State

  /// The rows shown before and after.
  struct Ends: Hashable {
    let before: RangePosition
    let after: RangePosition
  }

  @Test("The changeset is valid and minimal, and windows follow the rules")
  func everyChange() async {
    let cases = await withTaskGroup(of: (cases: Int, checked: Int).self) { tasks in
      for windowed in 0...5 {
        for plain in 0...5 { tasks.addTask { Self.check(windowed, plain) } }
      }
      return await tasks.reduce(into: (cases: 0, checked: 0)) {
        $0 = ($0.cases + $1.cases, $0.checked + $1.checked)
      }
    }
    print("ranges: \(cases.cases) single changes, \(cases.checked) of them by every property")
    if isSweep, SweepPart.current.isWhole { #expect(cases.cases == 4_397_328) }
  }

  /// Checks every single change of groups of a given number of rows.
  private static func check(_ windowed: Int, _ plain: Int) -> (cases: Int, checked: Int) {
    var sum = (cases: 0, checked: 0)
    let old = State(windowed, plain)
    var starts: [Int: [MappingCursor]] = [:]
    for (index, new) in old.neighbors(fresh: 50).enumerated() {
      guard SweepPart.current.contains(index) else { continue }
      let turn = index * 37 + windowed * 6 + plain
      let settings = isSweep ? WindowTests.settings : WindowTests.settings(turn: turn, count: 3)
      do {
        let checked = try check(old, new, settings, turn: turn, &starts)
        sum = (sum.cases + settings.count, sum.checked + checked)
      } catch {
        Issue.record("\(old) to \(new): \(error)")
        return sum
      }
    }
    return sum
  }

  /// - Parameter starts: in a sweep, the cursors that show the old state under each setting, by
  ///   kind of mappings; changes of the same state share them.
  /// - Returns: the number of changes for which all properties were checked.
  private static func check(
    _ old: State, _ new: State, _ settings: [RangeOptions], turn: Int,
    _ starts: inout [Int: [MappingCursor]]
  ) throws -> Int {
    let (before, after) = (old.index(at: 1), new.index(at: 2))
    let affected = affectedRows(from: before, to: after)
    var known: [Ends: Changeset] = [:]
    let kind = turn % WindowTests.mappingsCount
    let cursors =
      try starts[kind]
      ?? settings.map { options in
        var cursor = MappingCursor(WindowTests.mappings(options, turn: turn))
        _ = try cursor.reset(to: before, at: 1)
        return cursor
      }
    if isSweep { starts[kind] = cursors }
    for (options, start) in zip(settings, cursors) {
      var cursor = start
      let mappings = cursor.mappings
      let change = try cursor.advance(to: after, by: affected, limit: .max)
      let isReversed = mappings.isReversed("w")
      let lists = (old.displayed("w", isReversed), new.displayed("w", isReversed))
      var range = NaiveRange(options, count: lists.0.count)
      let first = range.position(lists.0.count)
      range.carry(from: lists.0, to: lists.1) { old.key(of: $0) == new.key(of: $0) }
      let ends = Ends(before: first, after: range.position(lists.1.count))
      let isThere =
        change.before.rangePosition(of: "w") == ends.before
        && change.after.rangePosition(of: "w") == ends.after
      try #require(isThere, "\(options), \(old) to \(new)")
      if let expected = known[ends] {
        try #require(change.changeset == expected, "\(options), \(old) to \(new)")
        continue
      }
      let given = ChangeCase(from: NaiveView(mappings, before), to: after, affected: affected)
      let found = violations(of: change, in: given)
      try #require(found.isEmpty, "\(options), \(old) to \(new): \(found)")
      known[ends] = change.changeset
    }
    return known.count
  }
}
