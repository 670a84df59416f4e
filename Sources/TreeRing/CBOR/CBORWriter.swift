// The bytes of a binary row under construction.

/// Appends items to a buffer that grows.
struct CBORWriter: ~Copyable {
  private(set) var bytes: UnsafeMutablePointer<UInt8>
  private(set) var count = 0
  private var capacity: Int

  init(capacity: Int = 512) {
    self.capacity = capacity
    bytes = .allocate(capacity: capacity)
  }

  deinit { bytes.deallocate() }

  /// The bytes so far.
  var contents: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: bytes, count: count) }

  /// Makes room for more bytes, and eight beyond, so that a word can be read at each of them.
  @inline(__always)
  private mutating func reserve(_ more: Int) {
    if count &+ more &+ 8 > capacity { grow(more) }
  }

  @inline(never)
  private mutating func grow(_ more: Int) {
    let grown = max(capacity * 2, count + more + 8)
    let moved = UnsafeMutablePointer<UInt8>.allocate(capacity: grown)
    moved.update(from: bytes, count: count)
    bytes.deallocate()
    (bytes, capacity) = (moved, grown)
  }

  @inline(__always)
  mutating func append(_ byte: UInt8) {
    reserve(1)
    bytes[count] = byte
    count &+= 1
  }

  @inline(__always)
  mutating func append(_ more: UnsafeRawBufferPointer) {
    reserve(more.count)
    UnsafeMutableRawBufferPointer(start: bytes + count, count: more.count).copyMemory(from: more)
    count &+= more.count
  }

  /// Appends the head of an item, in its shortest form.
  @inline(__always)
  mutating func head(_ kind: UInt8, _ argument: UInt64) {
    if argument < 24 { return append(kind &<< 5 | UInt8(truncatingIfNeeded: argument)) }
    longHead(kind, argument)
  }

  @inline(never)
  private mutating func longHead(_ kind: UInt8, _ argument: UInt64) {
    let width = Self.width(of: argument)
    append(kind &<< 5 | UInt8(24 + width.trailingZeroBitCount))
    big(argument, byteCount: width)
  }

  /// The number of bytes of an argument behind the first byte of its head.
  static func width(of argument: UInt64) -> Int {
    argument < 24
      ? 0 : argument < 1 << 8 ? 1 : argument < 1 << 16 ? 2 : argument < 1 << 32 ? 4 : 8
  }

  /// Appends the lowest bytes of a number, the most significant first.
  @inline(__always)
  private mutating func big(_ value: UInt64, byteCount: Int) {
    reserve(8)
    let word = (value &<< UInt64((8 &- byteCount) &* 8)).bigEndian
    UnsafeMutableRawPointer(bytes + count).storeBytes(of: word, as: UInt64.self)
    count &+= byteCount
  }

  // MARK: - Values

  @inline(__always)
  mutating func text(_ string: String) {
    var string = string
    string.withUTF8 { utf8 in
      head(CBOR.Kind.text, UInt64(utf8.count))
      append(UnsafeRawBufferPointer(utf8))
    }
  }

  mutating func data(_ data: UnsafeRawBufferPointer) {
    head(CBOR.Kind.bytes, UInt64(data.count))
    append(data)
  }

  @inline(__always)
  mutating func double(_ value: Double) {
    append(CBOR.Byte.double)
    big(value.bitPattern, byteCount: 8)
  }

  @inline(__always)
  mutating func float(_ value: Float) {
    append(CBOR.Byte.single)
    big(UInt64(value.bitPattern), byteCount: 4)
  }

  @inline(__always)
  mutating func integer<I: FixedWidthInteger>(_ value: I) {
    if let magnitude = UInt64(exactly: value) {
      head(CBOR.Kind.unsigned, magnitude)
    } else if let value = Int64(exactly: value) {
      head(CBOR.Kind.negative, UInt64(bitPattern: ~value))
    } else {
      let isNegative = value < 0
      large(UInt128(truncatingIfNeeded: isNegative ? ~value : value), isNegative: isNegative)
    }
  }

  /// Appends an integer whose magnitude, or −1 − magnitude, has up to 128 bits.
  @inline(never)
  mutating func large(_ magnitude: UInt128, isNegative: Bool) {
    if let small = UInt64(exactly: magnitude) {
      return head(isNegative ? CBOR.Kind.negative : CBOR.Kind.unsigned, small)
    }
    head(CBOR.Kind.tag, isNegative ? CBOR.Tag.negative : CBOR.Tag.positive)
    let byteCount = 16 - magnitude.leadingZeroBitCount / 8
    head(CBOR.Kind.bytes, UInt64(byteCount))
    for index in (0..<byteCount).reversed() {
      append(UInt8(truncatingIfNeeded: magnitude >> UInt128(index * 8)))
    }
  }

  /// Appends a whole number if it has at most 64 bits, otherwise a decimal fraction.
  ///
  /// - Parameter number: A number whose magnitude is no multiple of ten, unless it is zero.
  mutating func decimal(_ number: CBORDecimal) {
    let isNegative = number.isNegative && number.magnitude > 0
    let stored = isNegative ? number.magnitude - 1 : number.magnitude
    if let whole = number.wholeMagnitude, UInt64(exactly: whole) != nil {
      return large(isNegative ? whole - 1 : whole, isNegative: isNegative)
    }
    head(CBOR.Kind.tag, CBOR.Tag.decimal)
    head(CBOR.Kind.array, 2)
    integer(number.exponent)
    large(stored, isNegative: isNegative)
  }

  // MARK: - Changes behind

  /// Drops the bytes from an offset on.
  mutating func truncate(to count: Int) { self.count = count }

  /// Inserts pieces at offsets that do not descend. O(bytes behind the first offset).
  mutating func insert(_ pieces: [(offset: Int, bytes: UnsafeRawBufferPointer)]) {
    var more = pieces.reduce(0) { $0 + $1.bytes.count }
    reserve(more)
    // From the last to the first: what follows a piece moves once, to its final place.
    var end = count
    count += more
    for piece in pieces.reversed() {
      (bytes + piece.offset + more).update(from: bytes + piece.offset, count: end - piece.offset)
      end = piece.offset
      more -= piece.bytes.count
      UnsafeMutableRawBufferPointer(start: bytes + end + more, count: piece.bytes.count)
        .copyMemory(from: piece.bytes)
    }
  }

  private mutating func makeRoom(_ more: Int, at offset: Int) {
    reserve(more)
    (bytes + offset + more).update(from: bytes + offset, count: count - offset)
    count += more
  }

  /// Writes the head of an array or map whose first byte is already there, before its contents.
  @inline(__always)
  mutating func complete(_ kind: UInt8, _ argument: UInt64, at offset: Int) {
    if argument < 24 {
      bytes[offset] = kind &<< 5 | UInt8(truncatingIfNeeded: argument)
    } else {
      completeLong(kind, argument, at: offset)
    }
  }

  private mutating func completeLong(_ kind: UInt8, _ argument: UInt64, at offset: Int) {
    let width = Self.width(of: argument)
    makeRoom(width, at: offset + 1)
    bytes[offset] = kind &<< 5 | UInt8(24 + width.trailingZeroBitCount)
    for index in 0..<width {
      let shift = UInt64((width - 1 - index) * 8)
      bytes[offset + 1 + index] = UInt8(truncatingIfNeeded: argument >> shift)
    }
  }

  /// Puts ranges of the bytes, all of them behind an offset, in another order.
  mutating func rearrange(_ ranges: some Sequence<Range<Int>>, from offset: Int) {
    let length = count - offset
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length) { copy in
      guard let start = copy.baseAddress else { return }
      start.initialize(from: bytes + offset, count: length)
      count = offset
      for range in ranges {
        (bytes + count).update(from: start + (range.lowerBound - offset), count: range.count)
        count += range.count
      }
    }
  }
}
