// The decoder of binary rows.
//
// One decoder serves a whole row. `current` is the offset of the item that the type being created
// is decoded from. When a type opens a keyed container, one pass over the map fills a table with
// the start of each key, its length and the offset of its value, and checks everything that lies in
// the map. A lookup compares words from the entry behind the last one found on. Reading a field
// creates no key, no copy of bytes, and no box.
//
// The path of an error is not kept during the decoding; `BinaryPathWalk` finds it from the error's
// offset.

internal import TreeRingPlatform

/// The decoder of one row.
final class BinaryDecoder: Decoder {
  /// The length of a key and the offset of its value. The key's text ends where its value begins.
  /// A row has fewer than 2³¹ bytes, so that no key has a length like a table's serial number.
  private struct Entry {
    var keyLength: UInt32
    var value: UInt32
  }

  /// The entries of an opened map, a range of the decoder's, with one more behind them: its value
  /// is the number of the entry at which the next lookup begins, its word ends a search, and the
  /// length of its key is the table's serial number. When the value that opened a map is complete,
  /// others take the place of its entries; then the number tells that the table is closed.
  struct Table {
    var start: Int
    var count: Int
    /// The offset of the map.
    var offset: Int
    /// At least 2³¹.
    var serial: UInt32
  }

  /// The offset that stands for an absent item.
  static let absent = -1

  /// The row's bytes; none after the end of the decoding, which a container may outlive.
  @exclusivity(unchecked) private(set) var reader: CBORReader
  /// The offset of the item being decoded.
  @exclusivity(unchecked) private(set) var current: Int
  /// A word for each entry: the beginning of its key, mixed with the key's length.
  @exclusivity(unchecked) private var words: UnsafeMutablePointer<UInt64>
  @exclusivity(unchecked) private var entries: UnsafeMutablePointer<Entry>
  @exclusivity(unchecked) private var entryCount = 0
  @exclusivity(unchecked) private var capacity: Int
  @exclusivity(unchecked) private var lastSerial: UInt32 = 1 << 31
  @exclusivity(unchecked) private var pathWalk = BinaryPathWalk()
  /// The decoders that `superDecoder` has made.
  @exclusivity(unchecked) private var others: [BinaryDecoder] = []
  /// The path of a decoder for an absent item.
  private let absentPath: [any CodingKey]

  private init(_ reader: CBORReader, at offset: Int, absentPath: [any CodingKey] = []) {
    self.reader = reader
    self.absentPath = absentPath
    current = offset
    capacity = 48
    words = .allocate(capacity: capacity)
    entries = .allocate(capacity: capacity)
  }

  deinit {
    words.deallocate()
    entries.deallocate()
  }

  /// Decodes a row. O(bytes).
  /// - Throws: `DecodingError`; the errors of the type's `init(from:)`.
  static func decode<Row: Decodable>(
    _ type: Row.Type, from bytes: UnsafeRawBufferPointer
  ) throws -> Row {
    guard CBOR.isMarked(bytes) else { throw unreadable(unmarked) }
    guard bytes.count <= Int(Int32.max) else { throw unreadable(tooLong) }
    let decoder = BinaryDecoder(CBORReader(bytes), at: CBOR.mark.count)
    defer { decoder.end() }
    // Opening a map checks it as a whole.
    if decoder.reader.head(at: decoder.current)?.kind != CBOR.Kind.map {
      let end = decoder.reader.skip(decoder.current)
      if end != bytes.count { throw decoder.wholeRowError(end) }
    }
    return try decoder.value(type, at: decoder.current)
  }

  private static let unmarked =
    "The row does not begin with D9 D9 F7, the mark of a binary row; another coder wrote it."
  private static let tooLong = "The row has more than 2147483647 bytes."

