// The board as a separate process on its own terminal.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

/// The user's end of a terminal: it shows the output and types keys.
private final class Terminal {
  var model: TerminalModel
  private var master: Int32 = -1
  private var near: Int32 = -1
  private var rest: [UInt8] = []

  init(height: Int, width: Int) throws {
    model = TerminalModel(height: height, width: width)
    var size = winsize()
    (size.ws_row, size.ws_col) = (UInt16(height), UInt16(width))
    let isOpen = openpty(&master, &near, nil, nil, &size) == 0
    try #require(isOpen)
    // No child process may keep the terminal open.
    for end in [master, near] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  }

  deinit {
    hangUp()
    if master >= 0 { close(master) }
  }

  /// The end for the process; closed once the process has it.
  var descriptor: Int32 { near }
  func hangUp() {
    if near >= 0 { close(near) }
    near = -1
  }

  func type(_ text: String) { _ = write(master, text, text.utf8.count) }

  /// Whether the terminal reads input line by line and echoes it.
  var isCooked: Bool {
    var state = termios()
    let flags = tcflag_t(ICANON | ECHO)
    return tcgetattr(master, &state) == 0 && state.c_lflag & flags == flags
  }

  /// Reads output until the screen satisfies a condition; false if the process ends before.
  func wait(until isWanted: (TerminalModel) -> Bool) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while !isWanted(model) {
      let count = read(master, &buffer, buffer.count)
      if count <= 0 { return false }
      rest += buffer[..<count]
      model.write(wholePiece())
    }
    return true
  }

  /// The output so far, without an incomplete control sequence or character at its end.
  private func wholePiece() -> String {
    var end = rest.count
    if let start = rest.lastIndex(of: 0x1B),
      !rest[start...].contains(where: { UnicodeScalar($0).properties.isAlphabetic })
    {
      end = start
    }
    for _ in 0..<3 where end > 0 && String(validating: rest[..<end], as: UTF8.self) == nil {
      end -= 1
    }
    defer { rest = Array(rest[end...]) }
    return String(decoding: rest[..<end], as: UTF8.self)
  }

  /// Whether this system provides terminals.
  static var isAvailable: Bool {
    var (master, near) = (Int32(-1), Int32(-1))
    guard openpty(&master, &near, nil, nil, nil) == 0 else { return false }
    close(master)
    close(near)
    return true
  }
}

@Suite("A board on a terminal", .enabled(if: Terminal.isAvailable)) struct BoardTerminalTests {
  private static func store(at path: String) throws {
    let store = try Store(at: path)
    for day in 1...4 {
      try store.write { tx in
        tx.timestamp = try ISO8601.parse("2013-01-0\(day)")
        if day == 1 {
          try tx.define("dep", FieldIndex(bucket: "f", group: "o", order: [.init("t")]))
        }
        try tx.put(
          Array(#"{"o":"JFK","t":\#(10 - day)}"#.utf8), for: Key("k\(day)"),
          in: Bucket<[UInt8]>.bytes("f"))
      }
    }
    try store.close()
  }

  /// A board on a terminal that no other process keeps open.
  private static func board(_ arguments: [String], on terminal: Terminal) throws -> Process {
    let process = Process()
    process.executableURL = try #require(GoldenScript.products).appending(path: "treering")
    process.arguments = ["board"] + arguments
    let near = FileHandle(fileDescriptor: terminal.descriptor, closeOnDealloc: false)
    process.standardInput = near
    process.standardOutput = near
    process.standardError = FileHandle.nullDevice
    try process.run()
    terminal.hangUp()
    return process
  }

  @Test("A board whose first rows cannot be read restores the terminal, and its exit code says so")
  func damage() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/s.ring"
    let store = try Store(at: path)
    try store.write { tx in
      try tx.define("dep", FieldIndex(bucket: "f", group: "o", order: [.init("t")]))
      // The object is too long for the trees, so damage to the log leaves the trees sound.
      let object = #"{"o":"JFK","t":9,"x":"\#(String(repeating: "x", count: 2_000))"}"#
      try tx.put(Array(object.utf8), for: "k", in: Bucket<[UInt8]>.bytes("f"))
    }
    try store.close()
    let names = try FileManager.default.contentsOfDirectory(atPath: path + "/log")
    let segment = URL(filePath: path + "/log/" + (try #require(names.first)))
    var bytes = try Data(contentsOf: segment)
    let object = try #require(bytes.range(of: Data(#"{"o":"JFK","t":9"#.utf8)))
    bytes[object.lowerBound] ^= 1
    try bytes.write(to: segment)
    let terminal = try Terminal(height: 10, width: 120)
    let process = try Self.board([path, "dep", "--limit", "0"], on: terminal)
    _ = terminal.wait { _ in false }
    process.waitUntilExit()
    #expect(process.terminationStatus == 74)
    let screen = terminal.model
    #expect(!screen.isAlternate && screen.showsCursor && screen.wraps)
    #expect(terminal.isCooked)
  }

  @Test("It replays from before the first commit, obeys keys, and restores the terminal")
  func keys() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/s.ring"
    try Self.store(at: path)
    let terminal = try Terminal(height: 10, width: 120)
    #expect(terminal.isCooked)
    let process = try Self.board(
      [path, "dep", "--from", "2012-01-01", "--speed", "1", "--fields", "t"], on: terminal)
    func footer(_ screen: TerminalModel, _ commit: Int, _ state: String) -> Bool {
      screen.lines[9].hasPrefix("[\(state)]  commit \(commit) ")
    }
    try #require(terminal.wait { footer($0, 1, "replay 1×") })
    #expect(!terminal.isCooked)
    #expect(terminal.model.isAlternate && !terminal.model.wraps)
    #expect(terminal.model.lines[..<4] == ["  t", "JFK  (1 row)", "  9", ""])
    terminal.type(" ")
    try #require(terminal.wait { footer($0, 1, "paused") })
    terminal.type("n")
    try #require(terminal.wait { footer($0, 2, "paused") })
    #expect(terminal.model.lines[..<5] == ["  t", "JFK  (2 rows)", "  8", "  9", ""])
    terminal.type("n+ ")
    try #require(terminal.wait { footer($0, 3, "replay 2×") })
    terminal.type("-")
    try #require(terminal.wait { footer($0, 3, "replay 1×") })
    terminal.type("nn")
    try #require(terminal.wait { footer($0, 4, "the end") })
    #expect(terminal.model.lines[..<7] == ["  t", "JFK  (4 rows)", "  6", "  7", "  8", "  9", ""])
    terminal.type("q")
    try #require(terminal.wait { !$0.isAlternate && $0.showsCursor && $0.wraps })
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(terminal.isCooked)
  }

  @Test("Ctrl-C ends it with exit code 130, and restores the terminal")
  func interrupted() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/s.ring"
    try Self.store(at: path)
    let terminal = try Terminal(height: 10, width: 120)
    let process = try Self.board([path, "dep", "--fields", "t"], on: terminal)
    try #require(terminal.wait { $0.lines[9].contains("commit 4") })
    process.interrupt()
    _ = terminal.wait { _ in false }
    process.waitUntilExit()
    #expect(process.terminationStatus == 130)
    let screen = terminal.model
    #expect(!screen.isAlternate && screen.showsCursor && screen.wraps)
    #expect(terminal.isCooked)
  }
}
