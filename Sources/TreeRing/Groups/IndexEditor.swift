// Keeps the two trees of group indexes in step with the rows, and builds them whole from a row tree.

internal import TreeRingLog

/// Edits the trees of one group index inside a transaction.
struct IndexEditor {
  let editor: PageEditor

  /// Replaces a row's places. Only what differs is edited.
  func replace(
    _ roots: inout IndexRoots, bucket: UInt32, key: UnsafeRawBufferPointer, prefix: [UInt8],
    old: [EncodedPlace], new: [EncodedPlace]
  ) {
    for place in old where !new.contains(place) {
      removeOrder(&roots, place, bucket: bucket, key: key)
      if !new.contains(where: { $0.group == place.group }) {
        (prefix + place.group.bytes).withUnsafeBytes {
          _ = editor.remove(&roots.places, key: $0)
        }
      }
    }
    for place in new where !old.contains(place) {
      insertOrder(&roots, place, bucket: bucket, key: key)
      (prefix + place.group.bytes).withUnsafeBytes { placeKey in
        place.sortKey.withUnsafeBytes {
          _ = editor.put(&roots.places, key: placeKey, value: $0)
        }
      }
    }
  }

  private func removeOrder(
    _ roots: inout IndexRoots, _ place: EncodedPlace, bucket: UInt32, key: UnsafeRawBufferPointer
  ) {
    let entry = Self.entry(place, bucket: bucket, key: key)
    entry.key.withUnsafeBytes { _ = editor.remove(&roots.order, key: $0) }
  }

  private func insertOrder(
    _ roots: inout IndexRoots, _ place: EncodedPlace, bucket: UInt32, key: UnsafeRawBufferPointer
  ) {
    let entry = Self.entry(place, bucket: bucket, key: key)
    entry.key.withUnsafeBytes { entryKey in
      entry.value.withUnsafeBytes { _ = editor.put(&roots.order, key: entryKey, value: $0) }
    }
  }

  private static func entry(
    _ place: EncodedPlace, bucket: UInt32, key: UnsafeRawBufferPointer
  ) -> (key: [UInt8], value: [UInt8]) {
    var bytes = place.group.encoded
    let groupLength = bytes.count
    bytes.append(contentsOf: place.sortKey)
    bytes.append(ordered32: bucket)
    bytes.append(contentsOf: key)
    return (bytes, OrderKey.lengths(group: groupLength, sortKey: place.sortKey.count))
  }

  /// Builds both trees from the rows of the buckets an index covers. O(n log n).
  ///
  /// - Parameter progress: called now and then with the number of rows done; false cancels.
  func build(
    _ index: ActiveIndex, rows: Tree, catalog: Catalog, values: ValueSource,
    progress: (Int) -> Bool = { _ in true }
  ) throws(TreeRingError) -> IndexRoots {
    var roots = IndexRoots(number: index.number)
    var order = SortBuffer()
    var places = SortBuffer()
    var rowsDone = 0
    var failure: TreeRingError?
    for name in index.buckets {
      guard let bucket = catalog.buckets[name] else { continue }
      rows.forEachRow(in: bucket) { key, record in
        do throws(TreeRingError) {
          let row = try RowRecord(record)
          if let found = try values.places(of: row, bucket: bucket, key: key, index: index) {
            let prefix = PlaceKey.prefix(bucket: bucket, key: key)
            for place in found {
              let entry = Self.entry(place, bucket: bucket, key: key)
              order.append(key: entry.key, value: entry.value)
              places.append(key: prefix + place.group.bytes, value: place.sortKey)
            }
          } else {
            roots.undecodable += 1
          }
          rowsDone += 1
          if rowsDone & 0xFFF == 0, !progress(rowsDone) {
            throw TreeRingError(.cancelled, "Building the index \(index.name) was cancelled.")
          }
          return true
        } catch {
          failure = error
          return false
        }
      }
      if let failure { throw failure }
    }
    roots.order = order.build(with: editor)
    roots.places = places.build(with: editor)
    return roots
  }
}

/// Entries of a tree to be, collected in one run of bytes and sorted by key.
private struct SortBuffer {
  private var bytes: [UInt8] = []
  private var entries: [(start: Int, keyLength: Int32, valueLength: Int32)] = []

  mutating func append(key: [UInt8], value: [UInt8]) {
    entries.append((bytes.count, Int32(key.count), Int32(value.count)))
    bytes.append(contentsOf: key)
    bytes.append(contentsOf: value)
  }

  mutating func build(with editor: PageEditor) -> TreeRoot {
    var builder = editor.makeBuilder()
    bytes.withUnsafeBytes { all in
      func key(_ entry: (start: Int, keyLength: Int32, valueLength: Int32))
        -> UnsafeRawBufferPointer
      {
        UnsafeRawBufferPointer(rebasing: all[entry.start..<entry.start + Int(entry.keyLength)])
      }
      entries.sort { KeyOrder.compare(key($0), key($1)) < 0 }
      for entry in entries {
        let valueStart = entry.start + Int(entry.keyLength)
        builder.append(
          key: key(entry),
          value: UnsafeRawBufferPointer(
            rebasing: all[valueStart..<valueStart + Int(entry.valueLength)]))
      }
    }
    return builder.finish()
  }
}
