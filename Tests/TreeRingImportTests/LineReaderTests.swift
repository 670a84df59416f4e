import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingImport
@testable import TreeRingLog

@Suite struct LineReaderTests {
  private func lines(_ reader: LineReader) throws -> [String] {
    var lines: [String] = []
    while let line = try reader.next() { lines.append(String(decoding: line, as: UTF8.self)) }
    return lines
  }

  /// A reader with a source that gives a few bytes at a time.
  private func slowReader(_ bytes: [UInt8], piece: Int) -> LineReader {
    var offset = 0
    return LineReader { target in
      let count = min(piece, target.count, bytes.count - offset)
      target.copyBytes(from: bytes[offset..<offset + count])
      offset += count
      return count
    }
  }

  /// The bytes as an LZ4 frame of uncompressed blocks, which the format allows.
  private func frame(_ text: String, blockByteCount: Int = 100) -> [UInt8] {
    // Magic, version 1 with independent blocks, 64 KiB blocks, and the header's checksum byte.
    var bytes: [UInt8] = [0x04, 0x22, 0x4D, 0x18, 0x60, 0x40, 0x82]
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let block = rest.prefix(blockByteCount)
      rest = rest.dropFirst(blockByteCount)
      withUnsafeBytes(of: (UInt32(block.count) | 1 << 31).littleEndian) {
        bytes.append(contentsOf: $0)
      }
      bytes.append(contentsOf: block)
    }
    return bytes + [0, 0, 0, 0]
  }

  @Test("Lines end at line feeds, may end in carriage returns, and the last may lack both")
  func endings() throws {
    #expect(try lines(LineReader(bytes: [])) == [])
    #expect(try lines(LineReader(bytes: Array("\n".utf8))) == [""])
    #expect(
      try lines(LineReader(bytes: Array("a\r\n\nb\rc\nlast".utf8))) == ["a", "", "b\rc", "last"])
    let reader = LineReader(bytes: Array("ab\ncd".utf8))
    _ = try lines(reader)
    #expect(reader.lineNumber == 2 && reader.lineByteCount == 5 && reader.sourceByteCount == 5)
  }

  @Test("Lines come out whole however the source cuts them, compressed or not")
  func pieces() throws {
    let expected = (0..<50).map { String(repeating: "x", count: $0 * 7) + "\($0)" }
    let text = expected.joined(separator: "\n")
    for piece in [1, 2, 3, 5, 64, 1 << 20] {
      #expect(try lines(slowReader(Array(text.utf8), piece: piece)) == expected)
      #expect(try lines(slowReader(frame(text), piece: piece)) == expected)
    }
  }

  @Test("A line may be longer than every buffer")
  func longLine() throws {
    let long = String(repeating: "0123456789", count: 300_000)
    #expect(try lines(LineReader(bytes: Array("a\n\(long)\nb".utf8))) == ["a", long, "b"])
  }

  @Test("LZ4 frames may follow each other, with skippable ones between them")
  func frames() throws {
    let skippable: [UInt8] = [0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3]
    let bytes = skippable + frame("one\ntw") + skippable + frame("") + frame("o\nthree\n")
    #expect(try lines(LineReader(bytes: bytes)) == ["one", "two", "three"])
  }

  @Test("A stream that is damaged or cut off anywhere is refused")
  func damage() throws {
    let whole = frame("one\ntwo\nthree", blockByteCount: 4)
    for count in 5..<whole.count {
      #expect(throws: TreeRingError.self, "cut at \(count)") {
        try lines(LineReader(bytes: Array(whole.prefix(count))))
      }
    }
    var damaged = whole
    damaged[6] ^= 1
    #expect(throws: TreeRingError.self) { try lines(LineReader(bytes: damaged)) }
  }
}
