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
// removed operations, so that the others keep their numbers. A *whole* row is the row as its last
// write left it, so that the operations before it are not needed. A *held* operation is removed
// except for logged values that a later state of its row still refers to.
//
// A new change of a row needs a number in `OperationKind`, a case of `RowChange` (RowChange.swift)
// and its bytes (Operation+Coding.swift): replay, history, compaction, erasing and salvage use its
// properties. Anything else needs a case of `Operation`, and the compiler lists the decisions about
// it. docs/rows.md documents both.

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
  case whole = 11
  case held = 12
  case place = 13
}

/// The reference of an operation to a bucket.
package struct BucketReference: Hashable, Sendable {
  /// The bucket's number in this store.
  package var number: UInt32
  @ExactName package var name: String

  package init(number: UInt32, name: String) {
    self.number = number
    self.name = name
  }
}

/// One operation, its byte runs in place.
package enum Operation {
  /// A change of one row.
  case row(RowAddress, RowChange<StoredValue>)
  /// The rows of one bucket that a ranged delete removed, in key order.
  case deleteRange(BucketReference, [DeletedRow])
  case tag(name: String, commit: CommitNumber)
  case index(IndexRecord)
  /// Gives a row its place in a group of a manual index; an empty label removes it from the group.
  case place(PlaceAddress, RowAddress, label: UnsafeRawBufferPointer)
  /// Stands for `count` removed operations; the buckets are those that they introduced.
  case stub(count: UInt32, buckets: [BucketReference])
  /// The rest of an operation whose logged values are still in use.
  case held(RowAddress, ValueParts)
}

extension Operation {
  package var kind: OperationKind {
    switch self {
    case .row(_, let change): change.kind
    case .deleteRange: .deleteRange
    case .tag: .tag
    case .index: .index
    case .place: .place
    case .stub: .stub
    case .held: .held
    }
  }

  /// The number of operations that it counts for.
  var count: UInt32 { if case .stub(let count, _) = self { count } else { 1 } }

  /// The row that it names; nil if it names none or several.
  var row: RowAddress? {
    switch self {
    case .row(let row, _), .place(_, let row, _), .held(let row, _): row
    case .deleteRange, .tag, .index, .stub: nil
    }
  }

  /// Calls `body` with each change of a row, the deletes of a ranged delete one by one.
  func forEachChange<E: Error>(
    _ body: (RowAddress, RowChange<StoredValue>) throws(E) -> Void
  ) throws(E) {
    switch self {
    case .row(let row, let change): try body(row, change)
    case .deleteRange(let bucket, let rows):
      for row in rows { try body(row.address(in: bucket), .delete) }
    case .tag, .index, .place, .stub, .held: break
    }
  }

  /// The change of one row, and the commit that last wrote the row before; nil if the operation
  /// does not change that row.
  func change(
    of key: [UInt8], in isBucket: (BucketReference) -> Bool
  ) -> (change: RowChange<StoredValue>, previous: CommitNumber)? {
    switch self {
    case .row(let row, let change):
      return row.key.elementsEqual(key) && isBucket(row.bucket) ? (change, row.previous) : nil
    case .deleteRange(let bucket, let rows):
      guard isBucket(bucket) else { return nil }
      return rows.first { $0.key.elementsEqual(key) }.map { (.delete, $0.previous) }
    case .tag, .index, .place, .stub, .held: return nil
    }
  }

  /// The values that it has in the log under its own stamp.
  func loggedParts(of stamp: Stamp) -> ValueParts {
    switch self {
    case .row(_, let change):
      let (_, object, metadata) = change.written
      return ValueParts(object, metadata, loggedBy: stamp)
    case .held(_, let parts): return parts
    case .deleteRange, .tag, .index, .place, .stub: return []
    }
  }
}

/// A selection of a row's two values.
package struct ValueParts: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  package static let object = ValueParts(rawValue: 1)
  package static let metadata = ValueParts(rawValue: 2)

  /// The values that the operation with this stamp has logged.
  init(_ object: StoredValue?, _ metadata: StoredValue?, loggedBy stamp: Stamp) {
    self = []
    if case .logged(let reference) = object, reference.stamp == stamp { insert(.object) }
    if case .logged(let reference) = metadata, reference.stamp == stamp { insert(.metadata) }
  }
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
  @ExactName package var index: String
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

  func address(in bucket: BucketReference) -> RowAddress {
    RowAddress(bucket: bucket, key: key, previous: previous)
  }
}
