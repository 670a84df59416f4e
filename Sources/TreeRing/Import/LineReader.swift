// Reads lines from a source of bytes that may be LZ4-compressed. Lines are returned in place, in
// one reused buffer, so a long file costs no allocation per line.

internal import Foundation
package import TreeRingLog

/// A source of bytes, cut into lines.
package final class LineReader {
  /// Fills a buffer and returns the number of bytes; 0 at the end.
  package typealias Source = (UnsafeMutableRawBufferPointer) throws(TreeRingError) -> Int

  /// The number of the last returned line; the first is 1.
  package private(set) var lineNumber = 0
  /// The number of bytes read from the source, compressed or not.
  package private(set) var sourceByteCount: UInt64 = 0
  /// The number of bytes of the returned lines, with their line feeds.
  package private(set) var lineByteCount: UInt64 = 0

  private static let pieceByteCount = 1 << 18

  private let source: Source
  private var decoder: LZ4StreamDecoder?
  private var hasStarted = false
  private var sourceEnded = false
  /// Compressed bytes not decoded yet: `input[inputStart..<inputEnd]`.
  private let input: UnsafeMutableRawBufferPointer
  private var inputStart = 0
  private var inputEnd = 0
  /// Bytes not returned yet: `buffer[start..<end]`.
  private var buffer: UnsafeMutableRawBufferPointer
  private var start = 0
  private var end = 0

  /// Creates a reader of a source. It recognises LZ4 by the first bytes.
  package init(_ source: @escaping Source) {
    self.source = source
    input = .allocate(byteCount: Self.pieceByteCount, alignment: 16)
    buffer = .allocate(byteCount: 2 * Self.pieceByteCount, alignment: 16)
  }

  /// Creates a reader of bytes in memory.
  package convenience init(bytes: [UInt8]) {
    var offset = 0
    self.init { (target) throws(TreeRingError) in
      let count = min(target.count, bytes.count - offset)
      bytes.withUnsafeBytes { all in
        target.copyMemory(from: UnsafeRawBufferPointer(rebasing: all[offset..<offset + count]))
      }
      offset += count
      return count
    }
  }

  deinit {
    input.deallocate()
    buffer.deallocate()
  }

  /// The next line without its line feed, or a carriage return before it; nil at the end.
  ///
  /// The bytes are valid until the next call. A last line may lack its line feed.
  /// - Throws: errors of the source; `invalidInput` if an LZ4 stream is damaged or cut off.
  package func next() throws(TreeRingError) -> UnsafeRawBufferPointer? {
    var searched = start
    while true {
      if let feed = lineFeed(from: searched) {
        defer { start = feed + 1 }
        return line(start..<feed, byteCount: feed + 1 - start)
      }
      searched = end - start
      if try !fill() {
        if start == end { return nil }
        defer { start = end }
        return line(start..<end, byteCount: end - start)
      }
      searched += start
    }
  }

  private func line(_ range: Range<Int>, byteCount: Int) -> UnsafeRawBufferPointer {
    lineNumber += 1
    lineByteCount += UInt64(byteCount)
    var upper = range.upperBound
    if upper > range.lowerBound, buffer[upper - 1] == UInt8(ascii: "\r") { upper -= 1 }
    return UnsafeRawBufferPointer(rebasing: buffer[range.lowerBound..<upper])
  }

  private func lineFeed(from offset: Int) -> Int? {
    guard let base = buffer.baseAddress,
      let found = memchr(base + offset, Int32(UInt8(ascii: "\n")), end - offset)
    else { return nil }
    return UnsafeRawPointer(found) - UnsafeRawPointer(base)
  }

  /// Adds bytes after `end`.
  /// - Returns: false at the end of the source.
  private func fill() throws(TreeRingError) -> Bool {
    makeRoom()
    if !hasStarted { try begin() }
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer[end...])
    guard let decoder else {
      if inputStart < inputEnd {
        room.copyMemory(from: UnsafeRawBufferPointer(rebasing: input[inputStart..<inputEnd]))
        end += inputEnd - inputStart
        inputStart = inputEnd
        return true
      }
      let count = try read(into: room)
      end += count
      return count > 0
    }
    while true {
      let piece = UnsafeRawBufferPointer(rebasing: input[inputStart..<inputEnd])
      let (taken, written) = try decoder.decode(piece, into: room)
      inputStart += taken
      end += written
      if written > 0 { return true }
      if inputStart == inputEnd {
        inputStart = 0
        inputEnd = try read(into: input)
        if inputEnd == 0 {
          if decoder.isAtFrameEnd { return false }
          throw TreeRingError(.invalidInput, "The LZ4 stream is cut off.")
        }
      }
    }
  }

  /// Moves the rest to the front, and doubles a buffer that one line fills.
  private func makeRoom() {
    let count = end - start
    if count > buffer.count / 2 {
      let larger = UnsafeMutableRawBufferPointer.allocate(
        byteCount: buffer.count * 2, alignment: 16)
      larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[start..<end]))
      buffer.deallocate()
      buffer = larger
    } else if start > 0, let base = buffer.baseAddress {
      base.copyMemory(from: base + start, byteCount: count)
    }
    start = 0
    end = count
  }

  /// Reads the first piece and detects LZ4.
  private func begin() throws(TreeRingError) {
    hasStarted = true
    while inputEnd < 4 {
      let count = try read(into: UnsafeMutableRawBufferPointer(rebasing: input[inputEnd...]))
      if count == 0 { break }
      inputEnd += count
    }
    let head = UnsafeRawBufferPointer(rebasing: input[..<inputEnd])
    if LZ4StreamDecoder.recognizes(head) { decoder = try LZ4StreamDecoder() }
  }

  private func read(into target: UnsafeMutableRawBufferPointer) throws(TreeRingError) -> Int {
    if sourceEnded { return 0 }
    let count = try source(target)
    sourceEnded = count == 0
    sourceByteCount += UInt64(count)
    return count
  }
}
