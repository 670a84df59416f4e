// Labels for rows in indexes that compare rows: all are found before anything is changed.

internal import TreeRingLog

extension StateEditor {
  /// A row that gets other labels because another one was placed beside it.
  struct Relabeled {
    /// Which of the maintained indexes.
    var position: Int
    var row: RowReference
    var old: [EncodedPlace]
    var new: [EncodedPlace]
    var content: RowContent?
  }

  /// What becomes of a row's places in an index that compares rows.
  struct Labeling {
    /// The places with their labels; nil if the row cannot be decoded.
    var places: [EncodedPlace]? = []
    var relabeled: [RowReference: Relabeled] = [:]
  }

  /// The order trees of the indexes that compare rows, by number.
  var labeledOrders: [UInt32: TreeRoot] {
    var orders: [UInt32: TreeRoot] = [:]
    for (index, roots) in zip(active, roots.indexes) where index.comparison != nil {
      orders[index.number] = roots.order
    }
    return orders
  }

  /// The same before and after what has been done since.
  func labelSpans(from old: [UInt32: TreeRoot]) -> [UInt32: LabelSpan] {
    var spans: [UInt32: LabelSpan] = [:]
    for (number, order) in labeledOrders {
      spans[number] = LabelSpan(before: old[number] ?? order, after: order)
    }
    return spans
  }

  /// Finds the labels of a row's places. O(log² n) for each place that is new or out of order.
  ///
  /// - Parameters:
  ///   - groups: its places after the change, without labels.
  ///   - before: its places before.
  func labeling(
    _ groups: [EncodedPlace], of new: RowRecord, after old: RowRecord?, before: [EncodedPlace],
    in reference: BucketReference, key: UnsafeRawBufferPointer, position: Int
  ) throws(TreeRingError) -> Labeling {
    guard let comparison = active[position].comparison, !groups.isEmpty else { return Labeling() }
    if let old, old.coder == new.coder, old.content.isSame(as: new.content),
      before.map(\.group) == groups.map(\.group)
    {
      return Labeling(places: before)
    }
    guard
      let row = try values.compared(
        new, bucket: reference.number, key: key, by: comparison)
    else { return Labeling(places: nil) }
    let state = StateReader(roots: roots, catalog: catalog, pages: pages, values: values)
    let reader = IndexReader(
      name: active[position].name, state: state, roots: roots.indexes[position], pin: nil)
    let id = RowID(bucket: reference.name, key: Key(bytes: key))
    var labeling = Labeling()
    for place in groups {
      let known = before.first { $0.group == place.group }
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
          try relabel(other, place, position, &labeling)
        } else {
          labeling.places?.append(place)
        }
      }
    }
    return labeling
  }

  private func relabel(
    _ row: RowReference, _ place: EncodedPlace, _ position: Int, _ labeling: inout Labeling
  ) throws(TreeRingError) {
    var change: Relabeled
    if let known = labeling.relabeled[row] {
      change = known
    } else {
      let tree = Tree(roots.indexes[position].places, pages: pages)
      let (places, content) = try typed {
        try row.key.withUnsafeBytes { key in
          (
            PlaceKey.places(in: tree, prefix: PlaceKey.prefix(bucket: row.bucket, key: key)),
            recorder == nil ? nil : try self.row(bucket: row.bucket, key: key)?.content
          )
        }
      }
      change = Relabeled(
        position: position, row: row, old: places, new: places, content: content)
    }
    for index in change.new.indices where change.new[index].group == place.group {
      change.new[index] = place
    }
    labeling.relabeled[row] = change
  }

  /// Carries out what `labeling` found for other rows.
  func commit(_ changes: [Relabeled]) {
    let indexEditor = IndexEditor(editor: editor)
    for change in changes {
      change.row.key.withUnsafeBytes { key in
        indexEditor.replace(
          &roots.indexes[change.position], bucket: change.row.bucket, key: key,
          prefix: PlaceKey.prefix(bucket: change.row.bucket, key: key), old: change.old,
          new: change.new)
        recorder?.note(
          index: active[change.position].number, bucket: change.row.bucket, key: key,
          old: change.old, new: change.new, oldContent: change.content, newContent: change.content)
      }
    }
  }
}
