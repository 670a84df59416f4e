// The encoder of binary rows.
//
// Values are appended to one buffer. A frame is a value that a type is encoding itself into; the
// frames on the way to the newest one form a stack. When a map is complete, its keys are sorted;
// when a map or array is complete, its head gets its count. Only what `nestedContainer` and
// `superEncoder` return can be written at any time until the end of their frame, so these have
// encoders of their own, whose bytes are inserted at that end.

internal import TreeRingPlatform

/// The encoder of one row, or of a part of it.
final class BinaryEncoder: Encoder {
  enum Kind: UInt8 { case empty, single, array, map }

  /// A value that a type encodes itself into.
  private struct Frame {
    /// The offset of the value.
    var start: Int
    /// The number of its first entry.
    var entries: Int
    /// The number of its first part.
    var parts: Int
    var count = 0
    var kind = Kind.empty
    /// The number by which its containers know it.
    var serial: Int
  }

  /// A key of an open map, and behind it its value.
  private struct Entry {
    /// The first eight bytes of the encoded key, the first one highest; zeros beyond its end.
    var word: UInt64
    var start: Int
    var end = 0

    var range: Range<Int> { start..<end }
  }

  @exclusivity(unchecked) private var writer = CBORWriter()
  @exclusivity(unchecked) private var frames: [Frame] = []
  @exclusivity(unchecked) private var entries: [Entry] = []
  @exclusivity(unchecked) private var lastSerial = 0
  /// The encoders of the open frames' parts, each with the offset where its bytes belong. The
  /// offsets do not descend.
  @exclusivity(unchecked) private var parts: [(offset: Int, encoder: BinaryEncoder)] = []
  /// The path of the part; empty for a row.
  private let prefix: [any CodingKey]
  /// The number of arrays and maps around the part.
  private let outerDepth: Int

  private init(prefix: [any CodingKey], outerDepth: Int) {
    self.prefix = prefix
    self.outerDepth = outerDepth
    entries.reserveCapacity(32)
    frames.reserveCapacity(8)
  }

  /// The bytes of a row. O(bytes), and n log n for the n keys of a map.
  /// - Throws: `EncodingError`; the errors of the row's `encode(to:)`.
  static func encode<Row: Encodable>(_ row: Row) throws -> [UInt8] {
    let encoder = BinaryEncoder(prefix: [], outerDepth: 0)
    defer { withExtendedLifetime(encoder) {} }
    for byte in CBOR.mark { encoder.writer.append(byte) }
    encoder.push()
    try encoder.whole(row, encoder.lastSerial)
    guard encoder.frames[0].kind != .empty else {
      throw encoder.error(row, "The row of type \(Row.self) did not encode any value.")
    }
    try encoder.finish()
    return Array(encoder.writer.contents)
  }

  // MARK: - Encoder

  var codingPath: [any CodingKey] { path(ofFrame: frames.count - 1) }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<FieldKey: CodingKey>(keyedBy type: FieldKey.Type) -> KeyedEncodingContainer<
    FieldKey
  > {
    KeyedEncodingContainer(BinaryKeyedEncoding<FieldKey>(encoder: self, serial: open(.map)))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    BinaryUnkeyedEncoding(encoder: self, serial: open(.array))
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    BinarySingleEncoding(encoder: self, serial: frames.last?.serial ?? 0)
  }

  // MARK: - Frames

  @inline(__always)
  private func push() {
    lastSerial &+= 1
    frames.append(
      Frame(
        start: writer.count, entries: entries.count, parts: parts.count, serial: lastSerial))
  }

  /// Makes the newest frame a map or an array. A type may open its container again.
  ///
  /// - Returns: the number of the frame; 0, which no frame has, if it is something else already.
  private func open(_ kind: Kind) -> Int {
    let last = frames.count - 1
    guard last >= 0 else { return 0 }
    if frames[last].kind == .empty {
      frames[last].kind = kind
      // The place of the head.
      writer.append(0)
    }
    return frames[last].kind == kind ? frames[last].serial : 0
  }

  /// Whether a frame is the newest one, so that its containers can write.
  @inline(__always)
  private func check(_ serial: Int, _ value: Any?) throws {
    if frames.last?.serial != serial { throw stale(value) }
  }

  @inline(never)
  private func stale(_ value: Any?) -> EncodingError {
    error(
      value ?? "nil",
      "A value is encoded into a container that is complete, that has an incomplete value, or that "
        + "another kind of container of the same value has replaced.")
  }

