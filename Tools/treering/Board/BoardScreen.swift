// A board on a terminal. Lines are inserted, deleted and rewritten where the changeset says so; the
// terminal moves the others. Nothing is drawn that has not changed, but lines that come up from below.
//
// Lines are not wrapped: of one that is too long, however many columns its characters take, the terminal
// shows the beginning. Each place is cleared before it is written, since behind a full line the cursor
// still stands in it.

import Foundation

/// Draws lines into the part of a terminal above the footer.
struct BoardScreen {
  private let output: Output
  private var height = 24
  private var width = 80
  /// Lines drawn in reverse because they have just changed.
  private var flipped: Set<Int> = []

  init(output: Output) throws {
    self.output = output
    measure()
    // Another screen, no cursor, no wrapping, and lines scroll above the footer only.
    try put("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[2J\u{1B}[1;\(visible)r")
    try output.flush()
  }

  /// Gives the terminal back as it was.
  func close() throws {
    try put("\u{1B}[r\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
    try output.flush()
  }

  private var visible: Int { max(1, height - 1) }

  private mutating func measure() {
    guard let size = output.terminalSize, size.rows > 1, size.columns > 0 else { return }
    (height, width) = size
  }

  /// Draws every line that fits: at first, and when the terminal has another size.
  mutating func draw(_ lines: BoardLines) throws {
    try put("\u{1B}[1;\(visible)r\u{1B}[2J")
    for index in 0..<min(visible, lines.count) { try write(index, of: lines) }
    flipped = []
  }

  /// Does on the screen what has been done to the lines, and flips those that are new or changed.
  mutating func apply(_ edits: [BoardLines.Edit], to lines: BoardLines) throws {
    var old = flipped
    // So many lines at the bottom show nothing yet of what has come up from below.
    var risen = 0
    for edit in edits {
      switch edit {
      case .insert(let index) where index < visible:
        old = old.opened(at: index)
        try put("\u{1B}[\(index + 1);1H\u{1B}[L")
        if index < visible - risen { risen = max(0, risen - 1) }
      case .delete(let index) where index < visible:
        old = old.closed(at: index)
        try put("\u{1B}[\(index + 1);1H\u{1B}[M")
        if index < visible - risen { risen += 1 }
      default: break
      }
    }
    let shown = lines.lines(at: 0..<visible)
    flipped = Set(shown.indices.filter { lines.isNew(shown[$0]) })
    let stale = old.filter { $0 < visible }.union((visible - risen)..<visible).union(flipped)
    for index in stale.sorted() { try write(index, of: lines, isFlipped: flipped.contains(index)) }
  }

  /// Draws the lines that are flipped as they are.
  mutating func settle(_ lines: BoardLines) throws {
    for index in flipped { try write(index, of: lines) }
    flipped = []
  }

  /// Writes the last line.
  func footer(_ text: String) throws {
    try put("\u{1B}[\(height);1H\u{1B}[7m\u{1B}[K\(cut(text))\u{1B}[0m")
    try output.flush()
  }

  /// Whether the terminal has another size than when it was last asked.
  mutating func hasNewSize() -> Bool {
    let (oldHeight, oldWidth) = (height, width)
    measure()
    return oldHeight != height || oldWidth != width
  }

  private func write(_ index: Int, of lines: BoardLines, isFlipped: Bool = false) throws {
    guard let line = lines.lines(at: index..<(index + 1)).first else { return }
    let style = line.isHeading ? "\u{1B}[1m" : isFlipped ? "\u{1B}[7m" : ""
    let text = line.isHeading ? line.text : "  " + line.text
    try put("\u{1B}[\(index + 1);1H\u{1B}[K\(style)\(cut(text))\u{1B}[0m")
  }

  private func cut(_ text: String) -> String {
    text.count > width ? String(text.prefix(width - 1)) + "…" : text
  }

  private func put(_ text: String) throws { try output.write(Array(text.utf8)) }
}

extension Set<Int> {
  /// The positions after a line was put in at one of them.
  fileprivate func opened(at index: Int) -> Self { Set(map { $0 >= index ? $0 + 1 : $0 }) }

  /// The positions after the line at one of them was taken out.
  fileprivate func closed(at index: Int) -> Self {
    Set(filter { $0 != index }.map { $0 > index ? $0 - 1 : $0 })
  }
}
