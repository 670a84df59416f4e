// A board on a terminal. It inserts, deletes and rewrites lines as the changeset lists them; the
// terminal moves the others. It draws only changed lines and lines that scroll in from below.
//
// Lines do not wrap. The terminal shows the beginning of a line that is too long, whatever the
// width of its characters. Each line is cleared before it is written, because after a full line the
// cursor still stands within it.

import Foundation

/// Draws lines between the head, if there is one, and the footer of a terminal.
struct BoardScreen {
  private let output: Output
  private var height = 24
  private var width = 80
  /// The text of the first line; nil for none.
  private var head: String?
  /// The index of the first line shown.
  private(set) var top = 0
  /// Lines drawn in reverse because the last change affected them, counted from the first shown.
  private var flipped: Set<Int> = []

  init(output: Output) throws {
    self.output = output
    measure()
    // Alternative screen, no cursor, no wrapping; lines scroll above the footer only.
    try put("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[2J\u{1B}[1;\(visible)r")
    try output.flush()
  }

  /// Restores the terminal.
  func close() throws {
    try put("\u{1B}[r\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
    try output.flush()
  }

  /// The number of lines of the terminal above the shown ones.
  private var margin: Int { head == nil ? 0 : 1 }
  /// The number of lines that fit.
  var visible: Int { max(1, height - 1 - margin) }

  private mutating func measure() {
    guard let size = output.terminalSize, size.rows > 1, size.columns > 0 else { return }
    (height, width) = size
  }

  /// Draws every line that fits. Called at first, and after the terminal's size has changed.
  mutating func draw(_ lines: BoardLines, head: String? = nil) throws {
    self.head = head
    top = bounded(top, lines)
    try put("\u{1B}[\(margin + 1);\(margin + visible)r\u{1B}[2J")
    if let head { try put("\u{1B}[1;1H\u{1B}[1;36m\(cut(head))\u{1B}[0m") }
    for index in 0..<min(visible, lines.count - top) { try write(index, of: lines) }
    flipped = []
  }

  /// Shows the lines from another one on, as far as there are lines.
  mutating func scroll(to line: Int, of lines: BoardLines) throws {
    let new = bounded(line, lines)
    if new == top { return }
    top = new
    try draw(lines, head: head)
  }

  /// The nearest first line that leaves no room below the last one.
  private func bounded(_ line: Int, _ lines: BoardLines) -> Int {
    max(0, min(line, lines.count - visible))
  }

  /// Applies edits of the lines to the screen, and highlights new and changed lines. Edits above
  /// the shown lines move none of these.
  mutating func apply(_ edits: [BoardLines.Edit], to lines: BoardLines) throws {
    var old = flipped
    // The number of lines at the bottom that scrolled in and are still blank.
    var risen = 0
    for edit in edits {
      switch edit {
      case .insert(let line) where line < top: top += 1
      case .delete(let line) where line < top: top -= 1
      case .insert(let line) where line - top < visible:
        let index = line - top
        old = old.opened(at: index)
        try put("\u{1B}[\(margin + index + 1);1H\u{1B}[L")
        if index < visible - risen { risen = max(0, risen - 1) }
      case .delete(let line) where line - top < visible:
        let index = line - top
        old = old.closed(at: index)
        try put("\u{1B}[\(margin + index + 1);1H\u{1B}[M")
        if index < visible - risen { risen += 1 }
      default: break
      }
    }
    let mustScroll = top != bounded(top, lines)
    if mustScroll { try draw(lines, head: head) }
    let shown = lines.lines(at: top..<(top + visible))
    flipped = Set(shown.indices.filter { lines.isNew(shown[$0]) })
    var stale = flipped
    if !mustScroll {
      stale.formUnion(old.filter { $0 < visible })
      stale.formUnion((visible - risen)..<visible)
    }
    for index in stale.sorted() { try write(index, of: lines, isFlipped: flipped.contains(index)) }
  }

  /// Draws the highlighted lines normally.
  mutating func settle(_ lines: BoardLines) throws {
    for index in flipped { try write(index, of: lines) }
    flipped = []
  }

  /// Writes the last line of the terminal.
  func footer(_ text: String) throws {
    try put("\u{1B}[\(height);1H\u{1B}[7m\u{1B}[K\(cut(text))\u{1B}[0m")
    try output.flush()
  }

  /// Whether the terminal's size has changed since the last call.
  mutating func hasNewSize() -> Bool {
    let (oldHeight, oldWidth) = (height, width)
    measure()
    return oldHeight != height || oldWidth != width
  }

  private func write(_ index: Int, of lines: BoardLines, isFlipped: Bool = false) throws {
    let number = top + index
    guard let line = lines.lines(at: number..<(number + 1)).first else { return }
    let style = line.isHeading ? "\u{1B}[1m" : isFlipped ? "\u{1B}[7m" : ""
    let text = line.isHeading ? line.text : "  " + line.text
    try put("\u{1B}[\(margin + index + 1);1H\u{1B}[K\(style)\(cut(text))\u{1B}[0m")
  }

  private func cut(_ text: String) -> String {
    text.count > width ? String(text.prefix(width - 1)) + "…" : text
  }

  private func put(_ text: String) throws { try output.write(Array(text.utf8)) }
}

extension Set<Int> {
  /// The positions after the insertion of a line at `index`.
  fileprivate func opened(at index: Int) -> Self { Set(map { $0 >= index ? $0 + 1 : $0 }) }

  /// The positions after the removal of the line at `index`.
  fileprivate func closed(at index: Int) -> Self {
    Set(filter { $0 != index }.map { $0 > index ? $0 - 1 : $0 })
  }
}
