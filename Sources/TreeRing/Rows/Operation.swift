// The operations of a commit as they lie in a log payload.
//
//   payload   = flags 1 byte · [note] · [annotation] · [idempotency key] · [tags] · operation…
//   operation = kind 1 byte · fields
//
// Texts and byte runs state their length; integers are LEB128. A bucket is written as an index into
// the commit's own list of buckets; the index one past the end adds a bucket and is followed by its
// number and name, so that every commit can be decoded alone. `previous` is the commit that last
// wrote the row (a put after a delete: the delete), as distance from this commit plus one; 0 if the
// row never was. An unknown kind makes the whole commit unreadable: nothing of it is applied.
//
// Three kinds are never written by a transaction, only by compaction and erasing: a *stub* stands for
// operations that are gone, so that the others keep their numbers; a *row* holds a whole row as its
// last write left it, so that the operations before it are not needed; a *held* one is gone but for
// logged values that a later state of its row still refers to.

package import TreeRingLog

/// Numbers of operation kinds, as they lie in the log. Never reused; 9 was never written.
package enum OperationKind: UInt8, Sendable {
  case put = 1
  case object = 2
  case metadata = 3
  case touch = 4
  case delete = 5
  case deleteRange = 6
  case tag = 7
  case index = 8
  case stub = 10
  case row = 11
  case held = 12
  case place = 13
}

/// A bucket as an operation names it.
package struct BucketReference: Hashable, Sendable {
  /// The bucket's number in this store.
  package var number: UInt32
  package var name: String

  package init(number: UInt32, name: String) {
    self.number = number
    self.name = name
  }
}

/// One operation, its byte runs in place.
package enum Operation {
  /// Replaces the object; `metadata` replaces the metadata for a put (nil: none from now on).
  case put(RowAddress, coder: UInt32, object: StoredValue, metadata: StoredValue?)
  case object(RowAddress, coder: UInt32, object: StoredValue)
  case metadata(RowAddress, metadata: StoredValue)
  case touch(RowAddress)
  case delete(RowAddress)
  /// The rows of one bucket that a ranged delete removed, in key order.
  case deleteRange(BucketReference, [DeletedRow])
  case tag(name: String, commit: CommitNumber)
  case index(IndexRecord)
  /// Gives a row its place in a group of a manual index; an empty label takes it out.
  case place(PlaceAddress, RowAddress, label: UnsafeRawBufferPointer)
  /// Stands for `count` operations that are gone; the buckets are those that they made known.
  case stub(count: UInt32, buckets: [BucketReference])
  /// The whole row as this operation left it: `written` is this operation's stamp.
  case row(RowAddress, RowRecord)
  /// What is left of an operation whose logged values are still in use.
  case held(RowAddress, ValueParts)
}

extension Operation {
  /// The row it writes, if it writes one.
  var row: RowAddress? {
    switch self {
    case .put(let row, _, _, _), .object(let row, _, _), .metadata(let row, _), .touch(let row),
      .delete(let row), .row(let row, _):
      row
    case .deleteRange, .tag, .index, .place, .stub, .held: nil
    }
  }
}

/// Which of a row's two values.
package struct ValueParts: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  package static let object = ValueParts(rawValue: 1)
  package static let metadata = ValueParts(rawValue: 2)
}

/// Which row an operation writes, and the commit that last wrote it before (0: none).
package struct RowAddress {
  package var bucket: BucketReference
  package var key: UnsafeRawBufferPointer
  package var previous: CommitNumber

  package init(
    bucket: BucketReference, key: UnsafeRawBufferPointer, previous: CommitNumber
  ) {
    self.bucket = bucket
    self.key = key
    self.previous = previous
  }
}

/// Which group of which manual index an operation places a row in.
package struct PlaceAddress: Hashable, Sendable {
  package var index: String
  package var group: GroupName

  package init(index: String, group: GroupName) {
    self.index = index
    self.group = group
  }
}

/// A row that a ranged delete removed.
package struct DeletedRow {
  package var key: UnsafeRawBufferPointer
  package var previous: CommitNumber
}

/// The definition of a group index as the log and the catalog hold it.
package struct IndexRecord: Hashable, Sendable {
  /// How the places of a row are found.
  package enum Definition: Hashable, Sendable {
    /// The index was removed.
    case removed
    /// By fields of a JSON object; the canonical text of the definition.
    case fields(String)
    /// By a closure that some process registers.
    case code(buckets: [String])
    /// By another index, as it was defined then, and a closure that some process registers, which
    /// says which of its rows stay.
    indirect case filtered(IndexRecord, buckets: [String])
    /// By another index, as it was defined then, and fields of a JSON object; the canonical text of the
    /// filter.
    indirect case selected(IndexRecord, String)
    /// By hand: rows of these buckets stand where they were placed.
    case manual(buckets: [String])
  }
  package var name: String
  /// The number of this definition in this store; a new definition gets a new number.
  package var number: UInt32
  /// The version its author gave it.
  package var version: UInt32
  package var definition: Definition

  package init(name: String, number: UInt32, version: UInt32, definition: Definition) {
    self.name = name
    self.number = number
    self.version = version
    self.definition = definition
  }
}

/// What a commit carries beside its operations.
package struct CommitNotes: Hashable, Sendable {
  /// A remark for people.
  package var note: String?
  /// JSON for programs.
  package var annotation: [UInt8]?
  /// A key under which writing the same commit twice is recognised.
  package var idempotencyKey: [UInt8]?
  /// Names given to this commit.
  package var tags: [String] = []

  package init() {}

  /// Whether there is nothing in it that would make a commit without operations worth keeping.
  package var isEmpty: Bool { note == nil && annotation == nil && tags.isEmpty }

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
