// The beginning of a payload: everything of a commit besides its operations.

internal import TreeRingLog

/// The content of a commit besides its operations.
package struct CommitNotes: Hashable, Sendable {
  /// A remark for people.
  package var note: String?
  /// JSON for programs.
  package var annotation: [UInt8]?
  /// A key that identifies the commit, so that writing it twice is recognised.
  package var idempotencyKey: [UInt8]?
  /// The tags of this commit.
  package var tags: [String] = []

  package init() {}

  /// Whether nothing here would make a commit without operations worth keeping.
  package var isEmpty: Bool { note == nil && annotation == nil && tags.isEmpty }

  /// Whether there is nothing at all.
  var isBare: Bool { isEmpty && idempotencyKey == nil }

  private enum Flag {
    static let note: UInt8 = 1
    static let annotation: UInt8 = 2
    static let idempotencyKey: UInt8 = 4
    static let tags: UInt8 = 8
    static let known: UInt8 = 15
  }

  func encode(into bytes: inout [UInt8]) {
    var flags: UInt8 = 0
    if note != nil { flags |= Flag.note }
    if annotation != nil { flags |= Flag.annotation }
    if idempotencyKey != nil { flags |= Flag.idempotencyKey }
    if !tags.isEmpty { flags |= Flag.tags }
    bytes.append(flags)
    if let note { bytes.append(counted: note) }
    annotation?.withUnsafeBytes { bytes.append(counted: $0) }
    idempotencyKey?.withUnsafeBytes { bytes.append(counted: $0) }
    if !tags.isEmpty {
      bytes.append(integer: UInt64(tags.count))
      for tag in tags { bytes.append(counted: tag) }
    }
  }

  init(_ reader: inout ByteReader) throws(TreeRingError) {
    let flags = try reader.byte()
    guard flags & ~Flag.known == 0 else { throw ByteReader.damaged }
    if flags & Flag.note != 0 { note = String(decoding: try reader.counted(), as: UTF8.self) }
    if flags & Flag.annotation != 0 { annotation = Array(try reader.counted()) }
    if flags & Flag.idempotencyKey != 0 {
      let key = Array(try reader.counted())
      guard key.count <= Limits.nameByteCount else { throw ByteReader.damaged }
      idempotencyKey = key
    }
    if flags & Flag.tags != 0 {
      let count = try reader.integer()
      for _ in 0..<count { tags.append(try reader.name()) }
    }
  }
}
