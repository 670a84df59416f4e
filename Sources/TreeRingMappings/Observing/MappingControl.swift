// A remote control for a stream of changes: other mappings, manual range changes, and a pause.
//
// Requests wait here until the stream's next delivery. It carries all of them, together with the
// commits since the last one, in one minimal change.

public import TreeRing
internal import TreeRingPlatform

/// The mappings and ranges of a stream of changes, changeable while it runs. Use one control per
/// stream: of two streams that overlap, only one delivers each range change.
/// ```swift
/// let control = MappingControl(Mappings(of: "chats", groups: ["work"]).range(newest, of: "work"))
/// for try await change in store.changes(of: control) { list.apply(change) }
/// // Later, when the reader scrolls to the top:
/// control.extendRange(of: "work", by: 50)
/// ```
public final class MappingControl: Sendable {
  /// The request that is not delivered yet.
  struct Request: Sendable {
    var mappings: Mappings
    var changes: [RangeChange] = []
    /// The number of changes removed before these: the number of the first.
    fileprivate(set) var first = 0

    fileprivate var end: Int { first + changes.count }

    /// Removes the changes up to the end of another request, as far as they still wait. Two readers
    /// may have received the same ones.
    fileprivate mutating func take(_ other: Request) {
      let count = max(0, other.end - first)
      changes.removeFirst(min(count, changes.count))
      first += count
    }
  }

  private struct State {
    var request: Request
    var isPaused = false
    /// Incremented by every change that the stream must handle.
    var turn = 0
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>

  /// A control that starts with these mappings.
  public init(_ mappings: Mappings) {
    state = Mutex(State(request: Request(mappings: mappings)))
  }

  /// Shows other mappings from the next delivery on.
  public func show(_ mappings: Mappings) { change { $0.request.mappings = mappings } }

  /// Shows this many more rows of a group, on the side away from the pin; fewer if negative.
  public func extendRange(of group: some KeyConvertible, by rows: Int) {
    change { $0.request.changes.append(RangeChange(.extend(by: rows), of: group)) }
  }

  /// Moves a group's range this many rows away from the pin; towards it if negative.
  public func shiftRange(of group: some KeyConvertible, by rows: Int) {
    change { $0.request.changes.append(RangeChange(.shift(by: rows), of: group)) }
  }

  /// Restarts a group's range; nil shows the whole group.
  public func setRange(_ range: RangeOptions?, of group: some KeyConvertible) {
    change { $0.request.changes.append(RangeChange(.set(range), of: group)) }
  }

  /// Whether deliveries are held back, for example while a view is off screen or the user drags.
  /// All changes of a pause come as one change after it.
  public var isPaused: Bool {
    get { state.withLock { $0.isPaused } }
    set { change { $0.isPaused = newValue } }
  }

  /// The request to deliver, with its turn; the request is nil while paused.
  func request() -> (request: Request?, turn: Int) {
    state.withLock { ($0.isPaused ? nil : $0.request, $0.turn) }
  }

  /// Removes a delivered request.
  func settle(_ delivered: Request, showing mappings: Mappings) {
    state.withLock { state in
      if state.request.mappings == delivered.mappings { state.request.mappings = mappings }
      state.request.take(delivered)
    }
  }

  /// Removes range changes that cannot be applied.
  func drop(_ refused: Request) {
    state.withLock { $0.request.take(refused) }
  }

  /// Waits until the turn changes, or the task is cancelled.
  func wait(after turn: Int) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if state.turn != turn || Task.isCancelled { return true }
          state.waiters.append(continuation)
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      wake()
    }
  }

  private func change(_ body: (inout State) -> Void) {
    state.withLock {
      body(&$0)
      $0.turn += 1
    }
    wake()
  }

  private func wake() {
    let waiters = state.withLock { state in
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }
}
