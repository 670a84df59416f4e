// One commit as one line of JSON, the format of import and export:
//
//     {"at":DATE,"note":TEXT,"tags":[TEXT…],"ops":[OPERATION…]}
//
//     ["put",BUCKET,KEY,OBJECT]   ["put",BUCKET,KEY,OBJECT,METADATA]
//     ["object",BUCKET,KEY,OBJECT]   ["metadata",BUCKET,KEY,METADATA]
//     ["touch",BUCKET,KEY]   ["delete",BUCKET,KEY]
//     ["tag",NAME,N]   ["index",NAME,DEFINITION|null]
//     ["place",INDEX,GROUP,BUCKET,KEY,BEFORE|null|{"$label":TEXT}]
//     ["unplace",INDEX,GROUP,BUCKET,KEY]
//
// A number behind `put` or `object`, as in "put:3", is the version of the object's coder, if it has
// one.
//
// A history that compaction has cut begins with base lines instead, which state a whole state. In a
// base, each operation is followed by the number of its commit. A put is also followed by the
// commits that made and touched its row, its own number in its commit, and the number of the
// operation that made the row:
//
//     {"base":N,"ops":[OPERATION,[WRITTEN,CREATED,TOUCHED,NUMBER,CREATING]…],"at":DATE,
//      "buckets":[BUCKET…],"dates":[[COMMIT,DATE]…]}
//
// An object or metadata is any JSON, or bytes as {"$base64":TEXT}; so are keys that are not UTF-8.
// The store keeps the tokens of JSON and drops its space. Every field is optional; unknown and
// repeated fields are errors. All contents are copied into one buffer that the next line reuses, so
// reading a line allocates nothing once the buffer is large enough.

package import TreeRing
public import TreeRingLog

/// One commit read from a line.
///
/// ``CommitReader`` reads it, and ``apply(to:)`` adds it to a transaction.
public struct CommitLine {
  /// The kind of an operation.
  package enum Kind: String, Sendable, CaseIterable {
    case put, object, metadata, touch, delete, tag, index, place, unplace
  }

  /// One operation; its parts are ranges of offsets in the line's contents.
  package struct Operation: Sendable {
    /// The kind.
    package var kind: Kind
    /// The bucket. For `tag` and `index`, empty.
    package var bucket: Range<Int> = 0..<0
    /// The row's key. For `tag` and `index`, the name.
    package var key: Range<Int> = 0..<0
    /// The object. For `index`, the definition; nil removes the index.
    package var object: Range<Int>?
    /// The version of the object's coder; 0 if it has none.
    package var coder: UInt32 = 0
    /// The metadata; nil if there is none.
    package var metadata: Range<Int>?
    /// For `place` and `unplace`: the index and the group.
    package var index: Range<Int> = 0..<0
    package var group: Range<Int> = 0..<0
    /// For `place`: the label of the place, or otherwise the key of the row to stand before (nil:
    /// at the end).
    package var label: Range<Int>?
    package var before: Range<Int>?
    /// For `tag`: the tagged commit.
    package var commit: CommitNumber = 0
    /// In a base: the operation's own stamp, that of the operation that made the row, and the
    /// commit that last touched it.
    package var written = Stamp(commit: 0, operation: 0)
    package var created = Stamp(commit: 0, operation: 0)
    package var touched: CommitNumber = 0

    package init(_ kind: Kind) { self.kind = kind }
  }

  /// The commit of a base, a line that holds a whole state in place of a commit; otherwise nil.
  ///
  /// The history of a compacted store begins with bases; `treering import` makes a store of them.
  public internal(set) var base: CommitNumber?
  /// In a base: the known buckets, in order of their creation.
  package var buckets: [String] = []
  /// In a base: the dates of its operations' commits, as far as given, ascending.
  package var dates: [(commit: CommitNumber, at: Timestamp)] = []
  /// The date, if given.
  public internal(set) var at: Timestamp?
  /// The note, if given.
  public internal(set) var note: String?
  /// The tags of this commit.
  public internal(set) var tags: [String] = []
  /// The number of operations.
  public var operationCount: Int { operations.count }
  /// The operations, in order.
  package var operations: [Operation] = []
  /// The contents; the operations' ranges are offsets in it.
  package var contents: [UInt8] = []

  package init() {}

  /// The contents in a range.
  package func bytes(_ range: Range<Int>) -> ArraySlice<UInt8> { contents[range] }

  /// The contents in a range, as text.
  package func text(_ range: Range<Int>) -> String {
    String(decoding: contents[range], as: UTF8.self)
  }

  /// Whether a line is a base: its first field is `base`.
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

  /// Replaces the whole value by the content of a line. After an error the value is undefined.
  ///
  /// - Throws: `invalidInput` with the offset in the line.
  package mutating func parse(_ line: UnsafeRawBufferPointer) throws(TreeRingError) {
    removeAll()
    var parser = CommitLineParser(JSONScanner(line))
    swap(&self, &parser.line)
    defer { swap(&self, &parser.line) }
    try parser.readCommit()
  }

  /// Replaces the whole value by the content of a line.
  package mutating func parse(_ line: String) throws(TreeRingError) {
    try Array(line.utf8).withUnsafeBytes { (bytes) throws(TreeRingError) in try parse(bytes) }
  }
}
