// The position of a window as text, which a client sends back to resume: the commit, the number of
// the index's definition, a digest of the request, and, if the window has flexible ranges, where
// their rows are. With the digest, a client that resumes with another request gets a whole window
// and not a wrong change.
//
//     COMMIT.DEFINITION.DIGEST[.BASE64URL]

internal import Foundation
internal import TreeRing
internal import TreeRingLog
internal import TreeRingMappings

/// A position that a client sends back.
struct WindowPosition: Sendable {
  private let commit: CommitNumber
  private let definition: UInt32
  /// The digest of the request that the position belongs to.
  let digest: RequestDigest
  /// The position with windows; nil if the window has fixed ranges only.
  private let whole: MappingPosition?

  /// Reads a position.
  ///
  /// - Throws: `invalidInput` if the text is no position.
  init(_ text: String) throws(TreeRingError) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard (3...4).contains(parts.count), let commit = CommitNumber(parts[0]),
      let definition = UInt32(parts[1]), let digest = UInt32(parts[2], radix: 16)
    else { throw Self.refusal }
    self.commit = commit
    self.definition = definition
    self.digest = RequestDigest(value: digest)
    guard parts.count == 4 else {
      whole = nil
      return
    }
    var base64 = String(parts[3]).replacing("-", with: "+").replacing("_", with: "/")
    while base64.utf8.count % 4 != 0 { base64 += "=" }
    guard let json = Data(base64Encoded: base64),
      let position = try? JSONDecoder().decode(MappingPosition.self, from: json),
      position.commit == commit, position.definition == definition
    else { throw Self.refusal }
    whole = position
  }

  private static var refusal: TreeRingError {
    ClientMessage.refusal("“from” is no position that was sent.")
  }

  /// The position in an index.
  func position(in index: String) -> MappingPosition {
    if let whole, whole.index.utf8.elementsEqual(index.utf8) { return whole }
    return MappingPosition(index: index, commit: commit, definition: definition)
  }

  /// Appends the text of a position.
  static func append(
    _ position: MappingPosition, _ digest: RequestDigest, to output: inout [UInt8]
  ) {
    output.append(contentsOf: "\(position.commit).\(position.definition).".utf8)
    output.append(contentsOf: String(digest.value, radix: 16).utf8)
    guard position.hasWindows, let json = try? JSONEncoder().encode(position) else { return }
    output.append(UInt8(ascii: "."))
    for byte in json.base64EncodedData() {
      switch byte {
      case UInt8(ascii: "+"): output.append(UInt8(ascii: "-"))
      case UInt8(ascii: "/"): output.append(UInt8(ascii: "_"))
      case UInt8(ascii: "="): break
      default: output.append(byte)
      }
    }
  }
}

/// A digest of everything in a request that decides what a window shows (FNV-1a).
struct RequestDigest: Hashable, Sendable {
  private(set) var value: UInt32

  init(value: UInt32) { self.value = value }

  /// The digest of mappings as they are now.
  ///
  /// - Parameter ranged: The groups that have had a range of their own.
  init(_ mappings: Mappings, ranged: Set<GroupName>, fields: [JSONPath]?, givesTotals: Bool) {
    value = 2_166_136_261
    add(Array(mappings.index.utf8))
    let groups = mappings.groups
    add(groups == nil ? [0] : [1])
    for group in groups ?? [] { add(group.bytes) }
    add(mappings.hidesEmptySections ? [1] : [0])
    add(Self.text(mappings.defaultRange))
    for group in ranged.sorted() {
      let range = mappings.range(of: group)
      if range == mappings.defaultRange, !mappings.isReversed(group) { continue }
      add(group.bytes)
      add(Self.text(range))
      add(mappings.isReversed(group) ? [1] : [0])
    }
    for field in fields ?? [] { add(Array(field.description.utf8)) }
    // A client without totals could not keep them by their changes.
    if givesTotals { add([2]) }
  }

  private static func text(_ range: RangeOptions?) -> [UInt8] {
    guard let range else { return [] }
    return Array(
      ("\(range.isFlexible):\(range.length):\(range.offset):\(range.pin.rawValue):"
        + "\(range.minLength):\(range.maxLength):\(range.growth)").utf8)
  }

  /// Adds a part, with an end that no other part contains.
  private mutating func add(_ bytes: [UInt8]) {
    for byte in bytes { value = (value ^ UInt32(byte)) &* 16_777_619 }
    value = (value ^ 0x1FF) &* 16_777_619
  }
}
