// The postings of a term as bytes. docs/rows.md states the format:
//
//   chunk      count·2 + front:int  [least length:int]  [front]  posting*
//   front      int (frequency:int length:int)*: for every posting of the chunk, one of these pairs
//              has no lesser frequency and no greater length
//   posting    document  length:int  occurrences
//   document   distance·4 + single·2 + 0: the operation, in the commit of the posting before
//            | distance·4 + single·2 + 1, operation:int: the commit
//   occurrences of a single one in field 0: distance:int; else count:int integer*
//   integer    distance: the positions from the occurrence before, or from −1
//            | 0, field: the field of the next ones, again from −1
//
// Fields are numbered from the last one of the definition, 0. The first occurrences are in field 0.
// A length is that of the whole document in terms. It stands in each posting, so that a score needs
// nothing but the posting. A chunk of one posting has neither a least length nor a front.

internal import TreeRingLog

/// The parts of an index's definition that its postings depend on.
struct PostingFormat: Hashable, Sendable {
  /// The weight of each field.
  let weights: [UInt32]
  /// The number of bits of a place that hold the field.
  let fieldBits: UInt32

  init(weights: [UInt32]) {
    self.weights = weights
    fieldBits = UInt32(Int.bitWidth - (weights.count - 1).leadingZeroBitCount)
  }

  /// The maximum length of a chunk. Eight chunks with their keys fill a page.
  static let chunkByteCount = 484
  /// The number of postings from which a chunk has a front.
  static let frontCount = 8
  /// The maximum number of pairs of a front.
  static let frontPairCount = 4
  /// The greatest position. Later terms of a field have this one.
  static let lastPosition = 1 << 24

  @inline(__always)
  func place(_ position: Int, field: Int) -> UInt64 {
    UInt64(min(position, Self.lastPosition)) << UInt64(fieldBits) | UInt64(field)
  }

  @inline(__always)
  func field(of place: UInt64) -> Int { Int(place & (1 << UInt64(fieldBits) - 1)) }

  /// The position of a place. A damaged posting may state any; no greater one than the last.
  @inline(__always)
  func position(of place: UInt64) -> Int {
    Int(min(place >> UInt64(fieldBits), UInt64(Self.lastPosition)))
  }

  /// The weight of a field; 0 for one that the definition does not have.
  @inline(__always)
  func weight(of field: Int) -> UInt64 { field < weights.count ? UInt64(weights[field]) : 0 }

  /// Appends the occurrences of a term in a document.
  /// - Parameter places: In order of field and position, at least one.
  /// - Returns: Whether there is a single one, in field 0.
  @inline(__always)
  func append(_ places: UnsafeBufferPointer<UInt64>, to bytes: inout PlainArray<UInt8>) -> Bool {
    if let integer = single(places) {
      bytes.append(integer: UInt64(integer))
      return true
    }
    var count = 0
    forEachInteger(of: places) { _ in count += 1 }
    bytes.append(integer: UInt64(count))
    forEachInteger(of: places) { bytes.append(integer: $0) }
    return false
  }

  /// The integer of a single occurrence in field 0; nil for other occurrences.
  @inline(__always)
  func single(_ places: UnsafeBufferPointer<UInt64>) -> UInt32? {
    if places.count != 1 || field(of: places[0]) != 0 { return nil }
    return UInt32(position(of: places[0]) + 1)
  }

  /// Calls `body` with the integers that state some places.
  @inline(__always)
  private func forEachInteger(
    of places: UnsafeBufferPointer<UInt64>, _ body: (UInt64) -> Void
  ) {
    var field = 0
    var last = -1
    for place in places {
      let (next, position) = (self.field(of: place), self.position(of: place))
      if next != field {
        body(0)
        body(UInt64(next))
        (field, last) = (next, -1)
      }
      // Terms beyond the greatest position are one.
      if position > last { body(UInt64(position - last)) }
      last = position
    }
  }

  /// Calls `body` with the places of a posting in order.
  @inline(__always)
  func forEachPlace(
    in occurrences: UnsafeRawBufferPointer, isSingle: Bool, _ body: (UInt64) -> Void
  ) {
    var reader = PostingBytes(occurrences)
    if isSingle { return body((reader.integer() &- 1) << UInt64(fieldBits)) }
    var rest = reader.integer()
    var position = UInt64.max
    var field: UInt64 = 0
    while rest > 0, !reader.isAtEnd {
      let distance = reader.integer()
      rest &-= 1
      if distance == 0 {
        field = reader.integer() & (1 << UInt64(fieldBits) &- 1)
        position = .max
        rest = rest > 0 ? rest &- 1 : 0
      } else {
        position &+= distance
        body(position << UInt64(fieldBits) | field)
      }
    }
  }

  /// The weighted number of occurrences.
  @inline(__always)
  func frequency(of occurrences: UnsafeRawBufferPointer, isSingle: Bool) -> UInt64 {
    if isSingle { return weight(of: 0) }
    if fieldBits == 0 {
      var reader = PostingBytes(occurrences)
      return reader.integer() &* weight(of: 0)
    }
    var frequency: UInt64 = 0
    forEachPlace(in: occurrences, isSingle: isSingle) {
      frequency &+= weight(of: field(of: $0))
    }
    return frequency
  }
}

