// Reads the line of one commit. Members and operations are read in place; strings are unescaped and
// values copied without space into the contents buffer as they are met.

internal import TreeRingLog

/// A position in a commit's line and what has been read so far.
struct CommitLineReader {
  var scanner: JSONScanner
  var at: Timestamp?
  var note: String?
  var tags: [String] = []
  var operations: [CommitLine.Operation] = []
  var contents: [UInt8] = []
  private var scratch: [UInt8] = []

  init(_ scanner: JSONScanner) { self.scanner = scanner }

  private enum Field: UInt8 {
    case at = 1
    case note = 2
    case tags = 4
    case ops = 8
  }

  func error(_ sentence: String, at offset: Int? = nil) -> TreeRingError {
    TreeRingError(.invalidInput, sentence, offset: UInt64(offset ?? scanner.position))
  }

  mutating func readCommit() throws(TreeRingError) {
    guard scanner.expect(UInt8(ascii: "{")) else {
      throw error("A commit's line is one JSON object")
    }
    var seen: UInt8 = 0
    scanner.skipSpace()
    if !scanner.take(UInt8(ascii: "}")) {
      repeat {
        scanner.skipSpace()
        try readField(&seen)
        scanner.skipSpace()
      } while scanner.take(UInt8(ascii: ","))
      guard scanner.expect(UInt8(ascii: "}")) else { throw scanner.error }
    }
    try scanner.finish()
  }

  private mutating func readField(_ seen: inout UInt8) throws(TreeRingError) {
    let start = scanner.position
    let name = try nameOfField()
    guard scanner.expect(UInt8(ascii: ":")) else { throw scanner.error }
    scanner.skipSpace()
    let field: Field
    switch name {
    case "at": field = .at
    case "note": field = .note
    case "tags": field = .tags
    case "ops": field = .ops
    default: throw error("The commit has an unknown field “\(name)”", at: start)
    }
    guard seen & field.rawValue == 0 else {
      throw error("The commit has its field “\(name)” twice", at: start)
    }
    seen |= field.rawValue
    switch field {
    case .at: at = try readDate()
    case .note: note = try readText("The commit's note")
    case .tags: try readTags()
    case .ops: try readOperations()
    }
  }

  /// The name at the position. Static ones are recognised without being decoded.
  private mutating func nameOfField() throws(TreeRingError) -> String {
    let token = try readToken("A field's name")
    return String(decoding: token, as: UTF8.self)
  }

  /// The decoded text of the string at the position, in memory that the next call uses again.
  private mutating func readToken(_ what: StaticString) throws(TreeRingError) -> [UInt8] {
    guard scanner.position < scanner.bytes.count else {
      _ = scanner.fail(.endOfText)
      throw scanner.error
    }
    guard scanner.bytes[scanner.position] == UInt8(ascii: "\"") else {
      throw error("\(what) must be a string")
    }
    let range = try scanner.nextValue()
    scratch.removeAll(keepingCapacity: true)
    JSONScanner.appendString(scanner.slice(range), to: &scratch)
    return scratch
  }

  private mutating func readText(_ what: StaticString) throws(TreeRingError) -> String {
    String(decoding: try readToken(what), as: UTF8.self)
  }

  private mutating func readDate() throws(TreeRingError) -> Timestamp {
    let start = scanner.position
    let token = try readToken("The commit's date")
    do throws(TreeRingError) {
      return try token.withUnsafeBufferPointer { (buffer) throws(TreeRingError) in
        try ISO8601.parse(UnsafeRawBufferPointer(buffer))
      }
    } catch {
      var placed = error
      placed.offset = UInt64(start)
      throw placed
    }
  }

  private mutating func readTags() throws(TreeRingError) {
    guard scanner.take(UInt8(ascii: "[")) else {
      throw error("The commit's tags must be an array")
    }
    scanner.skipSpace()
    if scanner.take(UInt8(ascii: "]")) { return }
    repeat {
      scanner.skipSpace()
      tags.append(try readText("A tag"))
      scanner.skipSpace()
    } while scanner.take(UInt8(ascii: ","))
    guard scanner.expect(UInt8(ascii: "]")) else { throw scanner.error }
  }

  private mutating func readOperations() throws(TreeRingError) {
    guard scanner.take(UInt8(ascii: "[")) else {
      throw error("The commit's operations must be an array")
    }
    scanner.skipSpace()
    if scanner.take(UInt8(ascii: "]")) { return }
    repeat {
      scanner.skipSpace()
      try readOperation()
      scanner.skipSpace()
    } while scanner.take(UInt8(ascii: ","))
    guard scanner.expect(UInt8(ascii: "]")) else { throw scanner.error }
  }

