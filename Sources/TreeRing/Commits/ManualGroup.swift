// Arranges the rows of a manual index.
//
// A row gets a label between those of its new neighbours. From time to time nearby rows get new
// labels too (LabeledRows). These rows keep their order, so observers report no moves of them.
// Every changed label is an operation of the commit, so a replay derives no labels.

public import TreeRingLog

extension Transaction {
  /// Returns a group of a manual index for arranging its rows.
  /// - Throws: `notFound` if there is no such manual index; `tooLarge` if the name is over its
  ///   limit.
  public func group(_ name: GroupName, of index: String) throws(TreeRingError) -> ManualGroup {
    try name.check()
    guard let record = editor.catalog.indexes[index], case .manual = record.definition else {
      throw StateEditor.noManualIndex(index)
    }
    return ManualGroup(name: name, index: index, transaction: self)
  }

  /// Sets a row's place to a label from another store or a file; an empty label removes the row
  /// from the group.
  /// - Throws: `notFound` if there is no such row or manual index; `invalidInput` if the label is
  ///   invalid, or the index is not over that bucket.
  package func place(
    _ key: UnsafeRawBufferPointer, in bucket: String, _ place: PlaceAddress, label: [UInt8]
  ) throws(TreeRingError) {
    try beginEdit()
    try place.group.check()
    guard label.isEmpty || OrderLabel.isSound(label) else {
      throw TreeRingError(
        .invalidInput,
        "These bytes are not a label. Use a label of another store or an export, unchanged.")
    }
    guard let number = editor.catalog.number(ofBucket: bucket),
      let row = try editor.row(bucket: number, key: key)
    else {
      throw TreeRingError(
        .notFound, "There is no row \(bucket)/\(Key(bytes: key)) to place. Put it first.")
    }
    let written = row.written.commit
    let reference = BucketReference(number: number, name: bucket)
    try editor.place(key, in: reference, place, label: label)
    let address = RowAddress(bucket: reference, key: key, previous: written)
    label.withUnsafeBytes { payload.append(.place(place, address, label: $0)) }
  }
}

/// A group of a manual index inside a transaction. Positions count from 0. A position passed to a
/// method is the row's position after the change. The group is valid only inside the closure of
/// `Store.write`.
///
/// Each change costs O(log n), and occasionally more to make room.
public struct ManualGroup {
  /// The group's name.
  public let name: GroupName
  /// The manual index's name.
  public let index: String
  let transaction: Transaction

  /// The number of rows in the group now. O(log n).
  public var count: Int {
    get throws(TreeRingError) { try transaction.index(index).count(in: name) }
  }

  /// Places a row behind all others; moves it if it is in the group already.
  /// - Throws: `notFound` if there is no such row; `invalidInput` if the index is not over its
  ///   bucket.
  public func append(_ row: RowID) throws(TreeRingError) {
    try arrange(row) { $0.count }
  }

  /// Places a row before all others; moves it if it is in the group already.
  /// - Throws: as `append`.
  public func prepend(_ row: RowID) throws(TreeRingError) {
    try arrange(row) { _ in 0 }
  }

  /// Places a row at a position; moves it if it is in the group already.
  /// - Throws: as `append`; `invalidInput` if the position is beyond the end.
  public func insert(_ row: RowID, at position: Int) throws(TreeRingError) {
    try arrange(row) { (group) throws(TreeRingError) in
      guard position >= 0, position <= group.count else {
        throw TreeRingError(
          .invalidInput,
          "The group \(name) has no position \(position) for a row; it ends at \(group.count).")
      }
      return position
    }
  }

  /// Places a row directly before another row of the group; moves it if it is in the group already.
  /// - Throws: as `append`; `notFound` if the other row is not in the group.
  public func insert(_ row: RowID, before other: RowID) throws(TreeRingError) {
    if row == other { return try check(other) }
    try arrange(row) { (group) throws(TreeRingError) in try group.position(of: other) }
  }

  /// Places a row directly behind another row of the group; moves it if it is in the group already.
  /// - Throws: as `append`; `notFound` if the other row is not in the group.
  public func insert(_ row: RowID, after other: RowID) throws(TreeRingError) {
    if row == other { return try check(other) }
    try arrange(row) { (group) throws(TreeRingError) in
      try group.position(of: other) + 1
    }
  }

  /// Moves a row of the group to a position.
  /// - Throws: `notFound` if the row is not in the group; `invalidInput` if the position is beyond
  ///   the end.
  public func move(_ row: RowID, to position: Int) throws(TreeRingError) {
    try check(row)
    try insert(row, at: position)
  }

  /// Removes a row from the group.
  /// - Returns: `true` if the row was in the group.
  @discardableResult
  public func remove(_ row: RowID) throws(TreeRingError) -> Bool {
    guard try transaction.index(index).index(of: row, in: name) != nil else { return false }
    try place(row, label: [])
    return true
  }

  // MARK: - Parts

  private func check(_ row: RowID) throws(TreeRingError) {
    guard try transaction.index(index).index(of: row, in: name) != nil else {
      throw TreeRingError(.notFound, "The row \(row) is not in the group \(name).")
    }
  }

  private func place(_ row: RowID, label: [UInt8]) throws(TreeRingError) {
    let address = PlaceAddress(index: index, group: name)
    try row.key.bytes.withUnsafeBytes { (key) throws(TreeRingError) in
      try transaction.place(key, in: row.bucket, address, label: label)
    }
  }

  /// Places a row at the position among the others that `target` returns.
  private func arrange(
    _ row: RowID, _ target: (LabeledRows) throws(TreeRingError) -> Int
  ) throws(TreeRingError) {
    let reader = try transaction.index(index)
    let others = LabeledRows(
      reader: reader, group: name, own: try reader.index(of: row, in: name),
      total: try reader.count(in: name))
    let position = try target(others)
    if others.own == position { return }
    // Collect before any write, since a write invalidates the readers.
    var labels: [(RowID, [UInt8])] = []
    for label in try others.labels(forRowAt: position) {
      let other = try label.row.map { (row) throws(TreeRingError) in try reader.state.id(row) }
      labels.append((other ?? row, label.label))
    }
    for (row, label) in labels { try place(row, label: label) }
  }
}
