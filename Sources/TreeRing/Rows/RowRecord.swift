// A row in the row tree, under the key (bucket, key).
//
//   flags 1 byte · written commit, operation · [created commit (as distance), operation]
//   · [touch commit (as distance)] · [coder version] · object · [metadata]
//
// A value is either inline (length, bytes) or logged (length, 8-byte digest, commit distance,
// operation); the bytes of a logged one lie in the log. Integers are LEB128, distances count back
// from the written commit. Values are inline while both together stay within
// `Limits.inlineByteCount`.

package import TreeRingLog

/// A moment in history: a commit and an operation inside it.
package struct Stamp: Hashable, Comparable, Sendable {
  package var commit: CommitNumber
  package var operation: UInt32

  package init(commit: CommitNumber, operation: UInt32) {
    self.commit = commit
    self.operation = operation
  }

  /// The operation after this one in a commit; nil if this one is in another commit, or is the last
  /// possible.
  package func next(in commit: CommitNumber) -> Stamp? {
    guard commit == self.commit, operation < .max else { return nil }
    return Stamp(commit: commit, operation: operation + 1)
  }

  package static func < (a: Stamp, b: Stamp) -> Bool {
    a.commit == b.commit ? a.operation < b.operation : a.commit < b.commit
  }
}

/// An object or metadata in a row record or an operation.
package enum StoredValue {
  /// The bytes themselves; valid as long as the page or payload that holds them.
  case inline(UnsafeRawBufferPointer)
  /// A reference to bytes in the log.
  case logged(LoggedReference)

  /// The length of the value, in bytes.
  package var byteCount: Int {
    switch self {
    case .inline(let bytes): bytes.count
    case .logged(let reference): reference.byteCount
    }
  }

  /// A 64-bit digest (XXH64) of the value's bytes.
  var digest: UInt64 {
    switch self {
    case .inline(let bytes): Digest.of(bytes)
    case .logged(let reference): reference.digest
    }
  }

  /// Whether the bytes lie in the log.
  var isLogged: Bool { if case .logged = self { true } else { false } }

  /// The number of bytes that the value takes in a tree's page.
  var inlineByteCount: Int {
    if case .inline(let bytes) = self { bytes.count } else { 0 }
  }
}

/// The reference to a large value in the log.
package struct LoggedReference: Hashable, Sendable {
  /// The value's length in bytes.
  package var byteCount: Int
  /// A 64-bit digest (XXH64) of its bytes.
  var digest: UInt64
  /// The operation that wrote it.
  package var stamp: Stamp
}

/// A row's content as change records hold it: enough to tell which parts have changed.
package struct RowContent: Hashable, Sendable {
  /// A 64-bit digest of the object.
  package var object: UInt64
  /// A 64-bit digest of the metadata; nil without metadata.
  package var metadata: UInt64?
  /// The commit of the row's last touch; 0 if it was never touched.
  package var touched: CommitNumber

  package init(object: UInt64, metadata: UInt64? = nil, touched: CommitNumber) {
    self.object = object
    self.metadata = metadata
    self.touched = touched
  }
}

