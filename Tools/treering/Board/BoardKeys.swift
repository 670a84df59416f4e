// Keys pressed while a board is on the screen.

import Foundation

/// The keys that control a board.
enum BoardKey: Character {
  case pause = " "
  case step = "n"
  case faster = "+"
  case slower = "-"
  case quit = "q"
  case up = "k"
  case down = "j"
  case pageUp = "b"
  case pageDown = "f"
  case top = "g"
  case end = "G"

  /// The keys that terminals send as sequences: what follows the escape character.
  static let sequences: [String: BoardKey] = [
    "[A": .up, "[B": .down, "OA": .up, "OB": .down, "[5~": .pageUp, "[6~": .pageDown,
    "[H": .top, "[F": .end, "OH": .top, "OF": .end, "[1~": .top, "[4~": .end,
  ]
}

/// A keyboard read key by key, without waiting. Only a board on the screen may take it: a program
/// that reads a board from a pipe needs the keys itself. `close` restores it.
struct BoardKeys {
  private var before = termios()
  private let isTerminal: Bool

  init() {
    isTerminal = isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &before) == 0
    guard isTerminal else { return }
    var raw = before
    raw.c_lflag &= ~tcflag_t(ICANON | ECHO)
    tcsetattr(STDIN_FILENO, TCSANOW, &raw)
  }

  /// Restores the keyboard's settings.
  func close() {
    guard isTerminal else { return }
    var before = before
    tcsetattr(STDIN_FILENO, TCSANOW, &before)
  }

  /// The next key that has a meaning; nil if none is waiting.
  func next() -> BoardKey? {
    guard isTerminal else { return nil }
    while let byte = byte() {
      if byte == 0x1B {
        if let key = sequence() { return key }
      } else if let key = BoardKey(rawValue: Character(UnicodeScalar(byte))) {
        return key
      }
    }
    return nil
  }

  /// The key of the sequence behind an escape character; nil if it has no meaning here.
  private func sequence() -> BoardKey? {
    var text = ""
    while text.count < 4, let byte = byte() {
      text.unicodeScalars.append(UnicodeScalar(byte))
      let isEnd = text.count > 1 && (0x40...0x7E).contains(byte)
      if isEnd || (text.count == 1 && byte != UInt8(ascii: "[") && byte != UInt8(ascii: "O")) {
        break
      }
    }
    return BoardKey.sequences[text]
  }

  /// The next byte; nil if none is waiting.
  private func byte() -> UInt8? {
    var state = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
    guard poll(&state, 1, 0) > 0, state.revents & Int16(POLLIN) != 0 else { return nil }
    var byte: UInt8 = 0
    return read(STDIN_FILENO, &byte, 1) == 1 ? byte : nil
  }
}
