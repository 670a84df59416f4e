// Builds the payload of one commit, operation by operation (Operation.swift has the layout,
// Operation+Coding.swift the fields).

package import TreeRingLog

/// The growing payload of one commit.
package struct PayloadWriter {
  private var commit: CommitNumber
  /// A byte for the flags of the commit's notes, then the operations.
  var bytes: [UInt8]
  /// The number of the first bucket named, whose index is 0. Most commits name no other.
  private var firstBucket: UInt32?
  /// The index of each other bucket named so far, by its number.
  private var otherBuckets: [UInt32: Int] = [:]
  /// The last named bucket, since most operations name it again.
  private var last: (number: UInt32, index: Int)?
  /// The blocks that are being compressed; nil before the first.
  private var blocks: PayloadBlocks?
  /// The length of the bytes from which on another block is full.
  private var nextBlockEnd: Int
  /// Whether another thread compresses full blocks.
  private let compresses: Bool
  /// The number of operations written.
  package internal(set) var count: UInt32 = 0

  /// - Parameters:
  ///   - memory: An array whose memory the writer takes over; its content is dropped.
  ///   - compresses: Whether another thread compresses full blocks, for `takeBlocks`.
  package init(commit: CommitNumber, memory: consuming [UInt8] = [], compresses: Bool = false) {
    self.commit = commit
    self.compresses = compresses
    nextBlockEnd = 0
    bytes = memory
    begin(commit)
  }

  /// Releases a payload that was not taken.
  mutating func end() {
    if !bytes.isEmpty { bytes = [] }
    blocks = nil
    if !otherBuckets.isEmpty { otherBuckets = [:] }
  }

  /// Begins the payload of another commit; the one before has ended.
  /// - Parameter memory: An array whose memory the writer takes over; its content is dropped.
  mutating func begin(_ commit: CommitNumber, memory: inout [UInt8]) {
    swap(&bytes, &memory)
    begin(commit)
  }

  private mutating func begin(_ commit: CommitNumber) {
    self.commit = commit
    nextBlockEnd = compresses ? PayloadBlocks.blockByteCount : .max
    bytes.removeAll(keepingCapacity: true)
    bytes.reserveCapacity(256)
    bytes.append(0)
    (firstBucket, last, count) = (nil, nil, 0)
  }

  /// The whole payload.
  package func payload(notes: CommitNotes) -> [UInt8] {
    var writer = self
    return writer.takePayload(notes: notes)
  }

  /// Takes the whole payload, without copying the operations; the writer is empty afterwards.
  /// - Parameter notes: nil stands for bare ones.
  mutating func takePayload(notes: CommitNotes?) -> [UInt8] {
    var payload: [UInt8] = []
    swap(&payload, &bytes)
    if let notes, !notes.isBare {
      var head: [UInt8] = []
      notes.encode(into: &head)
      payload.replaceSubrange(..<1, with: head)
      // They begin with a byte that was replaced.
      blocks = nil
    }
    return payload
  }

  /// Takes the first blocks of the payload taken before, if they are already being compressed.
  mutating func takeBlocks() -> PayloadBlocks? {
    defer { blocks = nil }
    return blocks
  }

  /// Lets another thread compress the blocks that are full.
  @inline(never)
  private mutating func addBlocks() {
    let blocks = self.blocks ?? PayloadBlocks()
    self.blocks = blocks
    while bytes.count >= nextBlockEnd {
      let block = nextBlockEnd - PayloadBlocks.blockByteCount..<nextBlockEnd
      bytes.withUnsafeBytes { blocks.add(UnsafeRawBufferPointer(rebasing: $0[block])) }
      nextBlockEnd += PayloadBlocks.blockByteCount
    }
  }

  /// The stamp of the next operation.
  package var stamp: Stamp { Stamp(commit: commit, operation: count) }

  /// Appends a change of a row by values that this operation writes.
  package mutating func append(_ change: RowChange<NewValue>, of row: RowAddress) {
    append(row, change.stored(by: stamp))
  }

  /// Appends a change of a row.
  mutating func append(_ row: RowAddress, _ change: RowChange<StoredValue>) {
    bytes.append(change.kind.rawValue)
    append(row)
    change.encode(into: &bytes, at: stamp)
    endRow()
  }

  /// Appends the put of a row without metadata, whose object is inline. The bytes are those of
  /// `append`, but in one step, because each append to an array checks its memory.
  mutating func append(
    put object: UnsafeRawBufferPointer, coder: UInt32, for key: UnsafeRawBufferPointer,
    in bucket: BucketReference, previous: CommitNumber
  ) {
    let isFirst = firstBucket == nil
    guard isFirst || last?.number == bucket.number else {
      append(
        RowAddress(bucket: bucket, key: key, previous: previous),
        .put(coder: coder, object: .inline(object), metadata: nil))
      return
    }
    let nameByteCount = isFirst ? bucket.name.utf8.count : 0
    let room = 3 + 7 * LEB128.maxByteCount + nameByteCount + key.count + object.count
    withUnsafeTemporaryAllocation(byteCount: room, alignment: 8) { buffer in
      buffer[0] = OperationKind.put.rawValue
      var end = LEB128.write(UInt64(last?.index ?? 0), to: buffer, at: 1)
      if isFirst { end = write(first: bucket, to: buffer, at: end) }
      end = LEB128.write(counted: key, to: buffer, at: end)
      end = LEB128.write(distance(to: previous), to: buffer, at: end)
      end = LEB128.write(UInt64(coder), to: buffer, at: end)
      buffer[end] = 0
      end = LEB128.write(counted: object, to: buffer, at: end + 1)
      buffer[end] = 0
      bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[...end]))
    }
    endRow()
  }

  /// Writes the number and the name of the first bucket.
  private mutating func write(
    first bucket: BucketReference, to buffer: UnsafeMutableRawBufferPointer, at offset: Int
  ) -> Int {
    (firstBucket, last) = (bucket.number, (bucket.number, 0))
    var name = bucket.name
    let end = LEB128.write(UInt64(bucket.number), to: buffer, at: offset)
    return name.withUTF8 {
      LEB128.write(counted: UnsafeRawBufferPointer($0), to: buffer, at: end)
    }
  }

  @inline(__always)
  private mutating func endRow() {
    count += 1
    if bytes.count >= nextBlockEnd { addBlocks() }
  }

  mutating func append(_ row: RowAddress) {
    append(row.bucket)
    bytes.append(counted: row.key)
    append(previous: row.previous)
  }

  mutating func append(_ bucket: BucketReference) {
    if let last, last.number == bucket.number {
      bytes.append(integer: UInt64(last.index))
    } else {
      appendOther(bucket)
    }
  }

  /// Appends a bucket that is not the last one named.
  @inline(never)
  private mutating func appendOther(_ bucket: BucketReference) {
    let known = firstBucket == bucket.number ? 0 : otherBuckets[bucket.number]
    let index = known ?? (firstBucket == nil ? 0 : otherBuckets.count + 1)
    last = (bucket.number, index)
    bytes.append(integer: UInt64(index))
    if known != nil { return }
    bytes.append(integer: UInt64(bucket.number))
    bytes.append(counted: bucket.name)
    if index == 0 { firstBucket = bucket.number } else { otherBuckets[bucket.number] = index }
  }

  mutating func append(previous: CommitNumber) {
    bytes.append(integer: distance(to: previous))
  }

  private func distance(to previous: CommitNumber) -> UInt64 {
    previous == 0 ? 0 : commit - previous + 1
  }
}
