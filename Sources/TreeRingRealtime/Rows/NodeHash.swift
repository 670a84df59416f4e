// The hash of a node, as Firebase's SDKs compute it: base 64 of SHA-1 over a text of the value, the
// priority and the hashes of the children. It serves as the entity tag.

internal import Foundation
internal import TreeRingFirebase

extension FirebaseNode {
  /// The hash; empty for a node without data. O(n log n).
  var hash: String {
    if !exists { return "" }
    var text: [UInt8] = []
    if priority != .null {
      text += "priority:\(priority.hashText):".utf8
    }
    switch value {
    case .scalar(let scalar): text += scalar.hashText.utf8
    case .children:
      // Children by priority, then by key.
      let children = unsortedChildren.map { child in
        (
          OrderEdge(value: FirebaseOrder.priority.value(of: child), key: child.key).bytes, child
        )
      }.sorted { $0.0.lexicographicallyPrecedes($1.0) }
      for (_, child) in children {
        text += ":".utf8
        text += child.key.text.utf8
        text += ":".utf8
        text += child.node.hash.utf8
      }
    }
    return Data(SHA1.digest(text)).base64EncodedString()
  }

  /// The entity tag.
  var entityTag: String { exists ? hash : "null_etag" }
}

extension FirebaseScalar {
  /// The type and the value; a number as its 64 bits in hexadecimal digits.
  fileprivate var hashText: String {
    switch self {
    case .null: return ""
    case .bool(let value): return "boolean:\(value)"
    case .number(let number):
      let digits = String(number.bitPattern, radix: 16)
      return "number:" + String(repeating: "0", count: 16 - digits.count) + digits
    case .text(let text): return "string:\(text)"
    }
  }
}
