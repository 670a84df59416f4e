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
  private let output: Output
  private var lines = BoardLines()
  private var screen: BoardScreen?
  private var footer = ""
  /// The commit shown.
  var commit: CommitNumber { observer.commit ?? 0 }

  /// Whether it is drawn on a terminal.
  let isOnScreen: Bool

  init(
    store: Store, mappings: Mappings, fields: [JSONPath]?, output: Output, isOnScreen: Bool
  ) {
    observer = store.observer(of: mappings, limit: .max)
    self.fields = fields
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
    var edits: [BoardLines.Edit] = []
    let text: BoardLines.Text = { [fields] row in
      try Self.text(of: row, in: snapshot, fields: fields)
    }
    if change.isReset {
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
    if change.isReset {
      try screen?.draw(lines)
    } else {
      try screen?.apply(edits, to: lines)
    }
  }

  /// Shows the player's state below the lines; redraws the lines if the terminal's size has
  /// changed.
  mutating func say(_ state: String) throws {
    guard screen != nil else { return }
    if screen?.hasNewSize() == true { try screen?.draw(lines) }
    try screen?.footer("[\(state)]  \(footer)  space n + - q")
  }

  /// Ends the highlighting of changed lines.
  mutating func settle() throws { try screen?.settle(lines) }

  private func printFrame() throws {
    for line in lines.lines(at: 0..<lines.count) {
      try output.line(line.isHeading ? line.text : "  " + line.text)
    }
    try output.line("-- \(footer)")
    try output.line("")
    try output.flush()
  }

  // MARK: Text

  private static func text(
    of id: RowID, in snapshot: Snapshot, fields: [JSONPath]?
  ) throws -> String {
    guard let row = try snapshot.row(id.key, in: id.bucket) else {
      return JSONText.shown(key: id.key.bytes)
    }
    guard let fields else {
      return "\(JSONText.shown(key: id.key.bytes))  \(JSONText.shown(row.object))"
    }
    var json: [UInt8] = []
    let isBinary = row.object.withUnsafeBytes { BinaryRow.appendJSON(of: $0, to: &json) }
    return (isBinary ? json : row.object).withUnsafeBytes { object in
      fields.map { shown($0, of: object) }.joined(separator: "  ")
    }
  }

  /// The text of a field for a person: a scalar's text, an array or object as it is written.
  private static func shown(_ field: JSONPath, of object: UnsafeRawBufferPointer) -> String {
    guard let found = try? JSONScanner.find(field, in: object) else { return "-" }
    let value = UnsafeRawBufferPointer(rebasing: object[found])
    var text: [UInt8] = []
    return JSONScanner.appendText(ofScalar: value, to: &text)
      ? JSONText.shown(key: text) : JSONText.shown(Array(value))
  }
}