  private static func unreadable(_ text: String) -> DecodingError {
    .dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: text))
  }

  /// Forgets the row's bytes.
  private func end() {
    reader = CBORReader(UnsafeRawBufferPointer(start: nil, count: 0))
    pathWalk = BinaryPathWalk()
    for other in others { other.end() }
    others = []
  }

  // MARK: - Decoder

  var codingPath: [any CodingKey] { path(to: current) }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<FieldKey: CodingKey>(keyedBy type: FieldKey.Type) throws -> KeyedDecodingContainer<
    FieldKey
  > {
    KeyedDecodingContainer(
      BinaryKeyedDecoding<FieldKey>(decoder: self, table: try openMap(at: current)))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try BinaryUnkeyedDecoding(decoder: self, at: current)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    BinarySingleDecoding(decoder: self, offset: current)
  }

  /// A decoder for the item at an offset, or for an absent one with this path.
  func other(at offset: Int, absentPath: [any CodingKey] = []) -> BinaryDecoder {
    let other = BinaryDecoder(reader, at: offset, absentPath: absentPath)
    others.append(other)
    return other
  }

  /// Creates a value of a type that decodes itself.
  @inline(__always)
  func nested<T: Decodable>(_ type: T.Type, at offset: Int) throws -> T {
    let (outer, count) = (current, entryCount)
    current = offset
    defer {
      current = outer
      entryCount = count
    }
    return try T(from: self)
  }

  // MARK: - Maps

  /// Reads the keys of the map at an offset.
  /// - Throws: `typeMismatch`, `valueNotFound`, or `dataCorrupted` if anything in the map is
  ///   malformed.
  func openMap(at offset: Int) throws -> Table {
    guard let head = reader.head(at: offset), head.kind == CBOR.Kind.map else {
      throw mismatch([String: Any].self, at: offset)
    }
    guard let count = reader.itemCount(of: head) else { throw tooFew(at: offset) }
    let start = entryCount
    if start &+ count &+ 1 > capacity { grow(to: start &+ count &+ 1) }
    var at = head.end
    // The bytes of the last key, so that a greater number is a later key.
    var last: UInt64 = 0
    for index in start..<(start &+ count) {
      guard let key = reader.head(at: at), key.kind == CBOR.Kind.text,
        let text = reader.contents(of: key)
      else { throw malformed(at: at, "A key of a map is no text.") }
      let word = reader.firstEight(of: text)
      if text.count > 8 || word & 0x8080_8080_8080_8080 != 0,
        !CBORReader.isText(UnsafeRawBufferPointer(rebasing: reader.bytes[text]))
      {
        throw malformed(at: at, "A key of a map is not valid UTF-8.")
      }
      words[index] = Self.mix(word, text.count)
      entries[index] = Entry(
        keyLength: UInt32(truncatingIfNeeded: text.count),
        value: UInt32(truncatingIfNeeded: text.upperBound))
      if index > start, !isAscending(index, word.byteSwapped, last) {
        throw malformed(at: at, "The keys of a map are not in ascending order.")
      }
      last = word.byteSwapped
      at = reader.skip(text.upperBound, levels: CBOR.maximumDepth &- 1)
      guard at >= 0 else {
        throw malformed(at: text.upperBound, "A value is malformed, or nested too deeply.")
      }
    }
    if offset == CBOR.mark.count, at != reader.bytes.count { throw wholeRowError(at) }
    lastSerial = lastSerial &+ 1 | 1 << 31
    entries[start &+ count] = Entry(keyLength: lastSerial, value: 0)
    entryCount = start &+ count &+ 1
    return Table(start: start, count: count, offset: offset, serial: lastSerial)
  }

  @inline(__always)
  private static func mix(_ word: UInt64, _ length: Int) -> UInt64 {
    word &+ UInt64(truncatingIfNeeded: length) &* 0x9E37_79B9_7F4A_7C15
  }

  /// Whether an entry's key follows the key of the entry before it: shorter keys come first, then
  /// those with lesser bytes.
  @inline(__always)
  private func isAscending(_ index: Int, _ word: UInt64, _ last: UInt64) -> Bool {
    let (length, previous) = (entries[index].keyLength, entries[index &- 1].keyLength)
    if length != previous { return length > previous }
    if word != last { return word > last }
    return length > 8
      && key(of: entries[index &- 1]).lexicographicallyPrecedes(key(of: entries[index]))
  }

  @inline(never)
  private func grow(to count: Int) {
    let grown = max(count, capacity * 2)
    let movedWords = UnsafeMutablePointer<UInt64>.allocate(capacity: grown)
    let movedEntries = UnsafeMutablePointer<Entry>.allocate(capacity: grown)
    movedWords.update(from: words, count: entryCount)
    movedEntries.update(from: entries, count: entryCount)
    words.deallocate()
    entries.deallocate()
    (words, entries, capacity) = (movedWords, movedEntries, grown)
  }

  /// The text of an entry's key.
  @inline(__always)
  private func key(of entry: Entry) -> UnsafeRawBufferPointer {
    let end = min(Int(entry.value), reader.bytes.count)
    return UnsafeRawBufferPointer(
      rebasing: reader.bytes[max(0, end - Int(entry.keyLength))..<end])
  }

  /// Whether a table's entries are still there. O(1).
  @inline(__always)
  func isOpen(_ table: Table) -> Bool {
    let end = table.start &+ table.count
    return end < entryCount && entries[end].keyLength == table.serial
  }

  /// A key of an open table.
  func name(_ index: Int, in table: Table) -> String {
    String(decoding: key(of: entries[table.start + index]), as: UTF8.self)
  }

  /// The offset of a value of an open table.
  func value(_ index: Int, in table: Table) -> Int { Int(entries[table.start + index].value) }

  /// The offset of the value with a key; `absent` if there is none, or the table is closed.
  ///
  /// O(1) if the keys are looked up in their order in the map, otherwise O(keys).
  func find(_ name: consuming String, in table: Table) -> Int {
    name.withUTF8 { find(UnsafeRawBufferPointer($0), in: table) }
  }

  @inline(__always)
  private func find(_ name: UnsafeRawBufferPointer, in table: Table) -> Int {
    guard isOpen(table) else { return Self.absent }
    let (words, entries) = (words + table.start, entries + table.start)
    let word = Self.mix(CBORReader.firstEight(of: name), name.count)
    words[table.count] = word
    let hint = Int(entries[table.count].value)
    var index = hint
    var end = table.count
    var isLastPass = hint == 0
    while true {
      while words[index] != word { index &+= 1 }
      if index >= end {
        if isLastPass { return Self.absent }
        (index, end, isLastPass) = (0, hint, true)
        continue
      }
      if entries[index].keyLength == UInt32(truncatingIfNeeded: name.count),
        name.count <= 8 || isEqual(name, key(of: entries[index]))
      {
        entries[table.count].value = UInt32(truncatingIfNeeded: index &+ 1)
        return Int(entries[index].value)
      }
      index &+= 1
    }
  }

  /// Whether two names of the same length, equal in their first eight bytes, are equal.
  @inline(__always)
  private func isEqual(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
    guard let first = a.baseAddress, let second = b.baseAddress, a.count == b.count else {
      return false
    }
    return memcmp(first + 8, second + 8, a.count - 8) == 0
  }
}