  /// Begins a field of a map.
  @inline(__always)
  func key(_ name: String, _ serial: Int) throws {
    try check(serial, name)
    let start = writer.count
    writer.text(name)
    let word = UInt64(
      bigEndian: UnsafeRawPointer(writer.bytes + start).loadUnaligned(as: UInt64.self))
    let unused = max(0, 8 &- (writer.count &- start)) &* 8
    entries.append(Entry(word: (word &>> unused) &<< unused, start: start))
    frames[frames.count &- 1].count &+= 1
  }

  /// Begins an element of an array.
  @inline(__always)
  func element(_ serial: Int) throws {
    try check(serial, nil)
    frames[frames.count &- 1].count &+= 1
  }

  /// Begins a value that is encoded as a whole.
  @inline(__always)
  func single(_ serial: Int) throws {
    try check(serial, nil)
    guard frames[frames.count &- 1].kind == .empty else { throw stale(nil) }
    frames[frames.count &- 1].kind = .single
  }

  /// The number of values in a frame.
  func count(_ serial: Int) -> Int { frames.last { $0.serial == serial }?.count ?? 0 }

  /// Calls `body` with the writer, after the beginning of a field, an element or a value.
  @inline(__always)
  func write(_ body: (inout CBORWriter) -> Void) { body(&writer) }

  /// Completes the newest frame.
  private func finish() throws {
    let frame = frames[frames.count - 1]
    guard frame.kind == .single || frames.count + outerDepth <= CBOR.maximumDepth else {
      throw error(
        "", "A row may have at most \(CBOR.maximumDepth) arrays and maps inside one another.")
    }
    if parts.count > frame.parts { try insertParts(of: frame) }
    switch frame.kind {
    case .single: break
    case .empty: writer.head(CBOR.Kind.map, 0)
    case .array: writer.complete(CBOR.Kind.array, UInt64(frame.count), at: frame.start)
    case .map:
      let count = sortEntries(of: frame)
      writer.complete(CBOR.Kind.map, UInt64(count), at: frame.start)
      entries.removeLast(entries.count - frame.entries)
    }
    frames.removeLast()
  }

  /// Inserts the bytes of the parts of a frame where they belong. O(bytes of the frame).
  private func insertParts(of frame: Frame) throws {
    let complete = Array(parts[frame.parts...])
    for part in complete { try part.encoder.finish() }
    parts.removeLast(complete.count)
    writer.insert(complete.map { ($0.offset, $0.encoder.writer.contents) })
    // An entry moves by the bytes of the parts before it.
    var (next, shift) = (0, 0)
    for index in frame.entries..<entries.count {
      while next < complete.count, complete[next].offset <= entries[index].start {
        shift += complete[next].encoder.writer.count
        next += 1
      }
      entries[index].start += shift
    }
  }

  // MARK: - Keys in order

  /// Sorts the fields of a map; of those with one key, the last one remains.
  /// - Returns: the number of fields.
  private func sortEntries(of frame: Frame) -> Int {
    let range = frame.entries..<entries.count
    let isSorted = range.dropFirst().allSatisfy { isLess(entries[$0 - 1], entries[$0]) }
    if isSorted { return range.count }
    for index in range {
      entries[index].end = index + 1 < range.upperBound ? entries[index + 1].start : writer.count
    }
    if range.count <= 24 {
      insertionSort(range)
    } else {
      // Entries with one key stay in their order.
      entries[range].sort {
        isLess($0, $1) || $0.start < $1.start && !isLess($1, $0)
      }
    }
    var kept = entries[range]
    for index in range.dropLast().reversed() where !isLess(entries[index], entries[index + 1]) {
      kept.remove(at: index)
    }
    writer.rearrange(kept.lazy.map(\.range), from: frame.start + 1)
    return kept.count
  }

  private func insertionSort(_ range: Range<Int>) {
    entries.withUnsafeMutableBufferPointer { entries in
      for index in range.dropFirst() {
        let entry = entries[index]
        var place = index
        while place > range.lowerBound, isLess(entry, entries[place &- 1]) {
          entries[place] = entries[place &- 1]
          place &-= 1
        }
        entries[place] = entry
      }
    }
  }

  @inline(__always)
  private func isLess(_ a: Entry, _ b: Entry) -> Bool {
    a.word != b.word ? a.word < b.word : isLessBehindWord(a, b)
  }

