// A source's reads of one state of a store: pages, ranges, and the changes since another state.

internal import TreeRing
internal import TreeRingLog

/// The rows of a source and their order.
enum StoreScope: Sendable {
  case bucket
  case group(index: String, GroupName)

  /// The index that orders the rows; nil for a bucket.
  var index: String? {
    if case .group(let index, _) = self { index } else { nil }
  }
}

extension Snapshot {
  /// Whether another snapshot reads an index by the same definition, so that rows without a change
  /// keep their positions. True for nil, an order without an index.
  func reads(_ index: String?, as other: Snapshot) throws -> Bool {
    guard let index else { return true }
    return try definition(ofIndex: index).number == other.definition(ofIndex: index).number
  }

  /// The row that an index entry refers to; nil for a row of another bucket.
  func row(_ reference: RowReference, in bucket: String) throws -> StoredRow? {
    let id = try self.id(reference)
    return id.bucket.isSameName(as: bucket) ? try row(id.key, in: bucket) : nil
  }
}

/// A bucket's rows at one commit, in one order.
struct StoreReading {
  let store: Store
  let snapshot: Snapshot
  let bucket: String
  let scope: StoreScope

  private func child(_ row: StoredRow, order: [UInt8]) -> SourceChild<StoredRow> {
    SourceChild(row, at: Self.position(RowID(bucket: row.bucket, key: row.key), order: order))
  }

  private static func position(_ id: RowID, order: [UInt8]) -> ChildPosition {
    // A place's bytes are unique already; the key only names the row.
    ChildPosition(order: .bytes(order), key: StoreSource.childKey(of: id.key))
  }

  private static func bytes(_ position: ChildPosition) -> [UInt8] {
    if case .bytes(let bytes) = position.order { bytes } else { [] }
  }

  func page(_ request: PageRequest) throws -> SourcePage<StoredRow> {
    let limit = request.limit ?? .max
    var children: [SourceChild<StoredRow>] = []
    var hasMore = false
    let range =
      request.direction == .forward
      ? PositionRange(from: request.cursor) : PositionRange(through: request.cursor)
    try forEach(in: range, reversed: request.direction == .backward) { child in
      if child.position == request.cursor { return true }
      hasMore = children.count == limit
      if !hasMore { children.append(child) }
      return !hasMore
    }
    return SourcePage(children, hasMore: hasMore)
  }

  func children(in range: PositionRange) throws -> [SourceChild<StoredRow>] {
    var children: [SourceChild<StoredRow>] = []
    try forEach(in: range, reversed: false) {
      children.append($0)
      return true
    }
    return children
  }

  /// Calls `body` with the children of a range until it returns false. O(log n + rows read).
  private func forEach(
    in range: PositionRange, reversed: Bool, _ body: (SourceChild<StoredRow>) throws -> Bool
  ) throws {
    switch scope {
    case .bucket:
      let lower = range.first.map { Key(bytes: Self.bytes($0)) }
      // The upper bound is exclusive: the next key after the last one has one more zero byte.
      let upper = range.last.map { Key(bytes: Self.bytes($0) + [0]) }
      try snapshot.forEachRow(in: bucket, from: lower, to: upper, reversed: reversed) { row in
        try body(child(row, order: row.key.bytes))
      }
    case .group(let index, let group):
      let reader = try snapshot.index(index)
      let count = try reader.count(in: group)
      let first = try range.first.map { try reader.rank(of: Self.bytes($0), in: group) } ?? 0
      var end = count
      if let last = range.last {
        end = try reader.rank(of: Self.bytes(last) + [0], in: group)
      }
      try reader.forEachEntry(in: group, first..<max(first, end), reversed: reversed) { entry in
        guard let row = try snapshot.row(entry.row, in: bucket) else { return true }
        return try body(child(row, order: Array(entry.order)))
      }
    }
  }

  /// The events that take a listener of a range from an earlier state to this one. O(affected rows
  /// · log n); O(rows of the range) if the index was redefined in between, or if the earlier state
  /// cannot be read any more.
  func events(
    since old: Snapshot, in range: PositionRange
  ) throws -> [SourceEvent<StoredRow>] {
    do {
      if try snapshot.reads(scope.index, as: old) { return try changes(since: old, in: range) }
    } catch let error as TreeRingError
      where error.code == .snapshotExpired || error.code == .beyondHorizon
    {}
    return [.state(range, try children(in: range))]
  }

  private func changes(
    since old: Snapshot, in range: PositionRange
  ) throws -> [SourceEvent<StoredRow>] {
    var events: [SourceEvent<StoredRow>] = []
    func add(_ id: RowID, from: [UInt8]?, to: [UInt8]?) throws {
      if let to, range.contains(Self.position(id, order: to)),
        let row = try snapshot.row(id.key, in: bucket)
      {
        events.append(.set(child(row, order: to)))
      } else if let from, range.contains(Self.position(id, order: from)) {
        events.append(.removed(key: StoreSource.childKey(of: id.key)))
      }
    }
    switch scope {
    case .bucket:
      try snapshot.diff(from: old) { difference in
        guard difference.id.bucket.isSameName(as: bucket) else { return true }
        let order = difference.id.key.bytes
        try add(
          difference.id, from: difference.before == nil ? nil : order,
          to: difference.after == nil ? nil : order)
        return true
      }
    case .group(let index, let group):
      let affected = try store.affectedRows(ofIndex: index, from: old, to: snapshot)
      let names = store.rowNames
      for (row, change) in affected.rows {
        let id = try names.id(of: row)
        guard id.bucket.isSameName(as: bucket) else { continue }
        try add(
          id, from: change.oldPlaces.first { $0.group == group }?.order,
          to: change.newPlaces.first { $0.group == group }?.order)
      }
    }
    return events
  }
}
