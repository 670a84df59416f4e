// The messages of a round. Windows that are equal in all that decides a message, the name alone
// excepted, share the change and its encoding: a page that many people look at is encoded once.

internal import TreeRing
internal import TreeRingLog
internal import TreeRingMappings
internal import TreeRingPlatform

/// A round, and the messages that were made in it.
final class SharedRound: Sendable {
  /// Everything that decides the next message of a window that follows the newest commit.
  struct Key: Hashable, Sendable {
    var mappings: Mappings
    var fields: [JSONPath]?
    var givesTotals: Bool
    var position: MappingPosition
    /// The commit that the client shows.
    var sent: CommitNumber
  }

  /// The end of a message after the window's name, and the observer that has advanced.
  struct Outcome: Sendable {
    var observer: MappingObserver
    var message: ArraySlice<UInt8>
  }

  private struct State {
    var outcomes: [Key: Outcome] = [:]
    var byteCount = 0
  }

  let round: ChangeRound
  private let state = Mutex(State())
  /// The most bytes of messages that a round keeps.
  private static let byteLimit = 16 << 20

  init(_ round: ChangeRound) { self.round = round }

  /// The outcome for an equal window; nil if there was none yet.
  func outcome(_ key: Key) -> Outcome? { state.withLock { $0.outcomes[key] } }

  func keep(_ outcome: Outcome, for key: Key) {
    state.withLock { state in
      guard state.byteCount + outcome.message.count <= Self.byteLimit else { return }
      state.byteCount += outcome.message.count
      state.outcomes[key] = outcome
    }
  }
}
