// A board: the shown rows of an index, drawn on a terminal or printed.

import Foundation
import TreeRing
import TreeRingLive
import TreeRingLog
import TreeRingMappings

/// Shows one mapping: on a terminal, as frames of text, or as changesets in JSON.
struct Board {
  private var observer: MappingObserver
  private let fields: [JSONPath]?
  private let isWide: Bool
  private let index: String
  private var columns = BoardColumns()
  private let output: Output
  private var lines = BoardLines()
  private var screen: BoardScreen?
  private var footer = ""
  /// The commit shown.
  var commit: CommitNumber { observer.commit ?? 0 }

  /// Whether it is drawn on a terminal.
  let isOnScreen: Bool

  init(
    store: Store, mappings: Mappings, fields: [JSONPath]?, isWide: Bool = false, output: Output,
    isOnScreen: Bool
  ) {
    observer = store.observer(of: mappings, limit: .max)
    self.fields = fields
    self.isWide = isWide
    index = mappings.index
    self.output = output
    self.isOnScreen = isOnScreen
  }

  /// Shows the first state. On a terminal the caller must call `close` afterwards, even if this
  /// throws.
  mutating func begin(at commit: CommitNumber) throws {
    let snapshot = try observer.store.snapshot(at: .commit(commit))
    let change = try observer.advance(to: snapshot)
    if isOnScreen { screen = try BoardScreen(output: output) }
    try show(change, snapshot)
  }

  /// Advances to a commit.
  /// - Returns: true if the shown rows changed.
  mutating func advance(to commit: CommitNumber) throws -> Bool {
    let snapshot = try observer.store.snapshot(at: .commit(commit))
    let start = ContinuousClock.now
    let change = try observer.advance(to: snapshot)
    if change.isEmpty { return false }
    try show(change, snapshot, since: start)
    return true
  }

  /// Restores the terminal.
  func close() { try? screen?.close() }

  private mutating func show(
    _ change: Change, _ snapshot: Snapshot, since start: ContinuousClock.Instant = .now
  ) throws {
    if output.isJSON {
      try ChangePrinter(output: output, change: change).print(.batch)
      return try output.flush()
    }
    // The columns are those of the first rows, as soon as there are any.
    let mustReset = change.isReset || !columns.hasRows
    if mustReset {
      columns = try BoardColumns(
        of: change.after, by: index, in: snapshot, fields: fields,
        cellLimit: isOnScreen && !isWide ? ColumnArguments.cellLimit : nil)
    }
    var edits: [BoardLines.Edit] = []
    let text: BoardLines.Text = { [columns] row in try columns.text(of: row, in: snapshot) }
    if mustReset {
      try lines.reset(to: change.after, text)
    } else {
      edits = try lines.apply(change, text)
    }
    let time = Int((ContinuousClock.now - start) / .microseconds(1))
    let operations = change.isReset ? "all read" : Units.count(change.changeset.count, "operation")
    let date = commit == 0 ? "" : "  " + ISO8601.format(snapshot.timestamp)
    let affected = Units.count(lines.affected.count, "row")
    footer = "commit \(commit)\(date)  \(affected) affected, \(operations), \(time) µs"
    if screen == nil { return try printFrame() }
    if mustReset {
      try screen?.draw(lines, head: "  " + columns.head)
    } else {
      try screen?.apply(edits, to: lines)
    }
  }

  /// Shows the player's state below the lines; redraws the lines if the terminal's size has
  /// changed.
  mutating func say(_ state: String) throws {
    guard screen != nil else { return }
    if screen?.hasNewSize() == true { try screen?.draw(lines, head: "  " + columns.head) }
    var part = ""
    if let screen, lines.count > screen.visible {
      let end = min(screen.top + screen.visible, lines.count)
      part = "  lines \(screen.top + 1)–\(end) of \(lines.count)"
    }
    try screen?.footer("[\(state)]  \(footer)\(part)  space n + - j k f b g G q")
  }

  /// Moves the shown lines as a key says.
  mutating func scroll(_ key: BoardKey) throws {
    guard let screen else { return }
    let page = max(1, screen.visible - 1)
    let line =
      switch key {
      case .up: screen.top - 1
      case .down: screen.top + 1
      case .pageUp: screen.top - page
      case .pageDown: screen.top + page
      case .top: 0
      case .end: lines.count
      case .pause, .step, .faster, .slower, .quit: screen.top
      }
    try self.screen?.scroll(to: line, of: lines)
  }

  /// Ends the highlighting of changed lines.
  mutating func settle() throws { try screen?.settle(lines) }

  private func printFrame() throws {
    if !columns.head.isEmpty { try output.line("  " + columns.head) }
    for line in lines.lines(at: 0..<lines.count) {
      try output.line(line.isHeading ? line.text : "  " + line.text)
    }
    try output.line("-- \(footer)")
    try output.line("")
    try output.flush()
  }
}
