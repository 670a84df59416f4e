// Reads the line of one commit. Members and operations are read in place. Unescaped strings and
// values without space are copied into the contents buffer in the order of reading.

internal import TreeRing
internal import TreeRingLog

/// A position in a commit's line and the content read so far.
struct CommitLineParser {
  var scanner: JSONScanner
  var line = CommitLine()
  private var scratch: [UInt8] = []

  init(_ scanner: JSONScanner) { self.scanner = scanner }

  private enum Field: UInt8 {
    case at = 1
    case note = 2
    case tags = 4
    case ops = 8
    case base = 16
    case dates = 32
    case buckets = 64
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
    let name = try readText("A field's name")
    guard scanner.expect(UInt8(ascii: ":")) else { throw scanner.error }
    scanner.skipSpace()
    let field: Field
    switch name {
    case "at": field = .at
    case "note": field = .note
    case "tags" where line.base == nil: field = .tags
    case "ops": field = .ops
    case "base": field = .base
    case "dates" where line.base != nil: field = .dates
    case "buckets" where line.base != nil: field = .buckets
    default: throw error("The commit has an unknown field “\(name)”", at: start)
    }
    guard seen & field.rawValue == 0 else {
      throw error("The commit has its field “\(name)” twice", at: start)
    }
    seen |= field.rawValue
    switch field {
    case .at: line.at = try readDate()
    case .note: line.note = try readText("The commit's note")
    case .tags:
      try readArray("The commit's tags") { (reader) throws(TreeRingError) in
        reader.line.tags.append(try reader.readText("A tag"))
      }
    case .ops:
      try readArray("The commit's operations") { (reader) throws(TreeRingError) in
        try reader.readOperation()
        if let base = reader.line.base { try reader.readNumbers(upTo: base) }
      }
    case .base:
      guard seen == Field.base.rawValue else {
        throw error("“base” must be the first field of its line", at: start)
      }
      line.base = try readWholeNumber()
    case .dates: try readDates()
    case .buckets:
      try readArray("The buckets") { (reader) throws(TreeRingError) in
        reader.line.buckets.append(try reader.readText("A bucket"))
      }
    }
  }

  /// The decoded text of the string at the position, in memory that the next call reuses.
  private mutating func readToken(_ what: StaticString) throws(TreeRingError) -> [UInt8] {
    guard scanner.position < scanner.bytes.count else {
      _ = scanner.fail(.endOfText)
      throw scanner.error
    }
    guard isAt("\"") else { throw error("\(what) must be a string") }
    let range = try scanner.nextValue()
    scratch.removeAll(keepingCapacity: true)
    guard JSONScanner.appendString(scanner.slice(range), to: &scratch) else {
      throw error("\(what) \(JSONScanner.loneSurrogate)", at: range.lowerBound)
    }
    return scratch
  }

  private mutating func readText(_ what: StaticString) throws(TreeRingError) -> String {
    String(decoding: try readToken(what), as: UTF8.self)
  }

  private mutating func readDate() throws(TreeRingError) -> Timestamp {
    let start = scanner.position
    let token = try readToken("The commit's date")
    do throws(TreeRingError) {
      return try token.withUnsafeBytes { (bytes) throws(TreeRingError) in
        try ISO8601.parse(bytes)
      }
    } catch {
      var placed = error
      placed.offset = UInt64(start)
      throw placed
    }
  }

  /// Calls `element` at each element of the array at the position.
  private mutating func readArray(
    _ what: StaticString, _ element: (inout Self) throws(TreeRingError) -> Void
  ) throws(TreeRingError) {
    guard scanner.take(UInt8(ascii: "[")) else { throw error("\(what) must be an array") }
    scanner.skipSpace()
    if scanner.take(UInt8(ascii: "]")) { return }
    repeat {
      scanner.skipSpace()
      try element(&self)
      scanner.skipSpace()
    } while scanner.take(UInt8(ascii: ","))
    guard scanner.expect(UInt8(ascii: "]")) else { throw scanner.error }
  }

  // MARK: - Bases

