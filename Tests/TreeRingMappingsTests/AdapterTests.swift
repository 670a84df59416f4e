import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

/// A driven view, based on the model of a view.
@MainActor
private final class DrivenView: BatchListView {
  var model = BatchViewModel<RowID>()
  weak var driver: ListDriver?
  var isOnScreen = true
  var refusals: [String] = []
  var reloads = 0
  var batches = 0
  var refreshed: [RowPath] = []

  var displayedSectionCount: Int { model.sections.count }
  func displayedRowCount(inSection section: Int) -> Int { model.sections[section].count }

  /// The contents of the data source.
  private var source: [[RowID]] {
    guard let displayed = driver?.displayed else { return [] }
    return displayed.outline.enumerated().map { section, part in
      (0..<part.count).compactMap { try? displayed.row(at: RowPath(section: section, row: $0)) }
    }
  }

  func performBatch(_ stage: Stage, swap: @escaping () -> Void) {
    batches += 1
    var batch = ModelBatch()
    func path(_ path: RowPath) -> ModelPath { ModelPath(path.section, path.row) }
    batch.deletedSections = stage.sections.deletes
    batch.insertedSections = stage.sections.inserts
    batch.movedSections = stage.sections.moves.map { ($0.from, $0.to) }
    batch.deletedRows = stage.rows.deletes.map { path($0.path) }
    batch.insertedRows = stage.rows.inserts.map { path($0.path) }
    batch.movedRows = stage.rows.moves.map { (path($0.from), path($0.to)) }
    batch.reloadedRows = stage.rows.updates.map { path($0.to) }
    swap()
    do {
      try model.perform(batch, source: source)
    } catch {
      refusals.append(error.description)
      model.reload(source)
    }
  }

  func refresh(_ updates: [RowUpdate]) { refreshed += updates.map(\.to) }

  func reloadEverything() {
    reloads += 1
    model.reload(source)
  }
}

@Suite("Adapters, on a model of views that take batches")
@MainActor
struct AdapterTests {
  @Test("A driven view accepts every batch and ends with the rows shown")
  func accepted() throws {
    for seed in seeds(1...400) {
      var maker = CaseMaker(seed: seed)
      let mappings = maker.mappings()
      var cursor = MappingCursor(mappings)
      var state = maker.state(at: 5)
      let driver = ListDriver(policy: maker.chance(2) ? .combined : .conservative)
      let view = DrivenView()
      view.driver = driver
      var lines = FlatList(showingSections: maker.chance(2))
      driver.apply(try cursor.reset(to: state, at: 5), to: view)
      #expect(view.reloads == 1)
      for _ in 0..<5 {
        let next = maker.successor(of: state)
        let change = try cursor.advance(
          to: next, by: affectedRows(from: state, to: next), limit: .max)
        driver.apply(change, to: view)
        #expect(view.refusals.isEmpty, "seed \(seed): \(view.refusals)")
        #expect(view.reloads == 1, "seed \(seed)")
        #expect(view.model.sections == change.after.sections.map(Array.init), "seed \(seed)")
        checkLines(change, &lines, seed)
        state = next
      }
    }
  }