  @inline(never)
  private func isLessBehindWord(_ a: Entry, _ b: Entry) -> Bool {
    keyBytes(a).lexicographicallyPrecedes(keyBytes(b))
  }

  /// The encoded key of an entry.
  private func keyBytes(_ entry: Entry) -> Slice<UnsafeRawBufferPointer> {
    let reader = CBORReader(writer.contents)
    let end = reader.head(at: entry.start).flatMap { reader.contents(of: $0)?.upperBound }
    return reader.bytes[entry.start..<(end ?? entry.start)]
  }

  // MARK: - Values of any type

  /// Encodes a field or an element. If that fails, null stands in its place.
  func nested<T: Encodable>(_ value: T) throws {
    let (start, depth) = (writer.count, frames.count)
    let (entryCount, partCount) = (entries.count, parts.count)
    do {
      if write(known: value) { return }
      push()
      try value.encode(to: self)
      try finish()
    } catch {
      frames.removeLast(frames.count - depth)
      entries.removeLast(entries.count - entryCount)
      writer.truncate(to: start)
      parts.removeLast(parts.count - partCount)
      writer.append(CBOR.Byte.null)
      throw error
    }
  }

  /// Encodes the value of the newest frame.
  func whole<T: Encodable>(_ value: T, _ serial: Int) throws {
    try single(serial)
    if write(known: value) { return }
    frames[frames.count - 1].kind = .empty
    try value.encode(to: self)
  }

  /// Writes a value of a type with a form of its own; returns false if it has none.
  private func write<T: Encodable>(known value: T) -> Bool {
    if T.self == String.self {
      writer.text(unsafeBitCast(value, to: String.self))
    } else if T.self == Int.self {
      writer.integer(unsafeBitCast(value, to: Int.self))
    } else if T.self == Double.self {
      writer.double(unsafeBitCast(value, to: Double.self))
    } else if T.self == Date.self {
      writer.double(unsafeBitCast(value, to: Date.self).timeIntervalSinceReferenceDate)
    } else if T.self == UUID.self {
      writer.head(CBOR.Kind.tag, CBOR.Tag.uuid)
      withUnsafeBytes(of: unsafeBitCast(value, to: UUID.self).uuid) { writer.data($0) }
    } else if T.self == Data.self {
      unsafeBitCast(value, to: Data.self).withUnsafeBytes { writer.data($0) }
    } else if T.self == URL.self {
      writer.text(unsafeBitCast(value, to: URL.self).absoluteString)
    } else if T.self == Decimal.self {
      let value = unsafeBitCast(value, to: Decimal.self)
      guard let number = CBORDecimal(value.description) else {
        writer.double(.nan)
        return true
      }
      writer.decimal(number)
    } else {
      return false
    }
    return true
  }

  // MARK: - Parts

  /// The encoder of a part that can be written until the end of the newest frame. The caller has
  /// begun its field or element.
  func part() -> BinaryEncoder {
    let part = BinaryEncoder(
      prefix: path(ofFrame: frames.count), outerDepth: outerDepth + frames.count)
    part.push()
    parts.append((writer.count, part))
    return part
  }

  /// An encoder whose containers refuse every value, for a part of a container that can no longer
  /// be written.
  var refusing: BinaryEncoder { BinaryEncoder(prefix: prefix, outerDepth: outerDepth) }

  // MARK: - Errors and their paths

  /// The keys and positions on the way to a frame.
  private func path(ofFrame number: Int) -> [any CodingKey] {
    var path = prefix
    for index in 0..<max(0, number) {
      let frame = frames[index]
      let end = index + 1 < frames.count ? frames[index + 1].entries : entries.count
      if frame.kind == .map, end > frame.entries {
        let name = keyBytes(entries[end - 1])
        let text = CBORReader(UnsafeRawBufferPointer(rebasing: name))
        if let head = text.head(at: 0) {
          path.append(
            BinaryPathKey(stringValue: String(decoding: name.dropFirst(head.end), as: UTF8.self)))
        }
      } else if frame.kind == .array, frame.count > 0 {
        path.append(BinaryPathKey(intValue: frame.count - 1))
      }
    }
    return path
  }

  /// The path of a container.
  func path(_ serial: Int) -> [any CodingKey] {
    path(ofFrame: frames.lastIndex { $0.serial == serial } ?? 0)
  }

  private func error(_ value: Any, _ text: String) -> EncodingError {
    .invalidValue(value, EncodingError.Context(codingPath: codingPath, debugDescription: text))
  }
}