  /// Reads the numbers after an operation of a base: its commit; for a put also the commits that
  /// made and touched the row, and the operations in the first two. Omitted numbers have defaults:
  /// this operation made the row, nothing touched it, and the operation follows the previous one.
  private mutating func readNumbers(upTo base: CommitNumber) throws(TreeRingError) {
    scanner.skipSpace()
    guard scanner.take(UInt8(ascii: ",")) else {
      throw error("In a base each operation is followed by an array of its commit numbers")
    }
    scanner.skipSpace()
    let start = scanner.position
    var numbers: [CommitNumber] = []
    try readArray("An operation's commit numbers") { (reader) throws(TreeRingError) in
      numbers.append(try reader.readWholeNumber())
    }
    let last = line.operations.count - 1
    let isPut = line.operations[last].kind == .put
    let others: [CommitLine.Kind] = [.delete, .tag, .index, .place, .unplace]
    guard isPut || others.contains(line.operations[last].kind) else {
      throw error("A base has puts, deletes, tags, index definitions and places only", at: start)
    }
    guard let commit = numbers.first, commit > 0, commit <= base,
      numbers.count <= (isPut ? 5 : 1), numbers.dropFirst().prefix(2).allSatisfy({ $0 <= commit }),
      numbers.dropFirst(3).allSatisfy({ $0 < UInt64(UInt32.max) })
    else {
      throw error(
        "The numbers must be [WRITTEN,CREATED,TOUCHED,NUMBER,CREATING] for a put, else "
          + "[WRITTEN], with "
          + "no commit beyond the first, nor that beyond \(base)", at: start)
    }
    var written = last > 0 ? line.operations[last - 1].written.next(in: commit) : nil
    if numbers.count > 3 { written = Stamp(commit: commit, operation: UInt32(numbers[3])) }
    let stamp = written ?? Stamp(commit: commit, operation: 0)
    line.operations[last].written = stamp
    line.operations[last].created = stamp
    if numbers.count > 1, numbers[1] != 0 { line.operations[last].created.commit = numbers[1] }
    if line.operations[last].created.commit != commit {
      line.operations[last].created.operation = 0
    }
    if numbers.count > 4 { line.operations[last].created.operation = UInt32(numbers[4]) }
    line.operations[last].touched = numbers.count > 2 ? numbers[2] : 0
  }

  private mutating func readDates() throws(TreeRingError) {
    try readArray("The dates") { (reader) throws(TreeRingError) in
      let start = reader.scanner.position
      var (commit, at): (CommitNumber?, Timestamp?)
      try reader.readArray("A date") { (reader) throws(TreeRingError) in
        if commit == nil {
          commit = try reader.readWholeNumber()
        } else if at == nil {
          at = try reader.readDate()
        } else {
          throw reader.error("A date is [COMMIT,DATE]", at: start)
        }
      }
      guard let commit, let at, commit > reader.line.dates.last?.commit ?? 0 else {
        throw reader.error("The dates must be [COMMIT,DATE], by ascending commit", at: start)
      }
      reader.line.dates.append((commit, at))
    }
  }

  private mutating func readOperation() throws(TreeRingError) {
    let start = scanner.position
    guard scanner.take(UInt8(ascii: "[")) else { throw error("An operation must be an array") }
    scanner.skipSpace()
    let name = try readToken("An operation's kind")
    guard let (kind, coder) = Self.kind(name) else {
      let text = String(decoding: name, as: UTF8.self)
      throw error("“\(text)” is no kind of operation", at: start)
    }
    var operation = CommitLine.Operation(kind)
    operation.coder = coder
    switch kind {
    case .tag:
      operation.key = try readName()
      operation.commit = try readNumber()
    case .index:
      operation.key = try readName()
      operation.object = try readDefinition()
    case .place, .unplace: try readPlace(&operation)
    default: try readRow(&operation)
    }
    scanner.skipSpace()
    guard scanner.take(UInt8(ascii: "]")) else {
      throw error("An operation “\(kind.rawValue)” has too many parts, or is not closed")
    }
    line.operations.append(operation)
  }

  /// The kind of an operation, and the version of its object's coder.
  private static func kind(_ name: [UInt8]) -> (CommitLine.Kind, coder: UInt32)? {
    // The frequent kind first; the others by their text.
    if name.count == 3, name[0] == UInt8(ascii: "p"), name[1] == UInt8(ascii: "u"),
      name[2] == UInt8(ascii: "t")
    {
      return (.put, 0)
    }
    let text = String(decoding: name, as: UTF8.self)
    if let kind = CommitLine.Kind(rawValue: text) { return (kind, 0) }
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let coder = UInt32(parts[1]), coder > 0, String(coder) == parts[1]
    else { return nil }
    switch parts[0] {
    case "put": return (.put, coder)
    case "object": return (.object, coder)
    default: return nil
    }
  }

