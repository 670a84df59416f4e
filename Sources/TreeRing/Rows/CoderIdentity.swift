// The identity of a coder, by which rows are decoded once for all who read them.

/// The identity of a coder. Coders that decode alike are equal: copies of one, and those that the
/// library makes for one type.
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
