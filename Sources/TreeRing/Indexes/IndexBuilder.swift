// Builds group indexes from rows. Indexes built together share one pass over the rows of each
// bucket. So each row is read and decoded once for all of them.

internal import TreeRingLog

/// Builds the trees of several indexes of one state.
struct IndexBuilder {
  /// The default for the maximum number of entry bytes held.
  static let entryByteLimit = 4 << 20

  private let catalog: Catalog
  private let rows: Tree
  private let catalogTree: Tree
  private let values: ValueSource
  private let editor: PageEditor
  private let entryByteLimit: Int
  private let spill: SpillAction?
  private let progress: (Int) -> Bool
  private var buildings: [IndexBuilding]
  private var rowCount = 0

  /// - Parameters:
  ///   - entryByteLimit: the maximum number of entry bytes held, over all indexes.
  ///   - spill: called at intervals, while nothing points into pages of the transaction.
  ///   - progress: called at intervals with the number of rows done; false cancels the build.
  init(
    _ indexes: [ActiveIndex], rows: Tree, catalog: Catalog, catalogTree: Tree,
    values: ValueSource, editor: PageEditor, entryByteLimit: Int, spill: SpillAction?,
    progress: @escaping (Int) -> Bool
  ) {
    buildings = indexes.map { IndexBuilding(index: $0, editor: editor) }
    self.rows = rows
    self.catalog = catalog
    self.catalogTree = catalogTree
    self.values = values
    self.editor = editor
    self.entryByteLimit = entryByteLimit
    self.spill = spill
    self.progress = progress
  }

  /// Builds the indexes, in their order.
  ///
  /// - Parameter labeled: for indexes that compare rows, by number, the places of their previous
  ///   definition. Its labels are kept as far as the order allows.
  /// - Throws: the error that prevents the build; the pages are freed then.
  mutating func run(labeled: [UInt32: Tree]) throws(TreeRingError) -> [IndexRoots] {
    do throws(TreeRingError) {
      try addPlaced()
      try addRows()
      let pages = editor.pages
      var built: [IndexRoots] = []
      for position in buildings.indices {
        let labels = labeled[buildings[position].index.number]
        try typed {
          try pages.reading {
            try buildings[position].label(keeping: labels, entryByteLimit: entryByteLimit)
          }
        }
        built.append(try buildings[position].finish(spill))
      }
      return built
    } catch {
      for position in buildings.indices { buildings[position].discard() }
      throw error
    }
  }

  private func positions(where isWanted: (ActiveIndex) -> Bool) -> [Int] {
    buildings.indices.filter { isWanted(buildings[$0].index) }
  }

  // MARK: - Rows

  /// Adds the rows of every bucket. A read section covers some hundred rows, so that a long build
  /// does not delay the reclaiming of memory.
  private mutating func addRows() throws(TreeRingError) {
    let names = buildings.flatMap { $0.index.manualName == nil ? $0.index.buckets : [] }
    for name in Set(names.names).sorted().map(\.text) {
      guard let bucket = catalog.buckets[name] else { continue }
      let positions = positions { $0.manualName == nil && $0.buckets.containsName(name) }
      let (pages, rows) = (editor.pages, rows)
      var rest = try typed { try pages.reading { RowKey.positions(in: rows, bucket: bucket) } }
      while !rest.isEmpty {
        let part = rest.prefix(StateReader.sectionEntryCount)
        let done = try typed {
          try pages.reading { try addRows(at: part, of: bucket, to: positions) }
        }
        if done == 0 { break }
        rest = rest.dropFirst(done)
        if isFull { try flush(spill) }
      }
    }
  }

  /// Adds rows at these positions until the entries reach the limit.
  /// - Returns: the number of rows added.
  private mutating func addRows(
    at part: Range<Int>, of bucket: UInt32, to positions: [Int]
  ) throws(TreeRingError) -> Int {
    var failure: TreeRingError?
    var done = 0
    let rows = rows
    rows.forEach(in: part) { treeKey, record in
      do throws(TreeRingError) {
        try add(try RowRecord(record), bucket, RowKey.key(of: treeKey), to: positions)
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
    for name in Set(buildings.compactMap(\.index.manualName).names).sorted().map(\.text) {
      let positions = positions { $0.manualName.isSameName(as: name) }
      try typed { try pages.reading { try addPlaced(in: name, to: positions) } }
    }
  }

  private mutating func addPlaced(in name: String, to positions: [Int]) throws {
    let manual = ManualPlaces(tree: catalogTree, catalog: catalog)
    let covering = positions.map { position in
      (position, Set(buildings[position].index.buckets.compactMap { catalog.buckets[$0] }))
    }
    var last: RowReference?
    try manual.forEach(of: name) { place in
      let row = RowReference(bucket: place.bucket, key: place.key)
      // The places of a row are adjacent.
      if row == last { return true }
      last = row
      let wanted = covering.filter { $0.1.contains(row.bucket) }.map(\.0)
      if wanted.isEmpty { return true }
      try row.key.withUnsafeBytes { key in
        guard let record = RowKey.with(bucket: row.bucket, key: key, { rows.value(of: $0) }) else {
          return
        }
        let byHand = manual.places(of: name, bucket: row.bucket, key: key)
        try add(try RowRecord(record), row.bucket, key, byHand: byHand, to: wanted)
        if isFull { try flush(nil) }
      }
      return true
    }
  }

  private mutating func add(
    _ row: RowRecord, _ bucket: UInt32, _ key: UnsafeRawBufferPointer,
    byHand: [EncodedPlace] = [], to positions: [Int]
  ) throws(TreeRingError) {
    let values = values
    let readsMetadata = positions.contains { buildings[$0].index.readsMetadata }
    try values.withInput(of: row, bucket: bucket, key: key, readsMetadata: readsMetadata) {
      (input) throws(TreeRingError) in
      for position in positions { try buildings[position].add(input, byHand: byHand) }
    }
    rowCount += 1
    if rowCount & 0xFFF == 0, !progress(rowCount) {
      let names = buildings.map(\.index.name).joined(separator: ", ")
      throw TreeRingError(.cancelled, "Building the index \(names) was cancelled.")
    }
  }

  private var isFull: Bool { buildings.reduce(0) { $0 + $1.byteCount } >= entryByteLimit }

  /// - Parameter spill: nil while something points into pages of the transaction.
  private mutating func flush(_ spill: SpillAction?) throws(TreeRingError) {
    for position in buildings.indices { try buildings[position].flush(spill) }
  }
}
