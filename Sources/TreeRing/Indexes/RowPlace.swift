// One entry of a row in a group index.

/// One entry of a row in a group index.
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
