import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

/// A line of the model: a section's own, or a row's.
private enum Line: Hashable {
  case section(GroupName)
  case row(RowID)
}

/// A view of lines that takes edits one after the other, and asks for the contents of new lines at
/// the end.
@MainActor
private final class LineView: LineListView {
  var lines: [Line] = []
  weak var driver: LineDriver?
  var isOnScreen = true
  var refusals: [String] = []
  var reloads = 0
  var animations = 0
  var refreshed: [Line] = []

  var displayedLineCount: Int { lines.count }

  /// The contents of the data source.
  private var source: [Line] {
    guard let driver else { return [] }
    return (0..<driver.lines.count).compactMap { line in
      guard let (section, row) = driver.lines.place(ofLine: line) else { return nil }
      guard let row else { return .section(driver.displayed.outline[section].group) }
      return .row(driver.displayed.sections[section][row])
    }
  }

  func perform(_ edits: [FlatList.Edit]) {
    animations += 1
    var moment = lines.map(Optional.some)
    for edit in edits {
      switch edit {
      case .remove(let range) where range.clamped(to: moment.indices) == range:
        moment.removeSubrange(range)
      case .insert(let range) where range.lowerBound >= 0 && range.lowerBound <= moment.count:
        moment.insert(contentsOf: range.map { _ in nil }, at: range.lowerBound)
      case .move(let from, let to)
      where moment.indices.contains(from) && moment.indices.contains(to):
        moment.insert(moment.remove(at: from), at: to)
      default: refusals.append("\(edit) with \(moment.count) lines")
      }
    }
    let source = source
    guard moment.count == source.count else {
      refusals.append("\(source.count) lines afterwards, \(moment.count) by the edits")
      return
    }
    lines = zip(moment, source).map { $0 ?? $1 }
  }

  func refresh(_ lines: [Int]) { refreshed += lines.map { self.lines[$0] } }

  func reloadEverything() {
    reloads += 1
    lines = source
  }
}

@Suite("The driver of views that only have lines")
@MainActor
struct LineDriverTests {
  @Test("A driven view accepts every edit and ends with the rows shown")
  func accepted() throws {
    for seed in seeds(1...200) {
      var maker = CaseMaker(seed: seed)
      var cursor = MappingCursor(maker.mappings())
      var state = maker.state(at: 5)
      let driver = LineDriver(showingSections: maker.chance(2))
      let view = LineView()
      view.driver = driver
      driver.apply(try cursor.reset(to: state, at: 5), to: view)
      for _ in 0..<5 {
        let next = maker.successor(of: state)
        let change = try cursor.advance(
          to: next, by: affectedRows(from: state, to: next), limit: .max)
        view.refreshed = []
        driver.apply(change, to: view)
        #expect(view.refusals.isEmpty, "seed \(seed): \(view.refusals)")
        #expect(view.reloads == 1, "seed \(seed)")
        let goal: [Line] = change.after.sections.flatMap { section in
          (driver.lines.showsSections ? [.section(section.group)] : []) + section.map { .row($0) }
        }
        #expect(view.lines == goal, "seed \(seed)")
        #expect(view.refreshed == change.rows.updates.map { .row($0.row) }, "seed \(seed)")
        state = next
      }
    }
  }

  @Test("A dropped change that kept the counts is detected by the rows of the next change")
  func dropped() throws {
    let driver = LineDriver(showingSections: true)
    let view = LineView()
    view.driver = driver
    let states = [[1, 2, 3], [1, 2, 4], [1, 2]].enumerated().map {
      MappingsTests.index($1, at: CommitNumber($0 + 1))
    }
    var cursor = MappingCursor(Mappings(of: "model", groups: ["g"]))
    driver.apply(try cursor.reset(to: states[0], at: 1), to: view)
    _ = try cursor.advance(to: states[1], by: affectedRows(from: states[0], to: states[1]))
    let change = try cursor.advance(
      to: states[2], by: affectedRows(from: states[1], to: states[2]))
    driver.apply(change, to: view)
    #expect(view.reloads == 2 && view.animations == 0 && view.lines.count == 3)
  }

  @Test("A view that is off screen or has another number of lines is reloaded")
  func reloads() throws {
    let driver = LineDriver(showingSections: true)
    let view = LineView()
    view.driver = driver
    let states = [[1, 2], [1, 2, 3], [2, 3], [2, 3, 4], [2, 3, 4]].enumerated().map {
      MappingsTests.index($1, at: CommitNumber($0 + 1))
    }
    var cursor = MappingCursor(Mappings(of: "model", groups: ["g"]))
    driver.apply(try cursor.reset(to: states[0], at: 1), to: view)
    func next(_ number: Int) throws -> Change {
      try cursor.advance(
        to: states[number], by: affectedRows(from: states[number - 1], to: states[number]))
    }
    view.lines = []
    driver.apply(try next(1), to: view)
    #expect(view.reloads == 2 && view.animations == 0)
    view.isOnScreen = false
    driver.apply(try next(2), to: view)
    #expect(view.reloads == 3 && view.animations == 0)
    view.isOnScreen = true
    driver.apply(try next(3), to: view)
    #expect(view.reloads == 3 && view.animations == 1 && view.lines.count == 4)
    driver.apply(try next(4), to: view)
    #expect(view.reloads == 3 && view.animations == 1 && view.refusals.isEmpty)
  }
}