// MARK: - Errors and their paths

extension BinaryDecoder {
  /// The keys and positions on the way to the item at an offset.
  func path(to offset: Int) -> [any CodingKey] {
    offset == Self.absent ? absentPath : pathWalk.path(to: offset, in: reader)
  }

  private func context(_ offset: Int, _ text: String) -> DecodingError.Context {
    DecodingError.Context(codingPath: path(to: offset), debugDescription: text)
  }

  /// The error for bytes that are not of the format.
  @inline(never)
  func malformed(at offset: Int, _ text: String) -> DecodingError {
    .dataCorrupted(context(offset, "\(text) Byte \(max(0, offset)) of the row."))
  }

  @inline(never)
  func tooFew(at offset: Int) -> DecodingError {
    malformed(at: offset, "The row ends too early.")
  }

  /// The error for a row whose value does not end where the row ends.
  private func wholeRowError(_ end: Int) -> DecodingError {
    end < 0
      ? malformed(at: current, "The row is malformed, or nested too deeply.")
      : malformed(at: end, "The row goes on after its value.")
  }

  /// The error for an item of another type, for null, and for no item at all.
  @inline(never)
  func mismatch(_ type: any Any.Type, at offset: Int) -> DecodingError {
    guard offset != Self.absent, let head = reader.head(at: offset) else {
      return offset == Self.absent
        ? .valueNotFound(type, context(offset, "There is no value of type \(type)."))
        : tooFew(at: offset)
    }
    let found =
      switch head.kind {
      case CBOR.Kind.unsigned, CBOR.Kind.negative: "an integer"
      case CBOR.Kind.bytes: "bytes"
      case CBOR.Kind.text: "a string"
      case CBOR.Kind.array: "an array"
      case CBOR.Kind.map: "a map"
      case CBOR.Kind.tag: "a value with tag \(head.argument)"
      default:
        switch reader.bytes[offset] {
        case CBOR.Byte.null: "null"
        case CBOR.Byte.no, CBOR.Byte.yes: "a Boolean"
        default: "a floating-point number"
        }
      }
    let text = "Expected \(type), found \(found)."
    return found == "null"
      ? .valueNotFound(type, context(offset, text)) : .typeMismatch(type, context(offset, text))
  }

  /// The error for a key that a map lacks.
  @inline(never)
  func missing(_ key: any CodingKey, in table: Table) -> DecodingError {
    .keyNotFound(key, context(table.offset, "There is no value for the key “\(key.stringValue)”"))
  }
}
