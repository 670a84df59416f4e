// Rows in the output of `get`, `scan` and `rows`.

import TreeRing

extension Output {
  /// Prints a row as one JSON object, with the row's object only if `withObject` is true.
  func row(_ row: StoredRow, withObject: Bool = true) throws {
    try object {
      $0.text("bucket", row.bucket)
      $0.key("key", row.key.bytes)
      if withObject {
        $0.content("object", row.object)
        if let metadata = row.metadata { $0.content("metadata", metadata) }
      }
      $0.number("written", row.written)
    }
  }
}