/// Reads the integers of a chunk. Behind the end of the bytes it reads zeros, so that a damaged
/// chunk has wrong postings and cannot lead elsewhere.
struct PostingBytes {
  let start: UnsafePointer<UInt8>?
  let count: Int
  var position = 0

  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer) {
    start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    count = bytes.count
  }

  @inline(__always)
  var isAtEnd: Bool { position >= count }

  /// The next LEB128 integer.
  @inline(__always)
  mutating func integer() -> UInt64 {
    guard position < count, let start else { return 0 }
    let first = start[position]
    position &+= 1
    if first < 0x80 { return UInt64(first) }
    return longInteger(UInt64(first & 0x7F))
  }

  private mutating func longInteger(_ low: UInt64) -> UInt64 {
    var (result, shift) = (low, UInt64(7))
    while position < count, let start {
      let byte = start[position]
      position &+= 1
      if shift < 64 { result |= UInt64(byte & 0x7F) << shift }
      if byte < 0x80 { break }
      shift &+= 7
    }
    return result
  }

  /// Reads the head of a posting, and moves a document on to that of the posting.
  /// - Returns: Whether the term occurs once in the document, and in field 0.
  @inline(__always)
  mutating func takeHead(_ commit: inout UInt64, _ operation: inout UInt64) -> Bool {
    let head = integer()
    if head & 1 == 0 {
      operation &+= head >> 2
    } else {
      commit &+= head >> 2
      operation = integer()
    }
    return head & 2 != 0
  }

  /// Passes integers without reading them.
  @inline(__always)
  mutating func skip(_ integers: UInt64) {
    guard let start else { return }
    var rest = integers
    while rest > 0, position < count {
      if start[position] < 0x80 { rest &-= 1 }
      position &+= 1
    }
  }
}

/// Reads the postings of a chunk one after another, in place.
struct PostingScanner {
  private var reader: PostingBytes
  private let bytes: UnsafeRawBufferPointer
  /// The number of postings.
  let count: Int
  /// The least length, of which the lengths of postings are differences.
  let leastLength: UInt64
  private let frontCount: Int
  private let frontStart: Int
  /// The offset of the first posting.
  let postingStart: Int
  private(set) var index = -1
  private var commit: UInt64 = 0
  private var operation: UInt64 = 0
  private(set) var length: UInt64 = 0
  private(set) var isSingle = false
  private var occurrenceStart = 0

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    reader = PostingBytes(bytes)
    let head = reader.integer()
    // A posting takes at least three bytes.
    count = Int(min(head >> 1, UInt64(bytes.count)))
    leastLength = count == 1 ? 0 : reader.integer()
    if head & 1 != 0 {
      frontCount = Int(min(reader.integer(), UInt64(PostingFormat.frontPairCount)))
      frontStart = reader.position
      reader.skip(UInt64(2 * frontCount))
    } else {
      (frontCount, frontStart) = (0, 0)
    }
    postingStart = reader.position
  }

  /// Whether the chunk states its front.
  var hasFront: Bool { frontCount > 0 }

  /// Calls `body` with the pairs of the front.
  func forEachImpact(_ body: (PostingImpact) -> Void) {
    var reader = PostingBytes(bytes)
    reader.position = frontStart
    var pair = PostingImpact(frequency: 0, length: leastLength)
    for _ in 0..<frontCount {
      pair.frequency &+= reader.integer()
      pair.length &+= reader.integer()
      body(pair)
    }
  }

  var document: TextDocument {
    @inline(__always) get { TextDocument(commit: commit, operation: operation) }
  }

  /// Moves to the next posting; false at the end.
  @inline(__always)
  mutating func next() -> Bool { move(to: .none) }

  /// Moves to the next posting of a document, or of one after it; false at the end.
  @inline(__always)
  mutating func move(to target: TextDocument) -> Bool {
    if index >= 0 { skipOccurrences() }
    // Copies, which stay in registers.
    var (reader, index, commit, operation) = (reader, index, commit, operation)
    defer { (self.reader, self.index) = (reader, index) }
    while true {
      index &+= 1
      guard index < count, !reader.isAtEnd else {
        index = count
        return false
      }
      let isOne = reader.takeHead(&commit, &operation)
      let length = reader.integer()
      if commit > target.commit || commit == target.commit && operation >= target.operation {
        (self.commit, self.operation) = (commit, operation)
        isSingle = isOne
        self.length = leastLength &+ length
        occurrenceStart = reader.position
        return true
      }
      reader.skip(isOne ? 1 : reader.integer())
    }
  }

  @inline(__always)
  private mutating func skipOccurrences() {
    if reader.position != occurrenceStart { return }
    reader.skip(isSingle ? 1 : reader.integer())
  }

  /// The bytes of the occurrences of the present posting.
  var occurrences: UnsafeRawBufferPointer {
    @inline(__always) mutating get {
      skipOccurrences()
      return UnsafeRawBufferPointer(rebasing: bytes[occurrenceStart..<reader.position])
    }
  }

  /// The weighted number of occurrences of the present posting.
  @inline(__always)
  mutating func frequency(_ format: PostingFormat) -> UInt64 {
    format.frequency(of: occurrences, isSingle: isSingle)
  }
}
