// Reads lines from sources of bytes, one after the other; each may be LZ4-compressed. Lines are
// returned in place, in one reused buffer, so a long file costs no allocation per line.

package import TreeRingLog
internal import TreeRingPlatform

/// The lines of files or other sources of bytes, for ``CommitReader`` and ``RowReader``.
///
/// A source may be LZ4-compressed; its first bytes tell. A byte order mark before its first line is
/// dropped. Memory holds some 768 KiB, or twice the longest line if that is more. For one thread at
/// a time.
public final class LineReader {
  /// Fills a buffer and returns the number of bytes; 0 at the end.
  public typealias Source = (UnsafeMutableRawBufferPointer) throws -> Int

  /// The name of the file of the last line; nil for a source that is no file.
  public private(set) var file: String?
  /// The number of the last line in its source; the first is 1.
  public private(set) var lineNumber = 0
  /// The number of bytes read from all sources, compressed or not.
  public private(set) var sourceByteCount: UInt64 = 0
  /// The number of bytes of all returned lines, with their line feeds.
  public private(set) var lineByteCount: UInt64 = 0
  /// The number of the source of the last line; the first is 1.
  private(set) var sourceNumber = 0
  /// Whether the last line had a carriage return before its line feed.
  private(set) var hadCarriageReturn = false

  private static let pieceByteCount = 1 << 18

  private let open: () throws -> (file: String?, source: Source)?
  /// The current source; nil before the first and after the last one.
  private var source: Source?
  private var decoder: LZ4StreamDecoder?
  private var hasStarted = false
  private var sourceEnded = false
  /// The next line if `peek` has read it; the inner nil stands for the end.
  private var peeked: UnsafeRawBufferPointer??
  /// Compressed bytes not decoded yet: `input[inputStart..<inputEnd]`.
  private let input: UnsafeMutableRawBufferPointer
  private var inputStart = 0
  private var inputEnd = 0
  /// Bytes not returned yet: `buffer[start..<end]`.
  private var buffer: UnsafeMutableRawBufferPointer
  private var start = 0
  private var end = 0

  /// Creates a reader of several sources.
  ///
  /// - Parameter open: Opens the next source when the one before has ended; nil after the last.
  package init(opening open: @escaping () throws -> (file: String?, source: Source)?) {
    self.open = open
    input = .allocate(byteCount: Self.pieceByteCount, alignment: 16)
    buffer = .allocate(byteCount: 2 * Self.pieceByteCount, alignment: 16)
  }

  /// Creates a reader of a source.
  ///
  /// - Parameter source: Fills a buffer and returns the number of bytes; 0 at the end. Readers
  ///   throw its errors.
  public convenience init(_ source: @escaping Source) {
    var waiting: Source? = source
    self.init {
      defer { waiting = nil }
      return waiting.map { (nil, $0) }
    }
  }

  /// Creates a reader of files, one after the other. Each is opened when the one before has ended;
  /// readers then throw `notFound` or `io`.
  public convenience init(files: [String]) {
    var waiting = files[...]
    self.init {
      guard let file = waiting.popFirst() else { return nil }
      return (file, try Self.source(of: file))
    }
  }

  /// Creates a reader of bytes in memory.
  public convenience init(bytes: [UInt8]) {
    var offset = 0
    self.init { target in
      let count = min(target.count, bytes.count - offset)
      target.copyBytes(from: bytes[offset..<offset + count])
      offset += count
      return count
    }
  }

  deinit {
    input.deallocate()
    buffer.deallocate()
  }

  private static func source(of file: String) throws(TreeRingError) -> Source {
    let input = try InputFile(file)
    return { try input.read(into: $0) }
  }

  // MARK: - Lines

  /// The line that `next` will return; nil at the end.
  package func peek() throws -> UnsafeRawBufferPointer? {
    if let peeked { return peeked }
    let line = try read()
    peeked = .some(line)
    return line
  }

  /// The next line without its line feed, or a carriage return before it; nil at the end.
  ///
  /// The bytes are valid until the next call of this or `peek`. A last line may lack its line feed.
  /// - Throws: errors of the source; `invalidInput` if an LZ4 stream is damaged or cut off.
  package func next() throws -> UnsafeRawBufferPointer? {
    let line = try peek()
    peeked = nil
    return line
  }

  /// The last line's file and number, for errors.
  var place: LinePlace { LinePlace(file: file, line: lineNumber) }

