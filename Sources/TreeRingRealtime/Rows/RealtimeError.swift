// A refusal in the words of the Firebase Realtime Database: a status of HTTP and a text.

internal import TreeRingFirebase
internal import TreeRingLog

/// A refusal of a request.
struct RealtimeError: Error, Hashable, Sendable {
  let status: Int
  let text: String

  init(_ status: Int, _ text: String) {
    self.status = status
    self.text = text
  }

  static let permissionDenied = RealtimeError(401, "Permission denied")
  static let badToken = RealtimeError(401, "Could not parse auth token.")
  static let expiredToken = RealtimeError(401, "Auth token is expired")
  static let timedOut = RealtimeError(400, "The request took longer than its timeout.")
  static let responseTooLarge = RealtimeError(
    400, "Data requested exceeds the maximum size that can be accessed with a single request.")
  static let writeTooLarge = RealtimeError(
    400, "Data to write exceeds the maximum size that can be modified with a single request.")

  /// The refusal for any error.
  init(_ error: any Error) {
    switch error {
    case let error as RealtimeError: self = error
    case let error as FirebaseError: self.init(400, error.message)
    case let error as TreeRingError:
      switch error.code {
      case .invalidInput, .beyondHorizon, .notFound: self.init(400, error.message)
      case .tooLarge: self = .writeTooLarge
      case .notAllowed: self.init(403, error.message)
      case .noSpace: self.init(507, error.message)
      case .closed, .locked, .poisoned, .snapshotExpired, .storeRewound, .cancelled, .notLeader,
        .unavailable:
        self.init(503, error.message)
      default: self.init(500, error.message)
      }
    default: self.init(500, "Internal server error.")
    }
  }
}
