// One commit of a base as a log payload: its puts are whole rows under their original numbers, with
// stubs for the missing numbers.

internal import TreeRingLog

/// A commit of a base while it is being built.
struct BaseCommit {
  let number: CommitNumber
  let timestamp: Timestamp
  private var payload: PayloadWriter
  private let values: PendingValues

  /// The first operation number that is refused: the reader counts in 32 bits.
  private static let operationLimit: UInt32 = 1 << 31

  init(number: CommitNumber, timestamp: Timestamp) {
    self.number = number
    self.timestamp = timestamp
    payload = PayloadWriter(commit: number)
    values = PendingValues(commit: number)
  }

  func draft(_ notes: CommitNotes) -> CommitDraft {
    CommitDraft(
      number: number, timestamp: timestamp, operationCount: payload.count,
      payload: payload.payload(notes: notes), values: values.all)
  }

  /// Declares buckets that no operation names.
  mutating func declare(_ buckets: [BucketReference]) {
    if !buckets.isEmpty { payload.append(.stub(count: 1, buckets: buckets)) }
  }

  mutating func put(
    _ base: BaseOperation, _ bucket: BucketReference, _ key: [UInt8], _ object: [UInt8],
    _ metadata: [UInt8]?, _ coder: UInt32
  ) throws {
    try check(base)
    let missingCount = base.stamp.operation - payload.count
    if missingCount > 0 { payload.append(.stub(count: missingCount, buckets: [])) }
    try key.withUnsafeBytes { key in
      try Limits.check(key: key)
      try object.withUnsafeBytes { object in
        try Limits.check(value: object)
        try (metadata ?? []).withUnsafeBytes { bytes in
          try Limits.check(value: bytes)
          put(base, bucket, key, object, metadata == nil ? nil : bytes, coder)
        }
      }
    }
  }

  private func check(_ base: BaseOperation) throws(TreeRingError) {
    guard base.created.commit > 0, base.created <= base.stamp, base.touched <= number else {
      throw refused(
        "says that commit \(base.created.commit) made its row and commit \(base.touched) touched it"
      )
    }
    guard base.stamp.operation >= payload.count, base.stamp.operation < Self.operationLimit else {
      throw refused(
        "has the number \(base.stamp.operation) there, where \(payload.count) or more is expected")
    }
  }

  private mutating func put(
    _ base: BaseOperation, _ bucket: BucketReference, _ key: UnsafeRawBufferPointer,
    _ object: UnsafeRawBufferPointer, _ metadata: UnsafeRawBufferPointer?, _ coder: UInt32
  ) {
    let object = NewValue(object, beside: 0, keyByteCount: key.count)
    let inline = object.isLogged ? 0 : object.bytes.count
    let metadata = metadata.map { NewValue($0, beside: inline, keyByteCount: key.count) }
    if object.isLogged { values.append(.object, object, of: base.stamp) }
    if let metadata, metadata.isLogged { values.append(.metadata, metadata, of: base.stamp) }
    payload.append(
      .whole(
        created: base.created, touched: base.touched, coder: coder, object: object,
        metadata: metadata), of: RowAddress(bucket: bucket, key: key, previous: 0))
  }

  mutating func delete(_ key: [UInt8], in bucket: BucketReference) throws {
    try key.withUnsafeBytes { key in
      try Limits.check(key: key)
      payload.append(.delete, of: RowAddress(bucket: bucket, key: key, previous: 0))
    }
  }

  mutating func tag(_ name: String, _ tagged: CommitNumber) throws(TreeRingError) {
    try Limits.check(name: name, of: "tag")
    guard tagged <= number else { throw refused("names commit \(tagged)") }
    payload.append(.tag(name: name, commit: tagged))
  }

  mutating func index(_ record: IndexRecord) { payload.append(.index(record)) }

  mutating func place(
    _ place: PlaceAddress, _ key: [UInt8], in bucket: BucketReference, label: [UInt8]
  ) throws {
    try place.group.check()
    guard label.isEmpty || OrderLabel.isSound(label) else {
      throw refused("places a row with a label that is none")
    }
    try key.withUnsafeBytes { key in
      try Limits.check(key: key)
      let row = RowAddress(bucket: bucket, key: key, previous: 0)
      label.withUnsafeBytes { payload.append(.place(place, row, label: $0)) }
    }
  }

  func refused(_ what: String) -> TreeRingError {
    TreeRingError(
      .invalidInput, "An operation of commit \(number) \(what); that cannot be part of a base.",
      commit: number)
  }
}
