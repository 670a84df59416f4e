// The subset of CBOR (RFC 8949) that binary rows consist of, and the steps over its bytes.
//
// An item is a head and, for some kinds, contents. The head's first byte has the kind in its three
// high bits; its five low bits are an argument below 24, or 24 to 27 for an argument in the next 1,
// 2, 4 or 8 bytes, the most significant first. Every length is definite. docs/rows.md defines the
// subset.
//
// Nothing read from the bytes is trusted: a length is compared with the bytes that are left before
// anything is allocated, and nesting has a limit.

/// The numbers of the format.
enum CBOR {
  /// The first bytes of every row: tag 55799, “self-described CBOR”. No JSON text, and no text in
  /// UTF-8, begins with them.
  static let mark: [UInt8] = [0xD9, 0xD9, 0xF7]
  /// The greatest number of arrays and maps inside one another; that of JSON rows.
  static let maximumDepth = 512

  /// The kinds of items: the three high bits of a head's first byte.
  enum Kind {
    static let unsigned: UInt8 = 0
    static let negative: UInt8 = 1
    static let bytes: UInt8 = 2
    static let text: UInt8 = 3
    static let array: UInt8 = 4
    static let map: UInt8 = 5
    static let tag: UInt8 = 6
    static let simple: UInt8 = 7
  }

  /// The first bytes of the items that have no argument.
  enum Byte {
    static let no: UInt8 = 0xF4
    static let yes: UInt8 = 0xF5
    static let null: UInt8 = 0xF6
    static let single: UInt8 = 0xFA
    static let double: UInt8 = 0xFB
  }

  /// The tags that have a meaning here.
  enum Tag {
    /// A positive integer, as bytes.
    static let positive: UInt64 = 2
    /// A negative integer −1 − n, with n as bytes.
    static let negative: UInt64 = 3
    /// A decimal fraction: an array of an exponent of ten and a mantissa.
    static let decimal: UInt64 = 4
    /// A UUID, as 16 bytes.
    static let uuid: UInt64 = 37
  }

  /// Whether bytes are marked as a binary row. They may be damaged behind the mark.
  @inline(__always)
  static func isMarked(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.count > 3 && bytes[0] == mark0 && bytes[1] == mark1 && bytes[2] == mark2
  }

  private static let mark0: UInt8 = 0xD9
  private static let mark1: UInt8 = 0xD9
  private static let mark2: UInt8 = 0xF7
}

/// The head of an item.
struct CBORHead {
  /// The kind of the item, one of `CBOR.Kind`.
  var kind: UInt8
  /// The value, length, count or tag; the bits of a floating-point number.
  var argument: UInt64
  /// The offset behind the head.
  var end: Int
}

/// The bytes of a binary row, read at any offset. Each step returns nil, or -1 for an offset, where
/// the bytes are not of the format.
struct CBORReader {
  let bytes: UnsafeRawBufferPointer

  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// The head at an offset; nil if there is none, whatever the offset.
  @inline(__always)
  func head(at offset: Int) -> CBORHead? {
    guard UInt(bitPattern: offset) < UInt(bitPattern: bytes.count) else { return nil }
    let first = bytes[offset]
    let kind = first >> 5
    let low = first & 31
    if low < 24 { return CBORHead(kind: kind, argument: UInt64(low), end: offset &+ 1) }
    return longHead(at: offset, kind, low)
  }

  @inline(__always)
  private func longHead(at offset: Int, _ kind: UInt8, _ low: UInt8) -> CBORHead? {
    guard low < 28 else { return nil }
    let length = 1 &<< Int(low &- 24)
    let end = offset &+ 1 &+ length
    guard end <= bytes.count else { return nil }
    let argument: UInt64 =
      switch low {
      case 24: UInt64(bytes[offset &+ 1])
      case 25: UInt64(load(at: offset &+ 1, as: UInt16.self))
      case 26: UInt64(load(at: offset &+ 1, as: UInt32.self))
      default: load(at: offset &+ 1, as: UInt64.self)
      }
    return CBORHead(kind: kind, argument: argument, end: end)
  }

