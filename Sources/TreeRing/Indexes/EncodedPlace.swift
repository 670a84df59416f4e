// The places of a row as an index stores them. A row's places in one index are a list in group
// order with one place a group. So one pass compares two such lists.

internal import TreeRingLog

/// One place of a row: a group and the sort key in its order.
package struct EncodedPlace: Hashable, Sendable {
  package var group: GroupName
  /// Order-preserving bytes, at most `Limits.sortKeyByteCount` of them.
  package var sortKey: [UInt8]
}

/// One entry of a row in a group index, as change records hold it.
package struct RowPlace: Hashable, Sendable {
  /// The group of the entry.
  package var group: GroupName
  /// The key in the group's strict total order, compared byte by byte: sort key, then the bucket's
  /// number (4 bytes, big-endian), then the row's key.
  package var order: [UInt8]

  package init(group: GroupName, order: [UInt8]) {
    self.group = group
    self.order = order
  }
}

extension [EncodedPlace] {
  /// The entries of a row in these places.
  func entries(of row: RowReference) -> [RowPlace] {
    map { place in
      var order: [UInt8] = []
      order.reserveCapacity(place.sortKey.count + 4 + row.key.count)
      order.append(contentsOf: place.sortKey)
      order.append(ordered32: row.bucket)
      order.append(contentsOf: row.key)
      return RowPlace(group: place.group, order: order)
    }
  }

  /// Calls `body` with the places of each group in which two lists differ; both lists are in group
  /// order. O(n).
  static func forEachDifference(
    from old: [EncodedPlace], to new: [EncodedPlace],
    _ body: (_ old: EncodedPlace?, _ new: EncodedPlace?) -> Void
  ) {
    var (before, after) = (0, 0)
    while before < old.count || after < new.count {
      if after == new.count || before < old.count && old[before].group < new[after].group {
        body(old[before], nil)
        before += 1
      } else if before == old.count || new[after].group < old[before].group {
        body(nil, new[after])
        after += 1
      } else {
        if old[before].sortKey != new[after].sortKey { body(old[before], new[after]) }
        before += 1
        after += 1
      }
    }
  }

  /// Replaces the list's place in the same group; does nothing without one. O(log n).
  mutating func replace(with place: EncodedPlace) {
    let index = partitioningIndex { $0.group >= place.group }
    if index < count, self[index].group == place.group { self[index] = place }
  }
}
