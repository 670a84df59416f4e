// Labels of rows in indexes that compare rows. All of them are determined before any edit.

internal import TreeRingLog

extension StateEditor {
  /// A row that gets new labels because another row was placed near it.
  struct Relabeled {
    /// The number of the index.
    var index: UInt32
    var row: RowReference
    var old: [EncodedPlace]
    var new: [EncodedPlace]
    var content: RowContent?
  }

  /// The change of a row's places in an index that compares rows.
  struct Labeling {
    /// The places with their labels; nil if the row cannot be decoded.
    var places: [EncodedPlace]? = []
    var relabeled: [RowReference: Relabeled] = [:]
  }

  /// Determines the labels of a row's places. O(log² n) for each place that is new or out of order.
  ///
  /// - Parameters:
  ///   - groups: the row's places after the change, in group order, without labels.
  ///   - input: the row after the change, in the form that definitions read.
  ///   - before: the row's places before the change, in group order.
  func labeling(
    _ groups: [EncodedPlace], of new: RowRecord, _ input: RowInput, after old: RowRecord?,
    before: [EncodedPlace], in reference: BucketReference, _ index: ActiveIndex
  ) throws(TreeRingError) -> Labeling {
    guard let comparison = index.comparison, let trees = roots.index(index.number),
      !groups.isEmpty
    else { return Labeling() }
    if let old, old.coder == new.coder, old.content.isSame(as: new.content),
      before.map(\.group) == groups.map(\.group)
    {
      return Labeling(places: before)
    }
    guard let row = comparison.row(input) else { return Labeling(places: nil) }
    let state = StateReader(roots: roots, catalog: catalog, pages: pages, values: values)
    let reader = IndexReader(name: index.name, state: state, roots: trees, pin: nil)
    let id = RowID(bucket: reference.name, key: Key(bytes: input.key))
    var labeling = Labeling()
    var rest = before[...]
    for place in groups {
      rest = rest.drop { $0.group < place.group }
      let known = rest.first.flatMap { $0.group == place.group ? $0 : nil }
      let rows = LabeledRows(
        reader: reader, group: place.group,
        own: known == nil ? nil : try reader.index(of: id, in: place.group),
        total: try reader.count(in: place.group))
      let target = try rows.position(of: row, by: comparison)
      if let known, target == rows.own {
        labeling.places?.append(known)
        continue
      }
      for (other, label) in try rows.labels(forRowAt: target) {
        let place = EncodedPlace(group: place.group, sortKey: OrderLabel.sortKey(label))
        if let other {
          try relabel(other, place, trees, &labeling)
        } else {
          labeling.places?.append(place)
        }
      }
    }
    return labeling
  }

  private func relabel(
    _ row: RowReference, _ place: EncodedPlace, _ trees: IndexRoots, _ labeling: inout Labeling
  ) throws(TreeRingError) {
    var change: Relabeled
    if let known = labeling.relabeled[row] {
      change = known
    } else {
      let tree = Tree(trees.places, pages: pages)
      let (places, content) = try row.key.withUnsafeBytes { (key) throws(TreeRingError) in
        (
          PlaceKey.places(in: tree, prefix: PlaceKey.prefix(bucket: row.bucket, key: key)),
          recorder == nil ? nil : try self.row(bucket: row.bucket, key: key)?.content
        )
      }
      change = Relabeled(
        index: trees.number, row: row, old: places, new: places, content: content)
    }
    change.new.replace(with: place)
    labeling.relabeled[row] = change
  }

  /// Applies the changes of other rows that `labeling` returned.
  func commit(_ changes: [Relabeled]) {
    let indexEditor = IndexEditor(editor: editor)
    for change in changes {
      guard var index = roots.index(change.index) else { continue }
      change.row.key.withUnsafeBytes { key in
        indexEditor.replace(
          &index, bucket: change.row.bucket, key: key,
          prefix: PlaceKey.prefix(bucket: change.row.bucket, key: key), old: change.old,
          new: change.new)
        recorder?.record(
          index: change.index, bucket: change.row.bucket, key: key, old: change.old,
          new: change.new, oldContent: change.content, newContent: change.content)
      }
      roots.indexes.set(index)
    }
  }
}
