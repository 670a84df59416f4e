// Cuts a JSON array that may span many lines into its elements. It only counts brackets outside
// strings; each element is then checked as JSON of its own.

internal import TreeRing
internal import TreeRingLog

/// A position in a JSON array.
struct ArrayElements {
  private enum State {
    case atStart, afterElement, ended
  }

  private var state = State.atStart
  /// The current line, and the first byte of it not yet read.
  private var line: [UInt8]
  private var position = 0
  private var sourceNumber = 0

  /// Begins at the line with the opening bracket.
  init(_ line: UnsafeRawBufferPointer) {
    self.line = Array(line)
    position = (self.line.firstIndex(of: UInt8(ascii: "[")) ?? 0) + 1
  }

  /// Appends the next element without its space; false after the last.
  ///
  /// - Parameter lines: The reader that has returned the array's first line.
  mutating func next(from lines: LineReader, into output: inout [UInt8]) throws -> Bool {
    if state == .ended { return false }
    if state == .atStart { sourceNumber = lines.sourceNumber }
    var byte = try nextNonspace(from: lines)
    if byte == UInt8(ascii: "]") { return try end(lines) }
    if state == .afterElement {
      guard byte == UInt8(ascii: ",") else {
        throw lines.error("A comma or “]” should follow the element of the JSON array.")
      }
      position += 1
      byte = try nextNonspace(from: lines)
    }
    state = .afterElement
    let element = try element(from: lines)
    do throws(TreeRingError) {
      try element.withUnsafeBytes { (bytes) throws(TreeRingError) in
        try JSONScanner.appendCompact(bytes, to: &output)
      }
    } catch {
      var error = error
      // The offset would be that in the element.
      error.offset = nil
      throw lines.located(error)
    }
    return true
  }

  private mutating func end(_ lines: LineReader) throws -> Bool {
    state = .ended
    let isBlank = line[(position + 1)...].allSatisfy { Self.isSpace($0) }
    guard isBlank else { throw lines.error("There is text after the end of the JSON array.") }
    return false
  }

  /// The bytes up to the comma or bracket that ends the element.
  private mutating func element(from lines: LineReader) throws -> [UInt8] {
    var element: [UInt8] = []
    var depth = 0
    var isInString = false
    var isEscaped = false
    while true {
      while position == line.count {
        element.append(UInt8(ascii: "\n"))
        try readLine(from: lines)
      }
      let byte = line[position]
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
        }
      } else {
        switch byte {
        case UInt8(ascii: "\""): isInString = true
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: ",") where depth == 0: return element
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
          if depth == 0 { return element }
          depth -= 1
        default: break
        }
      }
      element.append(byte)
      position += 1
    }
  }

  private mutating func nextNonspace(from lines: LineReader) throws -> UInt8 {
    while true {
      while position < line.count {
        if !Self.isSpace(line[position]) { return line[position] }
        position += 1
      }
      try readLine(from: lines)
    }
  }

  private mutating func readLine(from lines: LineReader) throws {
    let last = lines.place
    let next = try lines.peek()
    guard let next, lines.sourceNumber == sourceNumber else {
      throw last.error("The JSON array is not closed.")
    }
    line.replaceSubrange(0..., with: next)
    _ = try lines.next()
    position = 0
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n")].contains(byte)
  }
}
