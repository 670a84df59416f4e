// The position of a window as text, which a client sends back to resume: the commit, the number of
// the index's definition, and, if the window has flexible ranges, where their rows are.
//
//     COMMIT.DEFINITION[.BASE64URL]

internal import Foundation
internal import TreeRingLog
internal import TreeRingMappings

/// A position that a client sends back.
struct WindowPosition: Sendable {
  private let commit: CommitNumber
  private let definition: UInt32
  /// The position with windows; nil if the window has fixed ranges only.
  private let whole: MappingPosition?

  /// Reads a position.
  ///
  /// - Throws: `invalidInput` if the text is no position.
  init(_ text: String) throws(TreeRingError) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), let commit = CommitNumber(parts[0]),
      let definition = UInt32(parts[1])
    else { throw Self.refusal }
    self.commit = commit
    self.definition = definition
    guard parts.count == 3 else {
      whole = nil
      return
    }
    var base64 = String(parts[2]).replacing("-", with: "+").replacing("_", with: "/")
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
  static func append(_ position: MappingPosition, to output: inout [UInt8]) {
    output.append(contentsOf: "\(position.commit).\(position.definition)".utf8)
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