  private mutating func readOperation() throws(TreeRingError) {
    let start = scanner.position
    guard scanner.take(UInt8(ascii: "[")) else { throw error("An operation must be an array") }
    scanner.skipSpace()
    let name = try readToken("An operation's kind")
    guard let kind = Self.kind(name) else {
      let text = String(decoding: name, as: UTF8.self)
      throw error("“\(text)” is no kind of operation", at: start)
    }
    var operation = CommitLine.Operation(kind)
    switch kind {
    case .tag:
      operation.key = try readName()
      operation.commit = try readNumber()
    case .index:
      operation.key = try readName()
      operation.object = try readDefinition()
    case .place: try readPlace(&operation)
    default: try readRow(&operation)
    }
    scanner.skipSpace()
    guard scanner.take(UInt8(ascii: "]")) else {
      throw error("An operation “\(kind.rawValue)” has too many parts, or is not closed")
    }
    operations.append(operation)
  }

  private static func kind(_ name: [UInt8]) -> CommitLine.Kind? {
    // The frequent one first; the others by the text.
    if name.count == 3, name[0] == UInt8(ascii: "p"), name[1] == UInt8(ascii: "u"),
      name[2] == UInt8(ascii: "t")
    {
      return .put
    }
    return CommitLine.Kind(rawValue: String(decoding: name, as: UTF8.self))
  }

  private mutating func readRow(_ operation: inout CommitLine.Operation) throws(TreeRingError) {
    operation.bucket = try readName()
    operation.key = try readKey()
    switch operation.kind {
    case .put:
      operation.object = try readContent()
      scanner.skipSpace()
      if scanner.position < scanner.bytes.count,
        scanner.bytes[scanner.position] == UInt8(ascii: ",")
      {
        operation.metadata = try readContent()
      }
    case .object: operation.object = try readContent()
    case .metadata: operation.metadata = try readContent()
    default: break
    }
  }

  private mutating func readPlace(
    _ operation: inout CommitLine.Operation
  ) throws(TreeRingError) {
    operation.index = try readName()
    operation.group = try readKey()
    operation.bucket = try readName()
    operation.key = try readKey()
    try comma()
    if !(try readNull()) { operation.before = try appendKey() }
  }

  private mutating func comma() throws(TreeRingError) {
    guard scanner.expect(UInt8(ascii: ",")) else { throw error("The operation lacks a part") }
    scanner.skipSpace()
  }

  private mutating func readNull() throws(TreeRingError) -> Bool {
    guard scanner.position < scanner.bytes.count,
      scanner.bytes[scanner.position] == UInt8(ascii: "n")
    else { return false }
    _ = try scanner.nextValue()
    return true
  }

  /// A string after a comma.
  private mutating func readName() throws(TreeRingError) -> Range<Int> {
    try comma()
    return try appendToken("A name")
  }

  /// Copies the text of the string at the position to the contents.
  private mutating func appendToken(_ what: StaticString) throws(TreeRingError) -> Range<Int> {
    guard scanner.position < scanner.bytes.count,
      scanner.bytes[scanner.position] == UInt8(ascii: "\"")
    else { throw error("\(what) must be a string") }
    let start = contents.count
    let token = try scanner.nextValue()
    JSONScanner.appendString(scanner.slice(token), to: &contents)
    return start..<contents.count
  }

  /// A string or bytes in base 64, after a comma.
  private mutating func readKey() throws(TreeRingError) -> Range<Int> {
    try comma()
    return try appendKey()
  }

  private mutating func appendKey() throws(TreeRingError) -> Range<Int> {
    let offset = scanner.position
    guard offset < scanner.bytes.count, scanner.bytes[offset] == UInt8(ascii: "{") else {
      return try appendToken("A key")
    }
    let start = contents.count
    let value = try scanner.nextValue()
    guard try Base64.appendWrapped(scanner.slice(value), to: &contents) else {
      throw error("A key must be a string or {\"$base64\":…}", at: offset)
    }
    return start..<contents.count
  }

  /// Any JSON after a comma, or the bytes that it stands for.
  private mutating func readContent() throws(TreeRingError) -> Range<Int> {
    try comma()
    let offset = scanner.position
    let start = contents.count
    try scanner.copyCompact(to: &contents)
    let value = scanner.slice(offset..<scanner.position)
    if value.first == UInt8(ascii: "{"), Base64.mayBeWrapped(value) {
      var decoded: [UInt8] = []
      if try Base64.appendWrapped(value, to: &decoded) {
        contents.removeLast(contents.count - start)
        contents.append(contentsOf: decoded)
      }
    }
    return start..<contents.count
  }

  private mutating func readDefinition() throws(TreeRingError) -> Range<Int>? {
    try comma()
    if try readNull() { return nil }
    let start = contents.count
    try scanner.copyCompact(to: &contents)
    return start..<contents.count
  }

  private mutating func readNumber() throws(TreeRingError) -> CommitNumber {
    try comma()
    let offset = scanner.position
    let token = scanner.slice(try scanner.nextValue())
    guard let number = CommitNumber(String(decoding: token, as: UTF8.self)) else {
      throw error("A commit number must be a whole number", at: offset)
    }
    return number
  }
}
