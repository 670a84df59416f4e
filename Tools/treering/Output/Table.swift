// Tables for people. On a terminal, columns are aligned, heads coloured, and lines cut at the edge.
// The first rows determine the widths, so that a long table appears at once. A column that is empty
// in all of these rows is omitted.

import Foundation
import TreeRingLive

/// A table on standard output.
final class Table {
  /// A column's head and the alignment of its cells.
  struct Column {
    var head: String
    var isRight: Bool

    static func left(_ head: String) -> Column { Column(head: head, isRight: false) }
    static func right(_ head: String) -> Column { Column(head: head, isRight: true) }
  }

  private let output: Output
  private let columns: [Column]
  private var widths: [Int]
  private var waiting: [[String]] = []
  private var hasBegun = false
  /// The shown columns.
  private var shown: [Int] = []
  /// The width of the terminal in characters; nil if the output is no terminal.
  private let lineWidth: Int?
  private var waitingByteCount = 0
  private static let waitingLimit = 500
  private static let waitingByteLimit = 1 << 20

  /// - Parameter isWide: whether lines are not cut at the edge of the terminal.
  init(_ output: Output, _ columns: [Column], isWide: Bool = false) {
    self.output = output
    self.columns = columns
    widths = columns.map(\.head.count)
    lineWidth = isWide ? nil : output.terminalSize.flatMap { $0.columns > 0 ? $0.columns : nil }
  }

  /// Adds a row of as many cells as there are columns.
  func row(_ cells: String...) throws { try row(cells) }

  /// Adds a row of as many cells as there are columns.
  func row(_ cells: [String]) throws {
    let cells = cells.map { JSONText.shown($0) }
    if hasBegun {
      try print(cells)
      return
    }
    waiting.append(cells)
    waitingByteCount += cells.reduce(0) { $0 + $1.utf8.count }
    if waiting.count >= Self.waitingLimit || waitingByteCount >= Self.waitingByteLimit {
      try begin()
    }
  }

  /// Prints the rows that wait for the widths. A table without rows prints nothing.
  func finish() throws {
    if !hasBegun, !waiting.isEmpty { try begin() }
  }

  private func begin() throws {
    hasBegun = true
    shown = columns.indices.filter { index in waiting.contains { !$0[index].isEmpty } }
    for cells in waiting {
      for index in shown where needsWidth(index) {
        widths[index] = max(widths[index], Self.width(of: cells[index]))
      }
    }
    try output.head(padded(columns.map(\.head)))
    for cells in waiting { try print(cells) }
    waiting = []
  }

  /// The characters of a cell as far as the column is widened for them. Counting those of large
  /// contents takes far longer than printing them.
  private static func width(of cell: String) -> Int { cell.prefix(widthLimit).count }
  private static let widthLimit = 60

  /// False for a last column aligned to the left, because nothing follows it.
  private func needsWidth(_ index: Int) -> Bool {
    index != shown.last || columns[index].isRight
  }

  private func print(_ cells: [String]) throws { try output.line(padded(cells)) }

  /// A line of cells, without space at its end.
  private func padded(_ cells: [String]) -> String {
    var line = ""
    for index in shown {
      guard needsWidth(index) else {
        line += cells[index]
        continue
      }
      let space = String(
        repeating: " ", count: max(0, widths[index] - Self.width(of: cells[index])))
      line += columns[index].isRight ? space + cells[index] : cells[index] + space
      line += "  "
    }
    while line.last == " " { line.removeLast() }
    if let lineWidth, line.prefix(lineWidth + 1).count > lineWidth {
      line = line.prefix(lineWidth - 1) + "…"
    }
    return line
  }
}
