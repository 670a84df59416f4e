// One commit as one line of JSON, the format that stores are imported from and exported to:
//
//   {"at":DATE,"note":TEXT,"tags":[TEXT…],"ops":[OPERATION…]}
//
//   ["put",BUCKET,KEY,OBJECT]   ["put",BUCKET,KEY,OBJECT,METADATA]   ["object",BUCKET,KEY,OBJECT]
//   ["metadata",BUCKET,KEY,METADATA]   ["touch",BUCKET,KEY]   ["delete",BUCKET,KEY]
//   ["tag",NAME,N]   ["index",NAME,DEFINITION|null]
//   ["place",INDEX,GROUP,BUCKET,KEY,BEFORE|null|{"$label":TEXT}]   ["unplace",INDEX,GROUP,BUCKET,KEY]
//
// A history that compaction has cut begins with lines that state a whole state instead, in which each
// operation is followed by the commit that it is of, and a put by those that made and touched its row, and by
// its own number in the former and that of the operation that made the row in the latter:
//
//   {"base":N,"ops":[OPERATION,[WRITTEN,CREATED,TOUCHED,NUMBER,CREATING]…],"at":DATE,
//    "buckets":[BUCKET…],"dates":[[COMMIT,DATE]…]}
//
// An object or metadata is any JSON, whose tokens are kept and whose space is dropped, or bytes as
// {"$base64":TEXT}; so are keys that are not UTF-8. Every field may be left out; unknown ones and
// repeated ones are errors. All contents are copied into one buffer that is used again for the next
// line, so that reading a line allocates nothing once the buffer is large enough.

package import TreeRingLog

/// One commit read from a line.
package struct CommitLine {
  /// What an operation does.
  package enum Kind: String, Sendable, CaseIterable {
    case put, object, metadata, touch, delete, tag, index, place, unplace
  }

  /// One operation; its parts are ranges of offsets in the line's contents.
  package struct Operation: Sendable {
    /// What it does.
    package var kind: Kind
    /// The bucket. For `tag` and `index`, empty.
    package var bucket: Range<Int> = 0..<0
    /// The row's key. For `tag` and `index`, the name.
    package var key: Range<Int> = 0..<0
    /// The object. For `index`, the definition; nil removes the index.
    package var object: Range<Int>?
    /// The metadata; nil if there is none.
    package var metadata: Range<Int>?
    /// For `place` and `unplace`: the index and the group.
    package var index: Range<Int> = 0..<0
    package var group: Range<Int> = 0..<0
    /// For `place`: the label of the place, or else the key of the row to stand before (nil: at the end).
    package var label: Range<Int>?
    package var before: Range<Int>?
    /// For `tag`: the commit it names.
    package var commit: CommitNumber = 0
    /// In a base: which operation it is, the one that made the row, and the commit that last touched it.
    package var written = Stamp(commit: 0, operation: 0)
    package var created = Stamp(commit: 0, operation: 0)
    package var touched: CommitNumber = 0

    package init(_ kind: Kind) { self.kind = kind }
  }

  /// The commit whose state this is, if the line is a base; else nil.
  package var base: CommitNumber?
  /// In a base: the buckets known, in the order in which they came to be.
  package var buckets: [String] = []
  /// In a base: the dates of the commits that its operations are of, as far as given, ascending.
  package var dates: [(commit: CommitNumber, at: Timestamp)] = []
  /// The date given, if any.
  package var at: Timestamp?
  /// The note given, if any.
  package var note: String?
  /// The names given to this commit.
  package var tags: [String] = []
  /// What the commit does, in order.
  package var operations: [Operation] = []
  /// The contents that the operations' ranges lie in.
  package var contents: [UInt8] = []

  package init() {}

  /// Some of the contents.
  package func bytes(_ range: Range<Int>) -> ArraySlice<UInt8> { contents[range] }

  /// Some of the contents as text.
  package func text(_ range: Range<Int>) -> String {
    String(decoding: contents[range], as: UTF8.self)
  }

  /// Whether a line is a base: whether its first field is `base`.
  package static func isBase(_ line: UnsafeRawBufferPointer) -> Bool {
    var scanner = JSONScanner(line)
    scanner.skipSpace()
    guard scanner.take(UInt8(ascii: "{")) else { return false }
    scanner.skipSpace()
    return line.dropFirst(scanner.position).starts(with: #""base""#.utf8)
  }

  mutating func removeAll() {
    base = nil
    buckets.removeAll(keepingCapacity: true)
    dates.removeAll(keepingCapacity: true)
    at = nil
    note = nil
    tags.removeAll(keepingCapacity: true)
    operations.removeAll(keepingCapacity: true)
    contents.removeAll(keepingCapacity: true)
  }

  /// Replaces what this holds by what a line says.
  ///
  /// Throws `invalidInput` with the offset in the line; what this holds then is of no use.
  package mutating func parse(_ line: UnsafeRawBufferPointer) throws(TreeRingError) {
    removeAll()
    var reader = CommitLineReader(JSONScanner(line))
    swap(&contents, &reader.contents)
    swap(&operations, &reader.operations)
    defer {
      swap(&contents, &reader.contents)
      swap(&operations, &reader.operations)
    }
    try reader.readCommit()
    base = reader.base
    buckets = reader.buckets
    dates = reader.dates
    at = reader.at
    note = reader.note
    tags = reader.tags
  }

  /// Replaces what this holds by what a line says.
  package mutating func parse(_ line: String) throws(TreeRingError) {
    let bytes = Array(line.utf8)
    try bytes.withUnsafeBufferPointer { (buffer) throws(TreeRingError) in
      try parse(UnsafeRawBufferPointer(buffer))
    }
  }
}
