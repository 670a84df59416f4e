// The effect of a change of a row on the indexes over its bucket. All of it is determined before
// any edit.

internal import TreeRingLog

extension StateEditor {
  /// The change of a row's places in one index.
  struct IndexEdit {
    /// The number of the index.
    var index: UInt32
    var old: [EncodedPlace]
    var new: [EncodedPlace]
    /// The change of the number of rows that the index cannot decode.
    var undecodable: Int
    /// The row's summands; nil in an index without sums.
    var summands: SummandChange?
  }

  /// The changes of a row's places in every index, and the row's content for the change records.
  struct Edits {
    var indexes: [IndexEdit] = []
    /// The changes of other rows, in indexes that compare rows.
    var relabeled: [Relabeled] = []
    /// The changes of the row's words, in text indexes.
    var texts: [TextEdit] = []
    var oldContent: RowContent?
    var newContent: RowContent?
  }

  /// Determines the effect of a new record of a row, or of its delete, on the indexes over its
  /// bucket. The row is read and decoded once for all of them.
  func indexEdits(
    from old: RowRecord?, to new: RowRecord?, in reference: BucketReference,
    key: UnsafeRawBufferPointer
  ) throws(TreeRingError) -> Edits {
    let covering = active.covering(reference.name)
    if covering.isEmpty { return Edits() }
    var edits = Edits()
    let prefix = old.map { _ in PlaceKey.prefix(bucket: reference.number, key: key) }
    var rows: [IndexedChange] = []
    rows.reserveCapacity(covering.count)
    for index in covering {
      guard let roots = roots.index(index.number) else { continue }
      if let text = index.text {
        try textEdit(text, index.number, from: old, to: new, in: reference, key: key)
          .map { edits.texts.append($0) }
        continue
      }
      var row = IndexedChange(index: index)
      if let prefix {
        row.before = PlaceKey.places(in: Tree(roots.places, pages: pages), prefix: prefix)
        row.mayHaveBeenUndecodable = row.before.isEmpty && roots.undecodable > 0
        if index.sum != nil, let place = row.before.first {
          row.summands.old = try IndexEditor(editor: editor).summand(
            in: roots, at: place, bucket: reference.number, key: key)
        }
      }
      if let name = index.manualName {
        row.manualPlaces = manualPlaces.places(of: name, bucket: reference.number, key: key)
      }
      rows.append(row)
    }
    if let new { try place(new, after: old, &rows, in: reference, key: key, &edits) }
    if let old { try countUndecodable(old, &rows, in: reference, key: key) }
    for row in rows where row.changesIndex {
      edits.indexes.append(
        IndexEdit(
          index: row.index.number, old: row.before, new: row.after ?? [],
          undecodable: row.undecodable, summands: row.index.sum == nil ? nil : row.summands))
    }
    if recorder != nil, !edits.indexes.isEmpty {
      edits.oldContent = old?.content
      edits.newContent = new?.content
    }
    return edits
  }

  /// One row in one index, before and after a change.
  private struct IndexedChange {
    let index: ActiveIndex
    var before: [EncodedPlace] = []
    /// The places after the change; nil if the index cannot decode the row.
    var after: [EncodedPlace]? = []
    var manualPlaces: [EncodedPlace] = []
    var mayHaveBeenUndecodable = false
    var wasUndecodable = false
    /// Both nothing in an index without sums.
    var summands = SummandChange()

    /// Whether placing the row requires its content.
    var looksAtRow: Bool { index.manualName == nil || !manualPlaces.isEmpty }

    var undecodable: Int { (after == nil ? 1 : 0) - (wasUndecodable ? 1 : 0) }

    var changesIndex: Bool { !before.isEmpty || !(after?.isEmpty ?? true) || undecodable != 0 }
  }

  /// Finds the places of the new record.
  private func place(
    _ new: RowRecord, after old: RowRecord?, _ rows: inout [IndexedChange],
    in reference: BucketReference, key: UnsafeRawBufferPointer, _ edits: inout Edits
  ) throws(TreeRingError) {
    guard rows.contains(where: \.looksAtRow) else { return }
    let readsMetadata = rows.contains { $0.index.readsMetadata }
    try values.withInput(
      of: new, bucket: reference.number, key: key, readsMetadata: readsMetadata
    ) { (input) throws(TreeRingError) in
      for position in rows.indices {
        let index = rows[position].index
        var after = try index.places(of: input, manualPlaces: rows[position].manualPlaces)
        if let groups = after, index.comparison != nil {
          let labeling = try labeling(
            groups, of: new, input, after: old, before: rows[position].before, in: reference, index)
          after = labeling.places
          edits.relabeled += labeling.relabeled.values
        }
        if rules.isActive { try note(input, at: after, in: index) }
        if let sum = index.sum, after?.isEmpty == false {
          rows[position].summands.new = sum.summand(of: input)
          if rules.isActive, rows[position].summands.new == .unsummable {
            throw index.refusalOfUnsummable(RowID(bucket: reference.name, key: Key(bytes: key)))
          }
        }
        rows[position].after = after
      }
    }
  }

  /// Determines which indexes could not decode the old record.
  private func countUndecodable(
    _ old: RowRecord, _ rows: inout [IndexedChange], in reference: BucketReference,
    key: UnsafeRawBufferPointer
  ) throws(TreeRingError) {
    let readsMetadata = rows.contains { $0.mayHaveBeenUndecodable && $0.index.readsMetadata }
    guard rows.contains(where: { $0.mayHaveBeenUndecodable && $0.looksAtRow }) else { return }
    try values.withInput(
      of: old, bucket: reference.number, key: key, readsMetadata: readsMetadata
    ) { (input) throws(TreeRingError) in
      for position in rows.indices where rows[position].mayHaveBeenUndecodable {
        let row = rows[position]
        rows[position].wasUndecodable =
          try row.index.places(of: input, manualPlaces: row.manualPlaces) == nil
      }
    }
  }

  /// Applies the edits that `indexEdits` returned.
  func commit(_ edits: Edits, bucket: UInt32, key: UnsafeRawBufferPointer) {
    commit(edits.relabeled)
    commit(edits.texts, bucket: bucket, key: key)
    if edits.indexes.isEmpty { return }
    let indexEditor = IndexEditor(editor: editor)
    let prefix = PlaceKey.prefix(bucket: bucket, key: key)
    for edit in edits.indexes {
      guard var index = roots.index(edit.index) else { continue }
      if edit.undecodable > 0 { index.undecodable += 1 }
      if edit.undecodable < 0, index.undecodable > 0 { index.undecodable -= 1 }
      if let summands = edit.summands {
        indexEditor.replace(
          &index, bucket: bucket, key: key, prefix: prefix, old: edit.old, new: edit.new,
          summands: summands)
      } else if edit.old != edit.new {
        indexEditor.replace(
          &index, bucket: bucket, key: key, prefix: prefix, old: edit.old, new: edit.new)
      }
      roots.indexes.set(index)
      if rules.isActive { noteRules(edit, in: index, of: bucket, key) }
      if edit.old.isEmpty, edit.new.isEmpty { continue }
      recorder?.record(
        index: edit.index, bucket: bucket, key: key, old: edit.old, new: edit.new,
        oldContent: edits.oldContent, newContent: edits.newContent)
    }
  }
}