  @inline(__always)
  private func load<I: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as _: I.Type) -> I {
    I(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: I.self))
  }

  /// The range of the contents of a text or of bytes whose head this is; nil if they are too few.
  @inline(__always)
  func contents(of head: CBORHead) -> Range<Int>? {
    guard head.argument <= UInt64(bytes.count &- head.end) else { return nil }
    return head.end..<(head.end &+ Int(truncatingIfNeeded: head.argument))
  }

  /// The number of items in an array or map whose head this is; nil if the bytes are too few for
  /// so many.
  @inline(__always)
  func itemCount(of head: CBORHead) -> Int? {
    let left = UInt64(bytes.count &- head.end)
    guard head.argument <= (head.kind == CBOR.Kind.map ? left / 2 : left) else { return nil }
    return Int(truncatingIfNeeded: head.argument)
  }

  /// The offset behind the item at an offset; -1 if it is malformed or nested too deeply. O(bytes).
  @inline(__always)
  func skip(_ offset: Int, levels: Int = CBOR.maximumDepth) -> Int {
    guard let head = head(at: offset) else { return -1 }
    switch head.kind {
    case CBOR.Kind.unsigned, CBOR.Kind.negative: return head.end
    case CBOR.Kind.text, CBOR.Kind.bytes: return contents(of: head)?.upperBound ?? -1
    case CBOR.Kind.simple: return isSimple(bytes[offset]) ? head.end : -1
    default: return skipItems(head, levels: levels)
    }
  }

  @inline(__always)
  private func isSimple(_ first: UInt8) -> Bool {
    first >= CBOR.Byte.no && first <= CBOR.Byte.null || first == CBOR.Byte.single
      || first == CBOR.Byte.double
  }

  /// Skips a tagged value, or the items that an array or a map contains.
  private func skipItems(_ head: CBORHead, levels: Int) -> Int {
    if head.kind == CBOR.Kind.tag { return endOfTagged(head) }
    guard levels > 0, let count = itemCount(of: head) else { return -1 }
    var left = head.kind == CBOR.Kind.map ? count &* 2 : count
    var offset = head.end
    while left > 0 {
      offset = skip(offset, levels: levels &- 1)
      if offset < 0 { return -1 }
      left &-= 1
    }
    return offset
  }

  /// Whether the key in the second range may follow that in the first: it is longer, or as long and
  /// with greater bytes.
  @inline(__always)
  func isAscending(_ first: Range<Int>, _ second: Range<Int>) -> Bool {
    if first.count != second.count { return first.count < second.count }
    return bytes[first].lexicographicallyPrecedes(bytes[second])
  }

  /// Whether bytes are text in UTF-8.
  @inline(__always)
  static func isText(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var (at, seen) = (0, UInt64(0))
    while at &+ 8 <= bytes.count {
      seen |= bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)
      at &+= 8
    }
    while at < bytes.count {
      seen |= UInt64(bytes[at])
      at &+= 1
    }
    return seen & 0x8080_8080_8080_8080 == 0 || JSONScanner.isUTF8(bytes)
  }

  /// The first eight bytes of the text in a range, the first one lowest; zeros beyond its end.
  @inline(__always)
  func firstEight(of range: Range<Int>) -> UInt64 {
    let count = range.count
    if range.lowerBound &+ 8 <= bytes.count {
      let word = UInt64(
        littleEndian: bytes.loadUnaligned(fromByteOffset: range.lowerBound, as: UInt64.self))
      return count >= 8 ? word : word & (1 &<< UInt64(truncatingIfNeeded: count &* 8) &- 1)
    }
    return CBORReader.firstEight(of: UnsafeRawBufferPointer(rebasing: bytes[range]))
  }

  /// The first eight bytes of a text, the first one lowest; zeros beyond its end.
  @inline(__always)
  static func firstEight(of text: UnsafeRawBufferPointer) -> UInt64 {
    let count = text.count
    if count >= 8 {
      return UInt64(littleEndian: text.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
    }
    if count >= 4 {
      let low = UInt32(littleEndian: text.loadUnaligned(fromByteOffset: 0, as: UInt32.self))
      let high = UInt32(
        littleEndian: text.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self))
      return UInt64(low) | UInt64(high) &<< UInt64((count &- 4) &* 8)
    }
    var word: UInt64 = 0
    for index in 0..<count { word |= UInt64(text[index]) &<< UInt64(index &* 8) }
    return word
  }
}