  private mutating func readRow(_ operation: inout CommitLine.Operation) throws(TreeRingError) {
    operation.bucket = try readName()
    operation.key = try readKey()
    switch operation.kind {
    case .put:
      operation.object = try readContent()
      scanner.skipSpace()
      if isAt(",") { operation.metadata = try readContent() }
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
    if operation.kind == .unplace { return }
    try comma()
    if try readNull() { return }
    operation.label = try appendWrapped(as: .label)
    if operation.label == nil { operation.before = try appendKey() }
  }

  /// Copies the bytes of an object with one member to the contents. Nil if the value is anything
  /// else; the position stays.
  private mutating func appendWrapped(
    as member: Base64.Member
  ) throws(TreeRingError) -> Range<Int>? {
    guard isAt("{") else { return nil }
    let offset = scanner.position
    let start = line.contents.count
    let value = try scanner.nextValue()
    if try Base64.appendWrapped(scanner.slice(value), as: member, to: &line.contents) {
      return start..<line.contents.count
    }
    scanner.position = offset
    return nil
  }

  /// Whether this byte stands at the position.
  @inline(__always)
  private func isAt(_ byte: Unicode.Scalar) -> Bool {
    scanner.position < scanner.bytes.count
      && scanner.bytes[scanner.position] == UInt8(ascii: byte)
  }

  private mutating func comma() throws(TreeRingError) {
    guard scanner.expect(UInt8(ascii: ",")) else { throw error("The operation lacks a part") }
    scanner.skipSpace()
  }

  private mutating func readNull() throws(TreeRingError) -> Bool {
    guard isAt("n") else { return false }
    _ = try scanner.nextValue()
    return true
  }

  /// Reads a string after a comma.
  private mutating func readName() throws(TreeRingError) -> Range<Int> {
    try comma()
    return try appendToken("A name")
  }

  /// Appends the text of the string at the position to the line's contents.
  private mutating func appendToken(_ what: StaticString) throws(TreeRingError) -> Range<Int> {
    guard isAt("\"") else { throw error("\(what) must be a string") }
    let start = line.contents.count
    let token = try scanner.nextValue()
    guard JSONScanner.appendString(scanner.slice(token), to: &line.contents) else {
      throw error("\(what) \(JSONScanner.loneSurrogate)", at: token.lowerBound)
    }
    return start..<line.contents.count
  }

  /// Reads a string or bytes in base 64, after a comma.
  private mutating func readKey() throws(TreeRingError) -> Range<Int> {
    try comma()
    return try appendKey()
  }

  private mutating func appendKey() throws(TreeRingError) -> Range<Int> {
    if let bytes = try appendWrapped(as: .bytes) { return bytes }
    if isAt("{") { throw error("A key must be a string or {\"$base64\":…}") }
    return try appendToken("A key")
  }

  /// Reads any JSON after a comma; for base 64 the bytes in it.
  private mutating func readContent() throws(TreeRingError) -> Range<Int> {
    try comma()
    let offset = scanner.position
    let start = line.contents.count
    try scanner.copyCompact(to: &line.contents)
    let value = scanner.slice(offset..<scanner.position)
    if value.first == UInt8(ascii: "{"), Base64.mayBeWrapped(value) {
      var decoded: [UInt8] = []
      if try Base64.appendWrapped(value, to: &decoded) {
        line.contents.removeLast(line.contents.count - start)
        line.contents.append(contentsOf: decoded)
      }
    }
    return start..<line.contents.count
  }

  private mutating func readDefinition() throws(TreeRingError) -> Range<Int>? {
    try comma()
    if try readNull() { return nil }
    let start = line.contents.count
    try scanner.copyCompact(to: &line.contents)
    return start..<line.contents.count
  }

  private mutating func readNumber() throws(TreeRingError) -> CommitNumber {
    try comma()
    return try readWholeNumber()
  }

  private mutating func readWholeNumber() throws(TreeRingError) -> CommitNumber {
    let offset = scanner.position
    let token = scanner.slice(try scanner.nextValue())
    guard let number = CommitNumber(String(decoding: token, as: UTF8.self)) else {
      throw error("A commit number must be a whole number", at: offset)
    }
    return number
  }
}
