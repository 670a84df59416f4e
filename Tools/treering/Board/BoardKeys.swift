// Keys pressed while a board is on the screen.

import Foundation

/// The keys that control a board.
enum BoardKey: Character {
  case pause = " "
  case step = "n"
  case faster = "+"
  case slower = "-"
  case quit = "q"
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
    while true {
      var state = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
      guard poll(&state, 1, 0) > 0, state.revents & Int16(POLLIN) != 0 else { return nil }
      var byte: UInt8 = 0
      guard read(STDIN_FILENO, &byte, 1) == 1 else { return nil }
      if let key = BoardKey(rawValue: Character(UnicodeScalar(byte))) { return key }
    }
  }
}
