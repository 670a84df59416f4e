// Tables with a value that is far longer than a line.

import Foundation
import TestSupport
import Testing

@testable import treering

@Suite("Tables") struct TableTests {
  private static let hugeByteCount = 10 << 20
  private static let lineCount = 12

  /// Prints a head, a row with a value of ten megabytes, and ten rows with short values.
  private func printRows(to output: Output) throws {
    let table = Table(output, [.left("key"), .left("text"), .right("bytes")])
    let huge = String(repeating: "x", count: Self.hugeByteCount)
    try table.row("huge", huge, "\(huge.utf8.count)")
    for number in 0..<Self.lineCount - 2 { try table.row("short \(number)", "x", "1") }
    try table.finish()
    try output.flush()
  }

  @Test("A huge value makes its own line long and no other: columns have a greatest width")
  func file() throws {
    let folder = try TemporaryFolder()
    let written = try WrittenOutput(in: folder)
    try printRows(to: written.output)
    let text = try written.take()
    #expect(text.utf8.count >= Self.hugeByteCount)
    #expect(text.utf8.count < Self.hugeByteCount + Self.lineCount * 100)
  }

  @Test("On a terminal the line of a huge value ends at the edge")
  func terminal() throws {
    var (master, near) = (Int32(-1), Int32(-1))
    var size = winsize()
    (size.ws_row, size.ws_col) = (24, 80)
    // Not every system provides terminals.
    guard openpty(&master, &near, nil, nil, &size) == 0 else { return }
    defer { for end in [master, near] { close(end) } }
    // A terminal holds a few thousand bytes. It refuses more instead of waiting for a reader.
    _ = fcntl(near, F_SETFL, O_NONBLOCK)
    try printRows(to: Output(isJSON: false, descriptor: near))
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    var foundCount: Int { text.count { $0 == UInt8(ascii: "\n") } }
    while foundCount < Self.lineCount {
      let count = read(master, &buffer, buffer.count)
      if count <= 0 { break }
      text += buffer[..<count]
    }
    #expect(foundCount == Self.lineCount)
    #expect(text.count < Self.lineCount * 100)
  }
}
