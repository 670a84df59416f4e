// Index definitions as bytes, in the log and in the catalog. See docs/rows.md.

internal import TreeRingLog

extension IndexRecord {
  /// Whether version and definition equal these.
  func isSame(_ version: UInt32, _ definition: Definition) -> Bool {
    self.version == version && self.definition == definition
  }

  /// Checks that the definition fits the catalog.
  /// - Throws: `tooLarge` if it does not.
  func check() throws(TreeRingError) {
    var bytes: [UInt8] = []
    encode(into: &bytes)
    guard bytes.count <= Limits.definitionByteCount, depth <= Self.depthLimit else {
      throw TreeRingError(
        .tooLarge,
        "The definition of the index \(name) has \(bytes.count) bytes; at most "
          + "\(Limits.definitionByteCount) are allowed, and at most \(Self.depthLimit) filters of "
          + "filters. Shorten it, or define the index by a closure."
      )
    }
  }

  /// The number of filters below this definition.
  private var depth: Int {
    var depth = 0
    var next = parent
    while let record = next {
      depth += 1
      next = record.parent
    }
    return depth
  }

  private enum Kind {
    static let removed: UInt8 = 0
    static let fields: UInt8 = 1
    static let code: UInt8 = 2
    static let filtered: UInt8 = 3
    static let selected: UInt8 = 4
    static let manual: UInt8 = 5
  }

  func encode(into bytes: inout [UInt8]) {
    bytes.append(counted: name)
    bytes.append(integer: UInt64(number))
    bytes.append(integer: UInt64(version))
    switch definition {
    case .removed: bytes.append(Kind.removed)
    case .fields(let text):
      bytes.append(Kind.fields)
      bytes.append(counted: text)
    case .code(let buckets):
      bytes.append(Kind.code)
      Self.append(buckets, to: &bytes)
    case .filtered(let parent, let buckets):
      bytes.append(Kind.filtered)
      Self.append(buckets, to: &bytes)
      parent.encode(into: &bytes)
    case .selected(let parent, let text):
      bytes.append(Kind.selected)
      bytes.append(counted: text)
      parent.encode(into: &bytes)
    case .manual(let buckets):
      bytes.append(Kind.manual)
      Self.append(buckets, to: &bytes)
    }
  }

  private static func append(_ buckets: [String], to bytes: inout [UInt8]) {
    bytes.append(integer: UInt64(buckets.count))
    for bucket in buckets { bytes.append(counted: bucket) }
  }

  private static func buckets(_ reader: inout ByteReader) throws(TreeRingError) -> [String] {
    var buckets: [String] = []
    let count = try reader.integer()
    for _ in 0..<count { buckets.append(String(decoding: try reader.counted(), as: UTF8.self)) }
    return buckets
  }

  /// The maximum number of nested filters.
  private static let depthLimit = 32

  init(_ reader: inout ByteReader) throws(TreeRingError) { try self.init(&reader, depth: 0) }

  private init(_ reader: inout ByteReader, depth: Int) throws(TreeRingError) {
    guard depth <= Self.depthLimit else { throw ByteReader.damaged }
    let name = String(decoding: try reader.counted(), as: UTF8.self)
    let (number, version) = (try reader.integer32(), try reader.integer32())
    let definition: Definition
    switch try reader.byte() {
    case Kind.removed: definition = .removed
    case Kind.fields:
      definition = .fields(String(decoding: try reader.counted(), as: UTF8.self))
    case Kind.code:
      definition = .code(buckets: try Self.buckets(&reader))
    case Kind.filtered:
      let buckets = try Self.buckets(&reader)
      definition = .filtered(try IndexRecord(&reader, depth: depth + 1), buckets: buckets)
    case Kind.selected:
      let text = String(decoding: try reader.counted(), as: UTF8.self)
      definition = .selected(try IndexRecord(&reader, depth: depth + 1), text)
    case Kind.manual: definition = .manual(buckets: try Self.buckets(&reader))
    case let kind:
      throw TreeRingError(
        .unsupportedFormat,
        "The index \(name) is defined in a way, \(kind), that is unknown to this version. "
          + "Open the store with a newer version.")
    }
    try Limits.checkStored(name: name.utf8.count)
    self.init(name: name, number: number, version: version, definition: definition)
    try check()
  }
}
