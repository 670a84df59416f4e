// Builds the payload of one commit, operation by operation (Operation.swift has the layout,
// Operation+Coding.swift the fields).

package import TreeRingLog

/// The growing payload of one commit.
package struct PayloadWriter {
  private let commit: CommitNumber
  var operations: [UInt8] = []
  /// The index of each bucket named so far, by its number.
  private var buckets: [UInt32: Int] = [:]
  /// The last named bucket, since most operations name it again.
  private var last: (number: UInt32, index: Int)?
  /// The number of operations written.
  package internal(set) var count: UInt32 = 0

  package init(commit: CommitNumber) {
    self.commit = commit
    operations.reserveCapacity(256)
  }

  /// The whole payload.
  package func payload(notes: CommitNotes) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(operations.count + 16)
    notes.encode(into: &bytes)
    bytes.append(contentsOf: operations)
    return bytes
  }

  /// Takes the whole payload, without copying the operations; the writer is empty afterwards.
  mutating func takePayload(notes: CommitNotes) -> [UInt8] {
    var head: [UInt8] = []
    notes.encode(into: &head)
    var bytes: [UInt8] = []
    swap(&bytes, &operations)
    bytes.insert(contentsOf: head, at: 0)
    return bytes
  }

  /// The stamp of the next operation.
  package var stamp: Stamp { Stamp(commit: commit, operation: count) }

  /// Appends a change of a row by values that this operation writes.
  package mutating func append(_ change: RowChange<NewValue>, of row: RowAddress) {
    append(.row(row, change.stored(by: stamp)))
  }

  mutating func append(_ row: RowAddress) {
    append(row.bucket)
    operations.append(counted: row.key)
    append(previous: row.previous)
  }

  mutating func append(_ bucket: BucketReference) {
    let known = last?.number == bucket.number ? last?.index : buckets[bucket.number]
    let index = known ?? buckets.count
    last = (bucket.number, index)
    operations.append(integer: UInt64(index))
    if known != nil { return }
    operations.append(integer: UInt64(bucket.number))
    operations.append(counted: bucket.name)
    buckets[bucket.number] = index
  }

  mutating func append(previous: CommitNumber) {
    operations.append(integer: previous == 0 ? 0 : commit - previous + 1)
  }
}
