// A terminal as far as boards use one: lines are inserted and deleted in a scroll region, text is
// written where the cursor is, the rest of a line is cleared.

/// What stands on a terminal.
struct TerminalModel {
  private(set) var lines: [String]
  private var row = 0
  private var column = 0
  private var region: Range<Int>

  init(height: Int) {
    lines = Array(repeating: "", count: height)
    region = 0..<height
  }

  /// Takes what a program writes.
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
    case "r" where numbers.count == 2: region = (numbers[0] - 1)..<numbers[1]
    case "J": lines = lines.map { _ in "" }
    case "K": lines[row] = String(lines[row].prefix(column))
    case "L" where region.contains(row):
      lines.insert("", at: row)
      lines.remove(at: region.upperBound)
    case "M" where region.contains(row):
      lines.insert("", at: region.upperBound)
      lines.remove(at: row)
    default: break
    }
  }

  private mutating func put(_ character: Character) {
    var line = Array(lines[row])
    while line.count <= column { line.append(" ") }
    line[column] = character
    lines[row] = String(line)
    column += 1
  }
}