  /// An error that the last line causes.
  func error(_ sentence: String) -> TreeRingError { place.error(sentence) }

  /// Adds the place of the last line to an error without a line.
  package func located(_ error: TreeRingError) -> TreeRingError { place.located(error) }

  private func read() throws -> UnsafeRawBufferPointer? {
    while true {
      if source == nil {
        guard let next = try open() else { return nil }
        begin(next.source, of: next.file)
      }
      if let line = try nextOfSource() { return lineNumber == 1 ? withoutMark(line) : line }
      source = nil
    }
  }

  private func begin(_ next: @escaping Source, of file: String?) {
    (source, self.file) = (next, file)
    sourceNumber += 1
    lineNumber = 0
    decoder = nil
    (hasStarted, sourceEnded) = (false, false)
    (inputStart, inputEnd, start, end) = (0, 0, 0, 0)
  }

  private func nextOfSource() throws -> UnsafeRawBufferPointer? {
    var searched = start
    while true {
      if let feed = lineFeed(from: searched) { return line(to: feed, next: feed + 1) }
      searched = end - start
      if try !fill() { return start == end ? nil : line(to: end, next: end) }
      searched += start
    }
  }

  /// The bytes up to `last` as a line; the next line begins at `next`.
  private func line(to last: Int, next: Int) -> UnsafeRawBufferPointer {
    defer { start = next }
    lineNumber += 1
    lineByteCount += UInt64(next - start)
    hadCarriageReturn = last > start && buffer[last - 1] == UInt8(ascii: "\r")
    return UnsafeRawBufferPointer(rebasing: buffer[start..<(hadCarriageReturn ? last - 1 : last)])
  }

  private func withoutMark(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    line.starts(with: [0xEF, 0xBB, 0xBF]) ? UnsafeRawBufferPointer(rebasing: line[3...]) : line
  }

  private func lineFeed(from offset: Int) -> Int? {
    guard let base = buffer.baseAddress,
      let found = memchr(base + offset, Int32(UInt8(ascii: "\n")), end - offset)
    else { return nil }
    return UnsafeRawPointer(found) - UnsafeRawPointer(base)
  }

  // MARK: - Bytes

  /// Adds bytes after `end`.
  /// - Returns: false at the end of the source.
  private func fill() throws -> Bool {
    makeRoom()
    if !hasStarted { try detectCompression() }
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer[end...])
    if let decoder { return try decode(with: decoder, into: room) }
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

  private func decode(
    with decoder: LZ4StreamDecoder, into room: UnsafeMutableRawBufferPointer
  ) throws -> Bool {
    while true {
      let piece = UnsafeRawBufferPointer(rebasing: input[inputStart..<inputEnd])
      do throws(TreeRingError) {
        let (taken, written) = try decoder.decode(piece, into: room)
        inputStart += taken
        end += written
        if written > 0 { return true }
      } catch {
        throw LinePlace(file: file, line: lineNumber + 1).located(error)
      }
      guard inputStart == inputEnd else { continue }
      inputStart = 0
      inputEnd = try read(into: input)
      if inputEnd > 0 { continue }
      if decoder.isAtFrameEnd { return false }
      throw LinePlace(file: file, line: lineNumber + 1).error("The LZ4 stream is cut off.")
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
  private func detectCompression() throws {
    hasStarted = true
    while inputEnd < 4 {
      let count = try read(into: UnsafeMutableRawBufferPointer(rebasing: input[inputEnd...]))
      if count == 0 { break }
      inputEnd += count
    }
    let head = UnsafeRawBufferPointer(rebasing: input[..<inputEnd])
    if LZ4StreamDecoder.recognizes(head) { decoder = try LZ4StreamDecoder() }
  }

  private func read(into target: UnsafeMutableRawBufferPointer) throws -> Int {
    guard let source, !sourceEnded else { return 0 }
    let count = try source(target)
    sourceEnded = count == 0
    sourceByteCount += UInt64(count)
    return count
  }
}

/// The place of a line.
struct LinePlace {
  var file: String?
  var line: Int

  /// An error that the line causes.
  func error(_ sentence: String) -> TreeRingError {
    located(TreeRingError(.invalidInput, sentence))
  }

  /// Adds the place to an error without a line.
  func located(_ error: TreeRingError) -> TreeRingError {
    if error.line != nil { return error }
    var error = error
    error.file = file
    error.line = line
    return error
  }
}
