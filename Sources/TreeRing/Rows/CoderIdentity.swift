// The identity of a coder, so that indexes with equal coders share a decoded row.

/// The identity of a coder. Coders that decode in the same way are equal: copies of one, and the
/// JSON coders of one type.
enum CoderIdentity: Equatable, Sendable {
  final class Token: Sendable {}
  case json(ObjectIdentifier)
  case own(Token)

  static func == (a: CoderIdentity, b: CoderIdentity) -> Bool {
    switch (a, b) {
    case (.json(let a), .json(let b)): a == b
    case (.own(let a), .own(let b)): a === b
    case (.json, .own), (.own, .json): false
    }
  }
}
