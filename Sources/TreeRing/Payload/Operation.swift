// The operations of a commit in a log payload.
//
//   payload   = flags 1 byte · [note] · [annotation] · [idempotency key] · [tags] · operation…
//   operation = kind 1 byte · fields
//
// Texts and byte runs state their length; integers are LEB128. A bucket is written as an index into
// the commit's own list of buckets. The index one past the end adds a bucket and is followed by its
// number and name, so that every commit can be decoded alone. `previous` is the commit that last
// wrote the row (for a put after a delete: the delete), as distance from this commit plus one; 0 if
// the row never existed. An unknown kind makes the whole commit unreadable: nothing of it is
// applied.
//
// Transactions never write three of the kinds; only compaction and erasing do. A *stub* stands for
// removed operations, so that the others keep their numbers. A *row* holds a whole row as its last
// write left it, so that the operations before it are not needed. A *held* operation is removed
// except for logged values that a later state of its row still refers to.

package import TreeRingLog

/// The numbers of operation kinds in the log. Never reused; 9 was never written.
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

/// The reference of an operation to a bucket.
package struct BucketReference: Hashable, Sendable {
  /// The bucket's number in this store.
  package var number: UInt32
  package var name: String

  package init(number: UInt32, name: String) {
    self.number = number
    self.name = name
  }

  package static func == (a: BucketReference, b: BucketReference) -> Bool {
    a.number == b.number && a.name.isSameName(as: b.name)
  }
  package func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

/// One operation, its byte runs in place.
package enum Operation {
  /// Replaces the object; in a put `metadata` replaces the metadata (nil: none from now on).
  case put(RowAddress, coder: UInt32, object: StoredValue, metadata: StoredValue?)
  case object(RowAddress, coder: UInt32, object: StoredValue)
  case metadata(RowAddress, metadata: StoredValue)
  case touch(RowAddress)
  case delete(RowAddress)
  /// The rows of one bucket that a ranged delete removed, in key order.
  case deleteRange(BucketReference, [DeletedRow])
  case tag(name: String, commit: CommitNumber)
  case index(IndexRecord)
  /// Gives a row its place in a group of a manual index; an empty label removes it from the group.
  case place(PlaceAddress, RowAddress, label: UnsafeRawBufferPointer)
  /// Stands for `count` removed operations; the buckets are those that they introduced.
  case stub(count: UInt32, buckets: [BucketReference])
  /// The whole row as this operation left it: `written` is this operation's stamp.
  case row(RowAddress, RowRecord)
  /// The rest of an operation whose logged values are still in use.
  case held(RowAddress, ValueParts)
}

extension Operation {
  /// The row that it writes; nil if it writes none.
  var row: RowAddress? {
    switch self {
    case .put(let row, _, _, _), .object(let row, _, _), .metadata(let row, _), .touch(let row),
      .delete(let row), .row(let row, _):
      row
    case .deleteRange, .tag, .index, .place, .stub, .held: nil
    }
  }
}

/// A selection of a row's two values.
package struct ValueParts: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  package static let object = ValueParts(rawValue: 1)
  package static let metadata = ValueParts(rawValue: 2)
}

/// The row that an operation writes, and the commit that last wrote it before (0: none).
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

/// The manual index and the group that an operation places a row in.
package struct PlaceAddress: Hashable, Sendable {
  package var index: String
  package var group: GroupName

  package init(index: String, group: GroupName) {
    self.index = index
    self.group = group
  }

  package static func == (a: PlaceAddress, b: PlaceAddress) -> Bool {
    a.group == b.group && a.index.isSameName(as: b.index)
  }
  package func hash(into hasher: inout Hasher) {
    index.hashName(into: &hasher)
    hasher.combine(group)
  }
}

/// A row that a ranged delete removed.
package struct DeletedRow {
  package var key: UnsafeRawBufferPointer
  package var previous: CommitNumber
}

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
