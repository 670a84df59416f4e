import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

/// Two groups, `w` through a range and `p` whole, of at most five rows each. All single changes of
/// them, and for flexible ranges all pairs of changes.
@Suite("Ranges of small groups")
struct WindowTests {
  /// Every setting with length ≤ 3, offset ≤ 2 and both pins: fixed, and flexible with all growths
  /// and with minimum and maximum ≤ 3.
  static let settings: [RangeOptions] = {
    var all = flexibleSettings
    for length in 0...3 {
      for offset in 0...2 {
        for pin in [RangeOptions.Pin.beginning, .end] {
          all.append(.fixed(length: length, offset: offset, pin: pin))
        }
      }
    }
    return all
  }()

  static let flexibleSettings: [RangeOptions] = {
    var all: [RangeOptions] = []
    for length in 0...3 {
      for offset in 0...2 {
        for pin in [RangeOptions.Pin.beginning, .end] {
          for growth in RangeOptions.Growth.allCases {
            for fewest in 0...3 {
              for most in [0, 1, 2, 3, Int.max] {
                all.append(
                  .flexible(
                    length: length, offset: offset, pin: pin, min: fewest, max: most,
                    growing: growth))
              }
            }
          }
        }
      }
    }
    return all
  }()

  /// The rows of both groups with their keys.
  struct State: Hashable {
    var keys: [GroupName: [UInt8: UInt8]] = ["w": [:], "p": [:]]
    /// The rows whose content differs from the start.
    private var rewritten: Set<UInt8> = []

    init(_ windowed: Int, _ plain: Int) {
      for row in 0..<UInt8(windowed) { keys["w"]?[row] = 10 * (row + 1) }
      for row in 0..<UInt8(plain) { keys["p"]?[100 + row] = 10 * (row + 1) }
    }

    func rows(_ group: GroupName) -> [RowReference] {
      (keys[group] ?? [:]).sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        .map { RowReference(bucket: 1, key: [$0.key]) }
    }

    func displayed(_ group: GroupName, _ isReversed: Bool) -> [RowReference] {
      isReversed ? rows(group).reversed() : rows(group)
    }

    /// The sort key of a row of the windowed group.
    func key(of row: RowReference) -> UInt8? { keys["w"]?[row.key[0]] }

    func index(at commit: CommitNumber) -> ModelIndex {
      var rows: [RowReference: ModelRow] = [:]
      for (group, members) in keys {
        for (row, key) in members {
          rows[RowReference(bucket: 1, key: [row])] = ModelRow(
            places: [group: [key]],
            content: RowContent(
              object: rewritten.contains(row) ? 1 : 0, metadata: nil, touched: 0))
        }
      }
      return ModelIndex(commit: commit, rows: rows)
    }

    /// Every state one change away: a row deleted, inserted, rewritten, re-keyed without passing
    /// another, or moved within its group or to the other one.
    func neighbors(fresh: UInt8) -> [State] {
      var all: [State] = []
      func add(_ change: (inout State) -> Void) {
        var copy = self
        change(&copy)
        all.append(copy)
      }
      for (group, other) in [("w", "p"), ("p", "w")] as [(GroupName, GroupName)] {
        let places = (0...(keys[group]?.count ?? 0)).map { self.gap($0, in: group) }
        for key in places { add { $0.keys[group]?[fresh] = key } }
        for row in (keys[group] ?? [:]).keys.sorted() {
          add { $0.keys[group]?[row] = nil }
          add { $0.rewritten.formSymmetricDifference([row]) }
          add { $0.keys[group]?[row]? += 1 }
          for key in places { add { $0.keys[group]?[row] = key } }
          for place in 0...(keys[other]?.count ?? 0) {
            add {
              $0.keys[group]?[row] = nil
              $0.keys[other]?[row] = self.gap(place, in: other)
            }
          }
        }
      }
      return all
    }

    /// A key before the row at a position.
    private func gap(_ position: Int, in group: GroupName) -> UInt8 {
      let sorted = (keys[group] ?? [:]).values.sorted()
      return position < sorted.count ? sorted[position] - 3 : (sorted.last ?? 5) + 3
    }
  }

  /// Mappings of one of `mappingsCount` kinds, by turns.
  static func mappings(_ range: RangeOptions, turn: Int) -> Mappings {
    Mappings(of: "model", groups: turn & 1 == 0 ? ["w", "p"] : ["p", "w"])
      .range(range, of: "w").reversed("w", turn & 2 != 0).hidingEmptySections(turn & 4 != 0)
      .drawn(withNeighborsAt: turn & 8 != 0 ? [-1, 2] : [], in: "w")
  }

