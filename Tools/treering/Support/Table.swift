// Tables for people: columns aligned, heads coloured and lines cut at the edge on a terminal. The
// widths come from the first rows, so that a long table starts to appear at once; a column that is
// empty in all of them is left out.

import Foundation

/// A table on standard output.
final class Table {
  /// A column's head and which side its cells stand on.
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
  /// The columns that are shown.
  private var shown: [Int] = []
  /// How many characters fit a line of the terminal; nil if it is none.
  private let lineWidth: Int?
  private static let waitingLimit = 500

  init(_ output: Output, _ columns: [Column]) {
    self.output = output
    self.columns = columns
    widths = columns.map(\.head.count)
    var window = winsize()
    let isTerminal = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0 && window.ws_col > 0
    lineWidth = isTerminal ? Int(window.ws_col) : nil
  }

  /// Adds a row of as many cells as there are columns.
  func row(_ cells: String...) throws {
    let cells = cells.map { JSONText.shown($0) }
    if hasBegun {
      try print(cells)
      return
    }
    waiting.append(cells)
    if waiting.count >= Self.waitingLimit { try begin() }
  }

  /// Prints what has been waiting for the widths. A table without rows prints nothing.
  func finish() throws {
    if !hasBegun, !waiting.isEmpty { try begin() }
  }

  private func begin() throws {
    hasBegun = true
    shown = columns.indices.filter { index in waiting.contains { !$0[index].isEmpty } }
    for cells in waiting {
      for (index, cell) in cells.enumerated() { widths[index] = max(widths[index], cell.count) }
    }
    try output.head(padded(columns.map(\.head)))
    for cells in waiting { try print(cells) }
    waiting = []
  }

  private func print(_ cells: [String]) throws { try output.line(padded(cells)) }

  /// A line of cells, without space at its end.
  private func padded(_ cells: [String]) -> String {
    var line = ""
    for index in shown {
      let space = String(repeating: " ", count: max(0, widths[index] - cells[index].count))
      line += columns[index].isRight ? space + cells[index] : cells[index] + space
      line += "  "
    }
    while line.last == " " { line.removeLast() }
    if let lineWidth, line.count > lineWidth { line = line.prefix(lineWidth - 1) + "…" }
    return line
  }
}
