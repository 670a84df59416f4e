// Rows as `get`, `scan` and `rows` print them.

import TreeRing

extension Output {
  /// Prints a row as one JSON object, its object only if asked for.
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