  static let mappingsCount = 16

  /// The alignment that carries a window from one state of a group to the next.
  static func alignment(_ old: State, _ new: State) throws -> Alignment {
    let (before, after) = (old.index(at: 1), new.index(at: 2))
    let table = GroupTable(["w"])
    var cache = GroupCache(after, table: table)
    let places = try AffectedPlaces(
      affectedRows(from: before, to: after), table: table, in: &cache)
    return places.staying(places.delta(of: 0))
  }

  @Test("Each row of the table: length and offset after a single change")
  func table() {
    for pin in [RangeOptions.Pin.beginning, .end] {
      for growth in RangeOptions.Growth.allCases {
        for count in 1...6 {
          for start in 0..<count {
            for end in (start + 1)...count {
              checkTable(pin, growth, count, start..<end)
            }
          }
        }
      }
    }
  }

  private func checkTable(
    _ pin: RangeOptions.Pin, _ growth: RangeOptions.Growth, _ count: Int, _ shown: Range<Int>
  ) {
    let offset = pin == .beginning ? shown.lowerBound : count - shown.upperBound
    let options = RangeOptions.flexible(
      length: shown.count, offset: offset, pin: pin, growing: growth)
    let atBeginning = pin == .beginning
    let startGrows =
      growth == .bothSides || growth == (atBeginning ? .pinSide : .nonPinSide)
    let endGrows = growth == .bothSides || growth == (atBeginning ? .nonPinSide : .pinSide)
    func check(_ change: Alignment, _ newCount: Int, rows: Int, begin: Int, end: Int) {
      var window = Window(options, count: count)
      window.carry(options, over: change, from: count, to: newCount, isReversed: false)
      let expected = (offset + (atBeginning ? begin : end), shown.count + rows)
      // A window that lost its last row is a gap at the same position.
      #expect((window.offset, window.length) == expected, "\(options), \(count), \(change)")
    }
    for index in 0..<count {
      let change = Alignment(removed: [index])
      if index < shown.lowerBound {
        check(change, count - 1, rows: 0, begin: -1, end: 0)
      } else if index < shown.upperBound {
        check(change, count - 1, rows: -1, begin: 0, end: 0)
      } else {
        check(change, count - 1, rows: 0, begin: 0, end: -1)
      }
    }
    for index in 0...count {
      let change = Alignment(added: [index])
      switch index {
      case ..<shown.lowerBound: check(change, count + 1, rows: 0, begin: 1, end: 0)
      case shown.lowerBound where startGrows:
        check(change, count + 1, rows: 1, begin: 0, end: 0)
      case shown.lowerBound: check(change, count + 1, rows: 0, begin: 1, end: 0)
      case ..<shown.upperBound: check(change, count + 1, rows: 1, begin: 0, end: 0)
      case shown.upperBound where endGrows:
        check(change, count + 1, rows: 1, begin: 0, end: 0)
      default: check(change, count + 1, rows: 0, begin: 0, end: 1)
      }
    }
  }

  /// A window computed in both ways, in one display order.
  struct Pair {
    let options: RangeOptions
    let isReversed: Bool
    var window: Window
    var naive: NaiveWindow

    init(_ options: RangeOptions, isReversed: Bool, count: Int) {
      self.options = options
      self.isReversed = isReversed
      window = Window(options, count: count)
      naive = NaiveWindow(options, count: count)
    }

    /// Carries both, and returns whether they agree.
    mutating func carry(from old: State, to new: State, over change: Alignment) -> Bool {
      let lists = (old: old.rows("w"), new: new.rows("w"))
      window.carry(
        options, over: change, from: lists.old.count, to: lists.new.count, isReversed: isReversed)
      naive.carry(
        options, from: isReversed ? lists.old.reversed() : lists.old,
        to: isReversed ? lists.new.reversed() : lists.new,
        isSame: { old.keys["w"]?[$0.key[0]] == new.keys["w"]?[$0.key[0]] })
      let shown = window.ranks(options, count: lists.new.count, isReversed: false)
      return naive.shown.map { $0 == shown }
        ?? (window.length == 0 && window.offset == naive.waiting)
    }
  }

