// Building the trees of a group index from rows. The entries come in the order of the rows and are
// wanted in their own, so they are collected and sorted, some megabytes at a time, and each such run is
// put into the trees in key order.

internal import TreeRingLog

/// The entries of an index that is being built.
struct IndexBuilding {
  /// How many bytes of entries are held before they go to the trees, if nothing else is said.
  static let entryByteLimit = 4 << 20

  private let index: ActiveIndex
  private let values: ValueSource
  private let editor: PageEditor
  private let entryByteLimit: Int
  private var roots: IndexRoots
  private var order = SortBuffer()
  private var places = SortBuffer()
  /// Of an index that compares rows, those of each group.
  private var compared: [GroupName: [ComparedRow]] = [:]
  private var rowCount = 0

  init(index: ActiveIndex, values: ValueSource, editor: PageEditor, entryByteLimit: Int) {
    self.index = index
    self.values = values
    self.editor = editor
    self.entryByteLimit = entryByteLimit
    roots = IndexRoots(number: index.number)
  }

  /// The trees of what was added.
  mutating func finish(_ spill: SpillAction?) throws(TreeRingError) -> IndexRoots {
    try flush(spill)
    return roots
  }

  /// Gives up what was built.
  mutating func discard() {
    editor.removeAll(&roots.order)
    editor.removeAll(&roots.places)
  }

  private var isFull: Bool { order.byteCount + places.byteCount >= entryByteLimit }

  /// - Parameter spill: nil while something points into pages of the transaction.
  private mutating func flush(_ spill: SpillAction?) throws(TreeRingError) {
    try order.flush(into: &roots.order, with: editor, spill)
    try places.flush(into: &roots.places, with: editor, spill)
  }

  /// Adds every row of a bucket. A read section is as long as some hundred rows, so that a long build
  /// does not keep memory from being given back.
  mutating func addRows(
    of bucket: UInt32, _ rows: Tree, _ spill: SpillAction?, _ progress: (Int) -> Bool
  ) throws(TreeRingError) {
    let pages = editor.pages
    var rest = try typed { try pages.reading { RowKey.positions(in: rows, bucket: bucket) } }
    while !rest.isEmpty {
      let part = rest.prefix(StateReader.sectionEntryCount)
      let done = try typed {
        try pages.reading { try addRows(at: part, of: bucket, rows, progress) }
      }
      if done == 0 { return }
      rest = rest.dropFirst(done)
      if isFull { try flush(spill) }
    }
  }

  /// Adds rows at these positions, until there are entries enough.
  /// - Returns: how many rows it has added.
  private mutating func addRows(
    at positions: Range<Int>, of bucket: UInt32, _ rows: Tree, _ progress: (Int) -> Bool
  ) throws(TreeRingError) -> Int {
    var failure: TreeRingError?
    var done = 0
    rows.forEach(in: positions) { treeKey, record in
      do throws(TreeRingError) {
        try add(try RowRecord(record), bucket, RowKey.key(of: treeKey), byHand: [], progress)
      } catch {
        failure = error
        return false
      }
      done += 1
      return !isFull
    }
    if let failure { throw failure }
    return done
  }

  /// Adds the rows that were placed by hand.
  mutating func addPlaced(
    _ manual: ManualPlaces, of name: String, rows: Tree, _ catalog: Catalog,
    _ progress: (Int) -> Bool
  ) throws(TreeRingError) {
    let covered = Set(index.buckets.compactMap { catalog.buckets[$0] })
    var last: RowReference?
    try typed {
      try manual.forEach(of: name) { place in
        let row = RowReference(bucket: place.bucket, key: place.key)
        // The places of a row lie side by side.
        if row == last || !covered.contains(row.bucket) { return true }
        last = row
        try row.key.withUnsafeBytes { key in
          guard
            let record = RowKey.with(bucket: row.bucket, key: key, { rows.value(of: $0) })
          else { return }
          let byHand = manual.places(of: name, bucket: row.bucket, key: key)
          try add(try RowRecord(record), row.bucket, key, byHand: byHand, progress)
          if isFull { try flush(nil) }
        }
        return true
      }
    }
  }

