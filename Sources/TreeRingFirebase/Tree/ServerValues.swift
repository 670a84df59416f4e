// Values that the server makes: the time, and a sum with the present value.

/// The server values of a text that is read, with their paths.
package final class ServerValues {
  /// A value that the server makes.
  package enum Value: Hashable, Sendable {
    /// Milliseconds since 1970.
    case timestamp
    /// The present number plus another one; nothing counts as zero.
    case increment(Double)
  }

  /// The path of the node that is read at the moment.
  var path: [FirebaseKey] = []
  /// The values found, in the order of the text. Their nodes hold the number 0.
  package var found: [(path: [FirebaseKey], part: FirebasePath.Part, value: Value)] = []

  package init() {}
}