/// A row in the row tree.
package struct RowRecord {
  /// The last operation on the row, of any kind.
  package var written: Stamp
  /// The operation that made the row.
  package var created: Stamp
  /// The commit of the last touch; 0 if there is none since the row was made.
  package var touched: CommitNumber
  /// The version of the coder that wrote the object.
  package var coder: UInt32
  package var object: StoredValue
  package var metadata: StoredValue?

  package init(
    written: Stamp, created: Stamp, touched: CommitNumber, coder: UInt32, object: StoredValue,
    metadata: StoredValue?
  ) {
    self.written = written
    self.created = created
    self.touched = touched
    self.coder = coder
    self.object = object
    self.metadata = metadata
  }

  /// The row's content as change records hold it.
  package var content: RowContent {
    RowContent(object: object.digest, metadata: metadata?.digest, touched: touched)
  }

  private enum Flag {
    static let loggedObject: UInt8 = 1
    static let metadata: UInt8 = 2
    static let loggedMetadata: UInt8 = 4
    static let touched: UInt8 = 8
    static let createdEarlier: UInt8 = 16
    static let coder: UInt8 = 32
    static let known: UInt8 = 63
  }

  /// Reads a record in place; its inline values point into `bytes`.
  @inline(__always)
  package init(_ bytes: UnsafeRawBufferPointer) throws(TreeRingError) {
    if let record = Self.plain(bytes) { self = record } else { self = try Self(checked: bytes) }
  }

  /// A record without flags, as most rows have: one inline value, and made by its last write. Nil
  /// for any other record, and for a damaged one. Equal to `init(checked:)` where it is not nil.
  @inline(__always)
  private static func plain(_ bytes: UnsafeRawBufferPointer) -> RowRecord? {
    guard bytes.count >= 4, bytes[0] == 0 else { return nil }
    var place = 1
    // At most nine bytes, so that no bit is lost.
    func integer() -> UInt64? {
      var result: UInt64 = 0
      var shift: UInt64 = 0
      while place < bytes.count, shift < 63 {
        let byte = bytes[place]
        place &+= 1
        result |= UInt64(byte & 0x7F) &<< shift
        if byte < 0x80 { return result }
        shift &+= 7
      }
      return nil
    }
    guard let commit = integer(), let operation = integer(), operation <= UInt32.max,
      let length = integer(), length == UInt64(bytes.count &- place)
    else { return nil }
    let written = Stamp(commit: commit, operation: UInt32(truncatingIfNeeded: operation))
    return RowRecord(
      written: written, created: written, touched: 0, coder: 0,
      object: .inline(UnsafeRawBufferPointer(rebasing: bytes[place...])), metadata: nil)
  }

  /// Reads any record, field by field.
  @inline(never)
  init(checked bytes: UnsafeRawBufferPointer) throws(TreeRingError) {
    var reader = ByteReader(bytes)
    let flags = try reader.byte()
    let written = Stamp(commit: try reader.integer(), operation: try reader.integer32())
    try self.init(flags: flags, &reader, written: written)
    guard reader.isAtEnd else { throw ByteReader.damaged }
  }

  /// Reads a record without `written`, as an operation stores it, in place.
  init(_ reader: inout ByteReader, written: Stamp) throws(TreeRingError) {
    try self.init(flags: try reader.byte(), &reader, written: written)
  }

  private init(
    flags: UInt8, _ reader: inout ByteReader, written: Stamp
  ) throws(TreeRingError) {
    guard flags & ~Flag.known == 0 else { throw ByteReader.damaged }
    self.written = written
    created = written
    if flags & Flag.createdEarlier != 0 {
      created = try Self.readStamp(&reader, before: written.commit)
    }
    touched = 0
    if flags & Flag.touched != 0 {
      touched = try Self.readCommit(&reader, before: written.commit)
    }
    coder = flags & Flag.coder != 0 ? try reader.integer32() : 0
    object = try Self.readValue(
      &reader, logged: flags & Flag.loggedObject != 0, before: written.commit)
    if flags & Flag.metadata != 0 {
      metadata = try Self.readValue(
        &reader, logged: flags & Flag.loggedMetadata != 0, before: written.commit)
    }
  }

  /// Appends the record's bytes.
  package func encode(into bytes: inout [UInt8]) {
    if let content = plainObject {
      withUnsafeTemporaryAllocation(
        byteCount: Self.plainHeadByteLimit + content.count, alignment: 8
      ) { buffer in
        let end = encodePlain(content, to: buffer)
        bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<end]))
      }
      return
    }
    bytes.append(flags)
    bytes.append(integer: written.commit)
    bytes.append(integer: UInt64(written.operation))
    encodeFields(into: &bytes)
  }

  /// Appends the record's bytes without `written`, as an operation stores them.
  func encodeUnstamped(into bytes: inout [UInt8]) {
    bytes.append(flags)
    encodeFields(into: &bytes)
  }

  /// The object of a record without flags; nil for any other record.
  @inline(__always)
  var plainObject: UnsafeRawBufferPointer? {
    guard metadata == nil, touched == 0, created == written, coder == 0,
      case .inline(let content) = object
    else { return nil }
    return content
  }

  /// The most bytes of a record without flags, apart from its object.
  static let plainHeadByteLimit = 1 + 3 * LEB128.maxByteCount

  /// Writes a record whose `plainObject` is `content` to a buffer with room for it. A function that
  /// took a closure would be generic in its errors, and look up their metadata at each call.
  /// - Returns: the number of bytes.
  @inline(__always)
  func encodePlain(
    _ content: UnsafeRawBufferPointer, to buffer: UnsafeMutableRawBufferPointer
  ) -> Int {
    buffer[0] = 0
    var end = LEB128.write(written.commit, to: buffer, at: 1)
    end = LEB128.write(UInt64(written.operation), to: buffer, at: end)
    return LEB128.write(counted: content, to: buffer, at: end)
  }

  private var flags: UInt8 {
    var flags: UInt8 = 0
    if case .logged = object { flags |= Flag.loggedObject }
    if let metadata {
      flags |= Flag.metadata
      if case .logged = metadata { flags |= Flag.loggedMetadata }
    }
    if touched != 0 { flags |= Flag.touched }
    if created != written { flags |= Flag.createdEarlier }
    if coder != 0 { flags |= Flag.coder }
    return flags
  }

  private func encodeFields(into bytes: inout [UInt8]) {
    if created != written { append(created, to: &bytes) }
    if touched != 0 { bytes.append(integer: written.commit - touched) }
    if coder != 0 { bytes.append(integer: UInt64(coder)) }
    append(object, to: &bytes)
    if let metadata { append(metadata, to: &bytes) }
  }

  private func append(_ stamp: Stamp, to bytes: inout [UInt8]) {
    bytes.append(integer: written.commit - stamp.commit)
    bytes.append(integer: UInt64(stamp.operation))
  }

  private func append(_ value: StoredValue, to bytes: inout [UInt8]) {
    switch value {
    case .inline(let content): bytes.append(counted: content)
    case .logged(let reference):
      bytes.append(integer: UInt64(reference.byteCount))
      bytes.append(fixed64: reference.digest)
      append(reference.stamp, to: &bytes)
    }
  }

  private static func readCommit(
    _ reader: inout ByteReader, before newest: CommitNumber
  ) throws(TreeRingError) -> CommitNumber {
    let distance = try reader.integer()
    guard distance <= newest else { throw ByteReader.damaged }
    return newest - distance
  }

  private static func readStamp(
    _ reader: inout ByteReader, before newest: CommitNumber
  ) throws(TreeRingError) -> Stamp {
    let commit = try readCommit(&reader, before: newest)
    return Stamp(commit: commit, operation: try reader.integer32())
  }

  private static func readValue(
    _ reader: inout ByteReader, logged: Bool, before newest: CommitNumber
  ) throws(TreeRingError) -> StoredValue {
    guard logged else { return .inline(try reader.counted()) }
    guard let byteCount = Int(exactly: try reader.integer()) else { throw ByteReader.damaged }
    let digest = try reader.fixed64()
    let stamp = try readStamp(&reader, before: newest)
    return .logged(LoggedReference(byteCount: byteCount, digest: digest, stamp: stamp))
  }
}
