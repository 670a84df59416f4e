// Reads the bases of a compacted store from its log, commit by commit, so that only one operation
// is in memory at a time.
//
// Up to a kept point the log holds more than the state there: operations that later ones overtook,
// in segments not worth rewriting. So each operation is checked against the state. A row's
// operation counts if it was the last to write the row. A delete counts if the row is absent but
// present in the base before.

internal import TreeRingLog

extension Store {
  /// The commits whose states the history begins with, the oldest first: those of tags before the
  /// horizon, and the horizon. Empty if the store was never compacted.
  package func baseCommits() throws(TreeRingError) -> [CommitNumber] {
    let horizon = horizon
    if horizon == 0 { return [] }
    return KeptPoints(horizon: horizon, tags: try tagged(below: horizon).map(\.commit)).commits
  }

  /// The properties of a base's commit.
  package func baseInfo(of number: CommitNumber) throws(TreeRingError) -> BaseInfo {
    let info = try commit(number)
    let buckets = try snapshot(at: .commit(number)).reader.catalog.buckets.all
    return BaseInfo(
      commit: number, timestamp: info.timestamp, note: info.note, annotation: info.annotation,
      buckets: buckets.map(\.name))
  }

  /// Calls `body` with the operations of a base, in the order of their commits. O(log up to it).
  ///
  /// - Parameters:
  ///   - number: One of `baseCommits`.
  ///   - previous: The one before it; 0 if it is the first.
  /// - Throws: The errors of `body`; `beyondHorizon` if the commit can no longer be read;
  ///   `corruption`, `io`, `closed`.
  package func forEachBaseOperation(
    of number: CommitNumber, after previous: CommitNumber, _ body: (BaseOperation) throws -> Void
  ) throws {
    let states = BaseStates(
      now: try snapshot(at: .commit(number)), before: try snapshot(at: .commit(previous)))
    try log.replayRethrowing(from: previous + 1, through: number) { header, payload in
      for operation in try states.operations(of: header, payload, body) { try body(operation) }
      return true
    }
    try states.forEachPlace(at: number, body)
  }
}

/// The states at a base and at the one before it.
private struct BaseStates {
  let now: Snapshot
  let before: Snapshot

  /// Calls `body` with the puts of a commit that count, and returns its other operations that
  /// count.
  func operations(
    of header: CommitHeader, _ payload: UnsafeRawBufferPointer,
    _ body: (BaseOperation) throws -> Void
  ) throws -> [BaseOperation] {
    var reader = try PayloadReader(payload, commit: header.number)
    var others: [BaseOperation] = []
    while let (operation, stamp) = try reader.nextStamped() {
      func add(_ operation: CommitOperation) {
        others.append(BaseOperation(operation, stamp: stamp, timestamp: header.timestamp))
      }
      switch operation {
      case .row, .deleteRange:
        try operation.forEachChange { row, change in
          if change.isDelete {
            if try lacks(row) { add(.row(RowID(row), .delete)) }
          } else if let put = try put(row, by: stamp, at: header.timestamp) {
            try body(put)
          }
        }
      case .tag(let name, let commit): add(.tag(name: name, commit: commit))
      case .index(let record):
        add(.index(name: record.name, version: record.version, record.definition))
      case .stub, .held, .place: continue
      }
    }
    let stamp = Stamp(commit: header.number, operation: 0)
    let tags = reader.notes.tags.map { name in
      BaseOperation(
        .tag(name: name, commit: header.number), stamp: stamp, timestamp: header.timestamp)
    }
    // The tags of the commit itself come before the tag operations in its payload.
    return tags + others
  }

  /// Calls `body` with the manual places that differ between the two states, as operations of the
  /// base's own commit. If the index was redefined between them, every place counts.
  func forEachPlace(
    at commit: CommitNumber, _ body: (BaseOperation) throws -> Void
  ) throws {
    let (reader, old) = (try now.reader, try before.reader)
    let stamp = Stamp(commit: commit, operation: 0)
    for index in reader.catalog.indexes.values.sorted(by: { $0.number < $1.number }) {
      guard case .manual = index.definition else { continue }
      let isAnew = old.catalog.indexes[index.name]?.number != index.number
      try old.reading {
        try reader.reading {
          try reader.manualPlaces.forEachDifference(
            from: old.manualPlaces, of: index.name, all: isAnew
          ) { place in
            let row = try reader.id(RowReference(bucket: place.bucket, key: place.key))
            let address = PlaceAddress(index: index.name, group: place.group)
            try body(
              BaseOperation(
                .place(address, row, label: place.label), stamp: stamp, timestamp: now.timestamp))
          }
        }
      }
    }
  }

  /// The row as a put, if this operation was the last to write it; nil otherwise.
  private func put(
    _ row: RowAddress, by stamp: Stamp, at timestamp: Timestamp
  ) throws -> BaseOperation? {
    let reader = try now.reader
    return try reader.reading {
      guard let record = try reader.record(bucket: row.bucket.number, key: row.key),
        record.written == stamp
      else { return nil }
      let metadata = try record.metadata.map { try reader.values.bytes(of: $0, part: .metadata) }
      return BaseOperation(
        .row(
          RowID(row),
          .put(
            coder: record.coder,
            object: try reader.values.bytes(of: record.object, part: .object),
            metadata: metadata)),
        stamp: stamp, timestamp: timestamp, created: record.created, touched: record.touched)
    }
  }

  /// Whether the row existed in the base before and no longer does.
  private func lacks(_ row: RowAddress) throws -> Bool {
    func isThere(_ snapshot: Snapshot) throws -> Bool {
      let reader = try snapshot.reader
      return try reader.reading {
        try reader.record(bucket: row.bucket.number, key: row.key) != nil
      }
    }
    return try !isThere(now) && isThere(before)
  }
}
