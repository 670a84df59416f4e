// Index definitions as bytes, in the log and in the catalog. See docs/rows.md.

internal import TreeRingLog

extension IndexRecord {
  /// Whether version and definition equal these.
  func isSame(_ version: UInt32, _ definition: Definition) -> Bool {
    self.version == version && self.definition == definition
  }

  /// Checks that the definition fits the catalog.
  /// - Throws: `tooLarge` if it does not; `invalidInput` if it states too many decimals.
  func check() throws(TreeRingError) {
    if case .summedCode(_, let sum) = definition.withoutRule, sum > Limits.sumDecimals {
      throw TreeRingError(
        .invalidInput,
        "The index \(name) has sums of \(sum) decimals; at most \(Limits.sumDecimals) are allowed.")
    }
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
    static let text: UInt8 = 6
    static let unique: UInt8 = 7
    static let reference: UInt8 = 8
    static let expiry: UInt8 = 9
    static let summed: UInt8 = 13
    static let summedCode: UInt8 = 14
  }

  func encode(into bytes: inout [UInt8]) {
    bytes.append(counted: name)
    bytes.append(integer: UInt64(number))
    bytes.append(integer: UInt64(version))
    Self.append(definition, to: &bytes)
  }

  private static func append(_ definition: Definition, to bytes: inout [UInt8]) {
    switch definition {
    case .removed: bytes.append(Kind.removed)
    case .fields(let text): append(Kind.fields, text, to: &bytes)
    case .summed(let text): append(Kind.summed, text, to: &bytes)
    case .code(let buckets):
      bytes.append(Kind.code)
      append(buckets, to: &bytes)
    case .summedCode(let buckets, let decimals):
      bytes.append(Kind.summedCode)
      bytes.append(integer: UInt64(decimals))
      append(buckets, to: &bytes)
    case .filtered(let parent, let buckets):
      bytes.append(Kind.filtered)
      append(buckets, to: &bytes)
      parent.encode(into: &bytes)
    case .selected(let parent, let text):
      bytes.append(Kind.selected)
      bytes.append(counted: text)
      parent.encode(into: &bytes)
    case .manual(let buckets):
      bytes.append(Kind.manual)
      append(buckets, to: &bytes)
    case .text(let text): append(Kind.text, text, to: &bytes)
    case .unique(let definition):
      bytes.append(Kind.unique)
      append(definition, to: &bytes)
    case .reference(let text): append(Kind.reference, text, to: &bytes)
    case .expiry(let text): append(Kind.expiry, text, to: &bytes)
    case .events(let grouping, let bucket): append(grouping.rawValue, bucket, to: &bytes)
    }
  }

  private static func append(_ kind: UInt8, _ text: String, to bytes: inout [UInt8]) {
    bytes.append(kind)
    bytes.append(counted: text)
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
    let definition = try Self.definition(try reader.byte(), &reader, of: name, depth: depth)
    try Limits.checkStored(name: name.utf8.count)
    self.init(name: name, number: number, version: version, definition: definition)
    try check()
  }

  /// Reads the definition of a kind.
  private static func definition(
    _ kind: UInt8, _ reader: inout ByteReader, of name: String, depth: Int
  ) throws(TreeRingError) -> Definition {
    switch kind {
    case Kind.removed: return .removed
    case Kind.fields: return .fields(String(decoding: try reader.counted(), as: UTF8.self))
    case Kind.summed: return .summed(String(decoding: try reader.counted(), as: UTF8.self))
    case Kind.code: return .code(buckets: try buckets(&reader))
    case Kind.summedCode:
      let decimals = try reader.integer32()
      guard decimals <= Limits.sumDecimals else { throw ByteReader.damaged }
      return .summedCode(buckets: try buckets(&reader), decimals: decimals)
    case Kind.filtered:
      let buckets = try buckets(&reader)
      return .filtered(try IndexRecord(&reader, depth: depth + 1), buckets: buckets)
    case Kind.selected:
      let text = String(decoding: try reader.counted(), as: UTF8.self)
      return .selected(try IndexRecord(&reader, depth: depth + 1), text)
    case Kind.manual: return .manual(buckets: try buckets(&reader))
    case Kind.text: return .text(String(decoding: try reader.counted(), as: UTF8.self))
    case Kind.unique:
      let kind = try reader.byte()
      let others = [Kind.removed, Kind.manual, Kind.text, Kind.unique, Kind.expiry]
      guard !others.contains(kind), EventGrouping(rawValue: kind) == nil else {
        throw ByteReader.damaged
      }
      return .unique(try definition(kind, &reader, of: name, depth: depth))
    case Kind.expiry: return .expiry(String(decoding: try reader.counted(), as: UTF8.self))
    case Kind.reference: return .reference(String(decoding: try reader.counted(), as: UTF8.self))
    default:
      if let grouping = EventGrouping(rawValue: kind) {
        return .events(grouping, bucket: String(decoding: try reader.counted(), as: UTF8.self))
      }
      throw TreeRingError(
        .unsupportedFormat,
        "The index \(name) is defined in a way, \(kind), that is unknown to this version. "
          + "Open the store with a newer version.")
    }
  }
}
