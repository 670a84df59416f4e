// Rows of windows as JSON, whole or with chosen fields.

internal import TreeRing
internal import TreeRingImport
internal import TreeRingLog

/// Appends rows to a message.
struct RowEncoder {
  let snapshot: Snapshot
  /// The paths of the fields to send; nil sends whole objects.
  let fields: [JSONPath]?
  var output: [UInt8]

  mutating func append(_ text: String) { output.append(contentsOf: text.utf8) }

  mutating func append(key: [UInt8]) {
    key.withUnsafeBytes { CommitWriter.appendKey($0, to: &output) }
  }

  /// Appends a row's bucket and key, without brackets.
  mutating func append(identity row: RowID) {
    JSONScanner.appendQuoted(row.bucket, to: &output)
    append(",")
    append(key: row.key.bytes)
  }

  /// Appends a row's object.
  mutating func append(objectOf row: RowID) throws(TreeRingError) {
    guard let stored = try snapshot.row(row.key, in: row.bucket) else {
      return append("null")
    }
    guard let fields else {
      stored.object.withUnsafeBytes { JSONText.appendShown($0, to: &output) }
      return
    }
    var json: [UInt8] = []
    stored.object.withUnsafeBytes { JSONText.appendShown($0, to: &json) }
    append("{")
    var isFirst = true
    for field in fields {
      guard
        let range = try json.withUnsafeBytes({ (bytes) throws(TreeRingError) in
          try JSONScanner.find(field, in: bytes)
        })
      else { continue }
      if !isFirst { append(",") }
      isFirst = false
      JSONScanner.appendQuoted(field.description, to: &output)
      append(":")
      output.append(contentsOf: json[range])
    }
    append("}")
  }
}
