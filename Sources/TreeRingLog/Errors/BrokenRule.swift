// The rule that a refused commit would have broken, as bytes, because this module knows no rows.

/// The rule of a store that a commit would have broken, and the rows.
package struct BrokenRule: Hashable, Sendable {
  /// The name of the index or rule.
  package var name: String
  /// The row that breaks it.
  package var row: RowName
  /// The other row that it concerns, present or not; nil if there is none.
  package var other: RowName?

  package init(name: String, row: RowName, other: RowName?) {
    self.name = name
    self.row = row
    self.other = other
  }

  /// The bucket and the key of a row.
  package struct RowName: Hashable, Sendable {
    package var bucket: String
    package var key: [UInt8]

    package init(bucket: String, key: [UInt8]) {
      self.bucket = bucket
      self.key = key
    }
  }
}