  /// The states one change away that differ in the windowed group.
  static func windowed(_ state: State, fresh: UInt8) -> [State] {
    var seen: Set<[UInt8: UInt8]> = []
    return state.neighbors(fresh: fresh).filter { seen.insert($0.keys["w"] ?? [:]).inserted }
  }

  @Test(
    "Windows follow the rules, for every setting and change; in a sweep, every pair"
  )
  func everySetting() throws {
    var number = 0
    var cases = 0
    for count in 0...5 {
      let old = State(count, 1)
      for new in Self.windowed(old, fresh: 50) {
        number += 1
        guard SweepPart.current.contains(number) else { continue }
        let change = try Self.alignment(old, new)
        let next = isSweep ? Self.windowed(new, fresh: 51) : []
        let further = try next.map { ($0, try Self.alignment(new, $0)) }
        for options in Self.flexibleSettings {
          for isReversed in [false, true] {
            cases += 1 + further.count
            var pair = Pair(options, isReversed: isReversed, count: count)
            let agrees = pair.carry(from: old, to: new, over: change)
            #expect(agrees, "\(old) to \(new): \(pair)")
            if !agrees { return }
            for (last, change) in further {
              var pair = pair
              let agrees = pair.carry(from: new, to: last, over: change)
              #expect(agrees, "\(old) to \(new) to \(last): \(pair)")
              if !agrees { return }
            }
          }
        }
      }
    }
    print("windows: \(cases) windows carried on")
  }

  /// A given number of settings, in turn.
  static func settings(turn: Int, count: Int) -> [RangeOptions] {
    (0..<count).map { settings[(turn * count + $0) * 1_009 % settings.count] }
  }

  @Test("Pairs of changes, one by one and merged, are valid and minimal")
  func pairs() async {
    let cases = await withTaskGroup(of: Int.self) { tasks in
      for windowed in 0...5 {
        for plain in 0...5 { tasks.addTask { Self.checkPairs(windowed, plain) } }
      }
      return await tasks.reduce(0, +)
    }
    print("windows: \(cases) pairs of changes")
  }

  /// Checks pairs of changes of groups of a given number of rows. In a sweep all pairs, under one
  /// setting for each way to show rows before, in between and after; otherwise some pairs under two
  /// settings.
  private static func checkPairs(_ windowed: Int, _ plain: Int) -> Int {
    var cases = 0
    let first = State(windowed, plain)
    for (index, second) in first.neighbors(fresh: 50).enumerated() {
      guard SweepPart.current.contains(index) else { continue }
      for (number, third) in second.neighbors(fresh: 51).enumerated() {
        let turn = index * 131 + number * 36 + windowed * 6 + plain
        guard isSweep || turn % 181 == 0 else { continue }
        let states = [first, second, third]
        let settings =
          isSweep
          ? differing(states, isReversed: mappings(settings[0], turn: turn).isReversed("w"))
          : settings(turn: turn / 181, count: 2)
        do {
          for options in settings { try checkPair(states, mappings(options, turn: turn)) }
        } catch {
          Issue.record("\(states): \(error)")
          return cases
        }
        cases += settings.count
      }
    }
    return cases
  }

  /// The first setting for each way to show rows in all states.
  private static func differing(_ states: [State], isReversed: Bool) -> [RangeOptions] {
    let lists = states.map { $0.displayed("w", isReversed) }
    var seen: Set<[RangePosition]> = []
    return settings.filter { options in
      var range = NaiveRange(options, count: lists[0].count)
      var shown = [range.position(lists[0].count)]
      for (old, new) in [(0, 1), (1, 2)] {
        range.carry(from: lists[old], to: lists[new]) {
          states[old].key(of: $0) == states[new].key(of: $0)
        }
        shown.append(range.position(lists[new].count))
      }
      return seen.insert(shown).inserted
    }
  }

  private static func checkPair(_ states: [State], _ mappings: Mappings) throws {
    let indexes = states.enumerated().map { $1.index(at: CommitNumber($0 + 1)) }
    var cursor = MappingCursor(mappings)
    _ = try cursor.reset(to: indexes[0], at: 1)
    var view = NaiveView(mappings, indexes[0])
    let whole = ChangeCase(from: view, to: indexes[2])
    for next in indexes.dropFirst() {
      let given = ChangeCase(from: view, to: next)
      let found = violations(of: try cursor.advance(to: next, by: given.affected), in: given)
      try #require(found.isEmpty, "\(mappings): \(found)")
      view = given.newView
    }
    let found = violations(whole)
    try #require(found.isEmpty, "\(mappings), at once: \(found)")
  }
}
