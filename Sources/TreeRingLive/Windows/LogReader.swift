// The tail of the log: commits from a position on, as lines. The position is the only state.

internal import TreeRing
internal import TreeRingImport
internal import TreeRingLog
internal import TreeRingPlatform

/// A reader of commits from one on. A message holds whole lines of the import format, each with the
/// commit's number; it takes no further commit once it has some hundred kilobytes.
public final class LogReader: LiveReader {
  private struct State {
    var next: CommitNumber
    var failure: TreeRingError?
  }

  private let store: Store
  private let byteLimit: Int
  private let state: Mutex<State>

  init(_ store: Store, from first: CommitNumber, byteLimit: Int) {
    self.store = store
    self.byteLimit = byteLimit
    state = Mutex(State(next: first))
  }

  /// The number of the next commit.
  public var position: UInt64 { state.withLock { $0.next } }

  /// Whether the log can no longer be read from the position on. The last message said why.
  public var isOver: Bool { state.withLock { $0.failure != nil } }

  public var mayBeDue: Bool {
    let newest = store.newestCommit
    return state.withLock { $0.failure == nil && $0.next <= newest }
  }

  public var hasMore: Bool { mayBeDue }

  public func nextMessage() -> [UInt8]? {
    state.withLock { state in
      guard state.failure == nil else { return nil }
      let newest = store.newestCommit
      var writer = CommitWriter()
      do throws(TreeRingError) {
        while state.next <= newest, writer.output.count < byteLimit {
          let (info, operations) = try store.operations(of: state.next)
          writer.commit(info, operations, number: state.next)
          state.next += 1
        }
      } catch {
        state.failure = error
        writer.output.append(contentsOf: "{\"error\":\(ErrorObject.value(error))}\n".utf8)
      }
      return writer.output.isEmpty ? nil : writer.output
    }
  }
}
