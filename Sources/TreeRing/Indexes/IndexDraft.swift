// Builds the trees of one group index. Entries arrive in row order, but the trees take them at
// least cost in key order. So the builder collects some megabytes of entries, sorts them and puts
// them into the trees, and then collects the next.

internal import TreeRingLog

/// The entries of an index under construction.
struct IndexDraft {
  let index: ActiveIndex
  private let editor: PageEditor
  private var roots: IndexRoots
  private var order = SortBuffer()
  private var places = SortBuffer()
  /// The rows of each group, for an index that compares rows.
  private var compared: [GroupName: [ComparedRow]] = [:]
  /// The words, for a text index.
  private var text: TextDraft?

  init(index: ActiveIndex, editor: PageEditor) {
    self.index = index
    self.editor = editor
    roots = IndexRoots(number: index.number)
    text = index.text.map { TextDraft(text: $0, editor: editor) }
  }

  /// Flushes the collected entries and returns the trees.
  mutating func finish(_ spill: SpillAction?) throws(TreeRingError) -> IndexRoots {
    if text != nil { try text?.finish(&roots, spill) }
    try flush(spill)
    if index.sum != nil { try IndexEditor(editor: editor).buildNodes(&roots, spill) }
    return roots
  }

  /// Removes the trees.
  mutating func discard() {
    editor.removeAll(&roots.order)
    editor.removeAll(&roots.places)
    text?.discard()
  }

  /// The number of bytes of the collected entries.
  var byteCount: Int { order.byteCount + places.byteCount }
  /// Whether a text index has collected so many words that they have to be put into a tree.
  var isFull: Bool { text?.isFull ?? false }

  /// Puts the collected entries into the trees.
  ///
  /// - Parameter spill: Nil while a pointer into pages of the transaction is held.
  mutating func flush(_ spill: SpillAction?) throws(TreeRingError) {
    if text?.isFull == true { try text?.writeRun(spill) }
    try order.flush(into: &roots.order, with: editor, spill)
    try places.flush(into: &roots.places, with: editor, spill)
  }

  /// Adds a row.
  mutating func add(_ row: RowInput, manualPlaces: [EncodedPlace] = []) throws(TreeRingError) {
    if text != nil {
      if let document = text?.add(row) {
        places.append(key: document, value: TextKey.row(row.bucket, row.key))
      }
      return
    }
    guard let found = try index.places(of: row, manualPlaces: manualPlaces) else {
      roots.undecodable += 1
      return
    }
    guard let comparison = index.comparison, !found.isEmpty else {
      let summand = found.isEmpty ? nil : index.sum?.summand(of: row)
      for place in found { append(place, row.bucket, row.key, summand) }
      return
    }
    guard let compared = comparison.row(row) else {
      roots.undecodable += 1
      return
    }
    for place in found { self.compared[place.group, default: []].append(compared) }
  }

  private mutating func append(
    _ place: EncodedPlace, _ bucket: UInt32, _ key: UnsafeRawBufferPointer,
    _ summand: Summand? = nil
  ) {
    var entry = IndexEditor.entry(place, bucket: bucket, key: key)
    summand?.append(to: &entry.value)
    order.append(key: entry.key, value: entry.value)
    places.append(
      key: PlaceKey.prefix(bucket: bucket, key: key) + place.group.bytes, value: place.sortKey)
  }

  /// Sorts the rows of an index that compares rows, and labels them.
  ///
  /// - Parameters:
  ///   - places: The place tree whose labels are kept as far as possible.
  ///   - entryByteLimit: The maximum number of entry bytes in memory.
  mutating func label(keeping places: Tree?, entryByteLimit: Int) throws(TreeRingError) {
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
        if byteCount >= entryByteLimit { try flush(nil) }
      }
    }
    compared = [:]
  }
}

extension RowReference {
  /// The row's label in a group of an index that compares rows; nil if the row is not in the group.
  fileprivate func label(in group: GroupName, places: Tree) -> [UInt8]? {
    let place = key.withUnsafeBytes { PlaceKey.of(bucket: bucket, key: $0, group: group) }
    // The last byte of the sort key ends the label.
    return place.withUnsafeBytes { places.value(of: $0).map { Array($0.dropLast()) } }
  }
}

/// Entries for a tree, collected in one run of bytes and sorted by key.
private struct SortBuffer {
  private var bytes: [UInt8] = []
  var byteCount: Int { bytes.count }
  private var entries: [(start: Int, keyLength: Int32, valueLength: Int32)] = []

  mutating func append(key: [UInt8], value: [UInt8]) {
    entries.append((bytes.count, Int32(key.count), Int32(value.count)))
    bytes.append(contentsOf: key)
    bytes.append(contentsOf: value)
  }

  /// Puts the entries into a tree in key order, then clears the buffer.
  mutating func flush(
    into root: inout TreeRoot, with editor: PageEditor, _ spill: SpillAction?
  ) throws(TreeRingError) {
    try bytes.withUnsafeBytes { (all) throws(TreeRingError) in
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
    bytes.removeAll(keepingCapacity: true)
    entries.removeAll(keepingCapacity: true)
  }
}