  /// Applies a change to a flat list of lines; a section's own line is nil.
  private func checkLines(_ change: Change, _ flat: inout FlatList, _ seed: UInt64) {
    func listing(_ shown: ShownRows) -> [RowID?] {
      shown.sections.flatMap { section in
        (flat.showsSections ? [nil] : []) + section.map(Optional.some)
      }
    }
    flat = FlatList(change.before.outline, showingSections: flat.showsSections)
    var lines = listing(change.before)
    let goal = listing(change.after)
    for step in change.changeset.steps() {
      for edit in flat.apply(step) {
        switch edit {
        case .remove(let range): lines.removeSubrange(range)
        case .insert(let range):
          var comers: [RowID?] = range.map { _ in nil }
          if case .insertRow(let row, _) = step { comers = [row] }
          if case .insertSection(let section, _) = step,
            let index = change.after.section(of: section.group)
          {
            comers = (flat.showsSections ? [nil] : []) + change.after.sections[index].map { $0 }
          }
          lines.insert(contentsOf: comers, at: range.lowerBound)
        case .move(let from, let to): lines.insert(lines.remove(at: from), at: to)
        case .refresh(let line):
          if case .updateRow(let row, _, _) = step { #expect(lines[line] == row) }
        }
      }
    }
    #expect(lines == goal, "seed \(seed)")
    #expect(flat.count == goal.count)
    for (section, part) in change.after.outline.enumerated() {
      for row in 0..<part.count {
        let line = flat.line(of: RowPath(section: section, row: row))
        let place = flat.place(ofLine: line)
        #expect(place?.section == section && place?.row == row)
      }
    }
    #expect(flat.place(ofLine: goal.count) == nil)
  }

  @Test(
    "A view that is off screen or does not show the state before is reloaded")
  func reloads() throws {
    let driver = ListDriver()
    let view = DrivenView()
    view.driver = driver
    let states = [[1, 2], [1, 2, 3], [2, 3], [2, 3, 4]].enumerated().map {
      MappingsTests.index($1, at: CommitNumber($0 + 1))
    }
    var cursor = MappingCursor(Mappings(of: "model", groups: ["g"]))
    driver.apply(try cursor.reset(to: states[0], at: 1), to: view)
    func next(_ number: Int) throws -> Change {
      try cursor.advance(
        to: states[number], by: affectedRows(from: states[number - 1], to: states[number]))
    }
    view.model.reload([[]])
    driver.apply(try next(1), to: view)
    #expect(view.reloads == 2 && view.batches == 0)
    view.isOnScreen = false
    driver.apply(try next(2), to: view)
    #expect(view.reloads == 3 && view.batches == 0)
    view.isOnScreen = true
    driver.apply(try next(3), to: view)
    #expect(view.reloads == 3 && view.batches == 1 && view.refusals.isEmpty)
    #expect(view.model.sections.first?.map(\.key.bytes) == [[2], [3], [4]])
  }

  @Test("A dropped change that kept the counts is detected by the rows of the next change")
  func dropped() throws {
    // The second change deletes or rewrites a row that the view does not show in that section.
    for last in [[1, 2], [1, 2, 4, 9]] as [[UInt8]] {
      let driver = ListDriver()
      let view = DrivenView()
      view.driver = driver
      let states = [[1, 2, 3], [1, 2, 4], last].enumerated().map {
        MappingsTests.index($1, at: CommitNumber($0 + 1))
      }
      let mappings = Mappings(of: "model", groups: ["g"]).drawn(withNeighborsAt: [1], in: "g")
        .range(.fixed(length: 3, pin: .end), of: "g")
      var cursor = MappingCursor(mappings)
      driver.apply(try cursor.reset(to: states[0], at: 1), to: view)
      _ = try cursor.advance(to: states[1], by: affectedRows(from: states[0], to: states[1]))
      let change = try cursor.advance(
        to: states[2], by: affectedRows(from: states[1], to: states[2]))
      driver.apply(change, to: view)
      #expect(view.reloads == 2 && view.batches == 0)
      #expect(view.model.sections == change.after.sections.map(Array.init))
    }
  }

  @Test("The model refuses what table views refuse")
  func refusals() {
    var view = BatchViewModel<Int>()
    view.reload([[1, 2, 3], [4]])
    func refused(_ source: [[Int]], _ change: (inout ModelBatch) -> Void) -> Bool {
      var batch = ModelBatch()
      change(&batch)
      var copy = view
      do {
        try copy.perform(batch, source: source)
        return false
      } catch {
        return true
      }
    }
    #expect(!refused([[2, 3], [4]]) { $0.deletedRows = [ModelPath(0, 0)] })
    #expect(refused([[1, 2, 3], [4]]) { $0.deletedRows = [ModelPath(0, 0)] })
    #expect(refused([[1, 3], [4]]) { $0.deletedRows = [ModelPath(0, 0)] })
    #expect(refused([[2, 3], [4]]) { $0.deletedRows = [ModelPath(0, 0), ModelPath(0, 0)] })
    #expect(refused([[1, 2, 3], [4]]) { $0.deletedRows = [ModelPath(0, 3)] })
    #expect(
      refused([[2, 3, 1], [4]]) {
        $0.movedRows = [(ModelPath(0, 0), ModelPath(0, 2))]
        $0.reloadedRows = [ModelPath(0, 1)]
      })
    #expect(
      refused([[4]]) {
        $0.deletedSections = [0]
        $0.deletedRows = [ModelPath(0, 0)]
      })
    #expect(
      refused([[4], [1, 2]]) {
        $0.movedSections = [(0, 1)]
        $0.deletedRows = [ModelPath(0, 2)]
      })
    #expect(!refused([[4], [1, 2, 3]]) { $0.movedSections = [(0, 1)] })
    #expect(refused([[1, 2, 3], [4], [5]]) { _ in })
    #expect(
      refused([[1, 2, 3], [4, 5], [6]]) {
        $0.insertedSections = [2]
        $0.insertedRows = [ModelPath(1, 1), ModelPath(2, 0)]
      })
  }
}
