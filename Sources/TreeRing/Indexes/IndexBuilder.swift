// Builds group indexes from rows. Indexes built together share one pass over each bucket, in which
// every row is read and decoded once.

internal import TreeRingLog

/// Builds the trees of several indexes of one state.
struct IndexBuilder {
  /// The default limit of entry bytes in memory.
  static let entryByteLimit = 4 << 20

  let rows: Tree
  let catalog: Catalog
  let catalogTree: Tree
  let values: ValueSource
  let editor: PageEditor
  /// The maximum number of entry bytes in memory, over all indexes.
  let entryByteLimit: Int
  /// Called repeatedly, while no pointer into pages of the transaction is held.
  let spill: SpillAction?
  /// Called at intervals with the number of rows done; false cancels the build.
  let progress: (Int) -> Bool
  var drafts: [IndexDraft]
  private(set) var rowCount = 0

  /// Builds the indexes, in their order.
  ///
  /// - Parameter labeled: For indexes that compare rows, by number: the place trees of their
  ///   previous definitions, whose labels are kept as far as the order allows.
  /// - Throws: The error that prevents the build; the pages are freed then.
  mutating func run(labeled: [UInt32: Tree]) throws(TreeRingError) -> [IndexRoots] {
    do throws(TreeRingError) {
      try addPlaced()
      try addRows()
      let pages = editor.pages
      var built: [IndexRoots] = []
      for position in drafts.indices {
        let labels = labeled[drafts[position].index.number]
        try pages.read { () throws(TreeRingError) in
          try drafts[position].label(keeping: labels, entryByteLimit: entryByteLimit)
        }
        built.append(try drafts[position].finish(spill))
      }
      return built
    } catch {
      for position in drafts.indices { drafts[position].discard() }
      throw error
    }
  }

  private func positions(where isWanted: (ActiveIndex) -> Bool) -> [Int] {
    drafts.indices.filter { isWanted(drafts[$0].index) }
  }

  // MARK: - Rows

  /// Adds the rows of every bucket. A read section covers some hundred rows, so that a long build
  /// does not delay the reclaiming of memory.
  private mutating func addRows() throws(TreeRingError) {
    let names = drafts.flatMap { $0.index.manualName == nil ? $0.index.buckets : [] }
    for name in Set(names.names).sorted().map(\.text) {
      guard let bucket = catalog.buckets[name] else { continue }
      let positions = positions { $0.manualName == nil && $0.buckets.containsName(name) }
      let (pages, rows) = (editor.pages, rows)
      var rest = try pages.read { RowTreeKey.positions(in: rows, bucket: bucket) }
      while !rest.isEmpty {
        let part = rest.prefix(StateReader.sectionEntryCount)
        let done = try pages.read { () throws(TreeRingError) in
          try addRows(at: part, of: bucket, to: positions)
        }
        if done == 0 { break }
        rest = rest.dropFirst(done)
        if isFull { try flush(spill) }
      }
    }
  }

  /// Adds rows at these positions until the entries reach the limit.
  /// - Returns: The number of rows added.
  private mutating func addRows(
    at part: Range<Int>, of bucket: UInt32, to positions: [Int]
  ) throws(TreeRingError) -> Int {
    var failure: TreeRingError?
    var done = 0
    let rows = rows
    rows.forEach(in: part) { treeKey, record in
      do throws(TreeRingError) {
        try add(try RowRecord(record), bucket, RowTreeKey.key(of: treeKey), to: positions)
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

  /// Adds the manually placed rows to the indexes that show them.
  private mutating func addPlaced() throws(TreeRingError) {
    let pages = editor.pages
    for name in Set(drafts.compactMap(\.index.manualName).names).sorted().map(\.text) {
      let positions = positions { $0.manualName.isSameName(as: name) }
      try typed { try pages.reading { try addPlaced(in: name, to: positions) } }
    }
  }

  private mutating func addPlaced(in name: String, to positions: [Int]) throws {
    let manual = ManualPlaces(tree: catalogTree, catalog: catalog)
    let covering = positions.map { position in
      (position, Set(drafts[position].index.buckets.compactMap { catalog.buckets[$0] }))
    }
    var last: RowReference?
    try manual.forEach(of: name) { place in
      let row = RowReference(bucket: place.bucket, key: place.key)
      // The places of a row are adjacent.
      if row == last { return }
      last = row
      let wanted = covering.filter { $0.1.contains(row.bucket) }.map(\.0)
      if wanted.isEmpty { return }
      try row.key.withUnsafeBytes { key in
        guard let record = RowTreeKey.with(bucket: row.bucket, key: key, { rows.value(of: $0) })
        else {
          return
        }
        let manualPlaces = manual.places(of: name, bucket: row.bucket, key: key)
        try add(try RowRecord(record), row.bucket, key, manualPlaces: manualPlaces, to: wanted)
        if isFull { try flush(nil) }
      }
    }
  }

  private mutating func add(
    _ row: RowRecord, _ bucket: UInt32, _ key: UnsafeRawBufferPointer,
    manualPlaces: [EncodedPlace] = [], to positions: [Int]
  ) throws(TreeRingError) {
    let values = values
    let readsMetadata = positions.contains { drafts[$0].index.readsMetadata }
    try values.withInput(of: row, bucket: bucket, key: key, readsMetadata: readsMetadata) {
      (input) throws(TreeRingError) in
      for position in positions { try drafts[position].add(input, manualPlaces: manualPlaces) }
    }
    rowCount += 1
    if rowCount & 0xFFF == 0, !progress(rowCount) {
      let names = drafts.map(\.index.name).joined(separator: ", ")
      throw TreeRingError(.cancelled, "Building the index \(names) was cancelled.")
    }
  }

  private var isFull: Bool {
    drafts.reduce(0) { $0 + $1.byteCount } >= entryByteLimit || drafts.contains(where: \.isFull)
  }

  /// - Parameter spill: Nil while a pointer into pages of the transaction is held.
  private mutating func flush(_ spill: SpillAction?) throws(TreeRingError) {
    for position in drafts.indices { try drafts[position].flush(spill) }
  }
}
