// The part of a terminal that boards use. Lines are inserted and deleted in a scroll region; text
// is written at the cursor, plain or in reverse; the rest of a line is cleared. After the last
// column the cursor waits, as on real terminals. The next character goes to the next line or,
// without wrapping, over the last column; and clearing the rest of a line clears that column.

/// The contents of a terminal.
struct TerminalModel {
  private struct Cell: Equatable {
    /// The character; empty for the second column of a wide character, nil if the cell is blank.
    var text: String?
    var isReversed = false
  }

  let width: Int
  private var cells: [[Cell]]
  private var row = 0
  private var column = 0
  private var region: Range<Int>
  private var isReversed = false
  private(set) var wraps = true
  private(set) var showsCursor = true
  /// Whether the terminal shows the alternative screen for drawing, not the one that scrolls.
  private(set) var isAlternate = false

  init(height: Int, width: Int = 80) {
    self.width = width
    cells = Array(repeating: Self.blank(width), count: height)
    region = 0..<height
  }

  /// The text of each line, without blanks at its end.
  var lines: [String] {
    cells.map { line in
      let end = (line.lastIndex { $0.text != nil } ?? -1) + 1
      return line[..<end].map { $0.text ?? " " }.joined()
    }
  }

  /// The lines that contain text in reverse.
  var reversedLines: Set<Int> {
    Set(cells.indices.filter { cells[$0].contains { $0.text != nil && $0.isReversed } })
  }

  private static func blank(_ width: Int) -> [Cell] { Array(repeating: Cell(), count: width) }

  /// Processes a program's output.
  mutating func write(_ text: String) {
    var rest = Substring(text)
    while let character = rest.popFirst() {
      if character == "\u{1B}", rest.first == "[" {
        rest.removeFirst()
        let end = rest.firstIndex { $0.isLetter } ?? rest.endIndex
        guard end < rest.endIndex else { return }
        control(rest[end], rest[..<end])
        rest = rest[rest.index(after: end)...]
      } else {
        put(character)
      }
    }
  }

  private mutating func control(_ command: Character, _ text: Substring) {
    let numbers = text.split(separator: ";", omittingEmptySubsequences: false).map { Int($0) ?? 1 }
    switch command {
    case "H": (row, column) = (numbers[0] - 1, numbers[1] - 1)
    case "h", "l": set(text, command == "h")
    case "m": isReversed = numbers.contains(7)
    case "r": region = numbers.count == 2 ? (numbers[0] - 1)..<numbers[1] : 0..<cells.count
    case "J": cells = cells.map { _ in Self.blank(width) }
    case "K":
      for column in min(column, width - 1)..<width { cells[row][column] = Cell() }
    case "L" where region.contains(row):
      cells.insert(Self.blank(width), at: row)
      cells.remove(at: region.upperBound)
    case "M" where region.contains(row):
      cells.insert(Self.blank(width), at: region.upperBound)
      cells.remove(at: row)
    default: break
    }
  }

  private mutating func set(_ mode: Substring, _ isSet: Bool) {
    switch mode {
    case "?7": wraps = isSet
    case "?25": showsCursor = isSet
    case "?1049": isAlternate = isSet
    default: break
    }
  }

  private mutating func put(_ character: Character) {
    let columns = character.unicodeScalars.allSatisfy { $0.value < 0x1100 } ? 1 : 2
    if column + columns > width {
      if wraps {
        (row, column) = (min(row + 1, cells.count - 1), 0)
      } else {
        column = width - columns
      }
    }
    cells[row][column] = Cell(text: String(character), isReversed: isReversed)
    if columns == 2 { cells[row][column + 1] = Cell(text: "", isReversed: isReversed) }
    column += columns
  }
}