  private mutating func add(
    _ row: RowRecord, _ bucket: UInt32, _ key: UnsafeRawBufferPointer, byHand: [EncodedPlace],
    _ progress: (Int) -> Bool
  ) throws(TreeRingError) {
    if let found = try values.places(
      of: row, bucket: bucket, key: key, index: index, byHand: byHand)
    {
      if let comparison = index.comparison {
        try compare(row, bucket, key, in: found.map(\.group), comparison)
      } else {
        for place in found { append(place, bucket, key) }
      }
    } else {
      roots.undecodable += 1
    }
    rowCount += 1
    if rowCount & 0xFFF == 0, !progress(rowCount) {
      throw TreeRingError(.cancelled, "Building the index \(index.name) was cancelled.")
    }
  }

  private mutating func append(
    _ place: EncodedPlace, _ bucket: UInt32, _ key: UnsafeRawBufferPointer
  ) {
    let entry = IndexEditor.entry(place, bucket: bucket, key: key)
    order.append(key: entry.key, value: entry.value)
    places.append(
      key: PlaceKey.prefix(bucket: bucket, key: key) + place.group.bytes, value: place.sortKey)
  }

  private mutating func compare(
    _ row: RowRecord, _ bucket: UInt32, _ key: UnsafeRawBufferPointer, in groups: [GroupName],
    _ comparison: RowComparison
  ) throws(TreeRingError) {
    if groups.isEmpty { return }
    guard let row = try values.compared(row, bucket: bucket, key: key, by: comparison) else {
      roots.undecodable += 1
      return
    }
    for group in groups { compared[group, default: []].append(row) }
  }

  /// Sorts the rows that are compared, and gives them labels.
  ///
  /// - Parameter places: the place tree that labels are taken from as far as they can be.
  mutating func label(keeping places: Tree?) throws(TreeRingError) {
    guard let comparison = index.comparison else { return }
    for (group, var rows) in compared {
      rows.sort(by: comparison.isBefore)
      let labels = OrderLabel.keeping(
        rows.map { row in places.flatMap { row.reference.label(in: group, places: $0) } })
      for (row, label) in zip(rows, labels) {
        row.reference.key.withUnsafeBytes {
          append(
            EncodedPlace(group: group, sortKey: OrderLabel.sortKey(label)), row.reference.bucket, $0
          )
        }
        if isFull { try flush(nil) }
      }
    }
    compared = [:]
  }
}

extension RowReference {
  /// The label of the row in a group, of an index that compares rows; nil if it is not in it.
  fileprivate func label(in group: GroupName, places: Tree) -> [UInt8]? {
    let place = key.withUnsafeBytes { PlaceKey.of(bucket: bucket, key: $0, group: group) }
    // The last byte of the sort key ends the label.
    return place.withUnsafeBytes { places.value(of: $0).map { Array($0.dropLast()) } }
  }
}

/// Entries of a tree to be, collected in one run of bytes and sorted by key.
private struct SortBuffer {
  private var bytes: [UInt8] = []
  var byteCount: Int { bytes.count }
  private var entries: [(start: Int, keyLength: Int32, valueLength: Int32)] = []

  mutating func append(key: [UInt8], value: [UInt8]) {
    entries.append((bytes.count, Int32(key.count), Int32(value.count)))
    bytes.append(contentsOf: key)
    bytes.append(contentsOf: value)
  }

  /// Puts the entries into a tree, in key order, and forgets them.
  mutating func flush(
    into root: inout TreeRoot, with editor: PageEditor, _ spill: SpillAction?
  ) throws(TreeRingError) {
    try typed {
      try bytes.withUnsafeBytes { all in
        func run(_ start: Int, _ count: Int32) -> UnsafeRawBufferPointer {
          UnsafeRawBufferPointer(rebasing: all[start..<start + Int(count)])
        }
        let order = KeySorter.order(of: entries.map { run($0.start, $0.keyLength) })
        for (position, index) in order.enumerated() {
          let entry = entries[index]
          _ = editor.put(
            &root, key: run(entry.start, entry.keyLength),
            value: run(entry.start + Int(entry.keyLength), entry.valueLength))
          if position & 63 == 63 { try spill?(editor) }
        }
      }
    }
    bytes.removeAll(keepingCapacity: true)
    entries.removeAll(keepingCapacity: true)
  }
}
