// A remote control for a stream of changes: other mappings, ranges changed by hand, and a pause.
//
// What is asked for waits here until the stream's next delivery, which carries all of it, together with
// what was committed meanwhile, in one minimal change.

internal import Synchronization
public import TreeRing

/// What a stream of changes is to show, changed while it runs. For one stream at a time: of two that
/// overlap for a moment, one delivers each change of a range.
/// ```swift
/// let control = MappingControl(Mappings(of: "chats", groups: ["work"]).range(newest, of: "work"))
/// for try await change in store.changes(of: control) { list.apply(change) }
/// // Meanwhile, when the reader scrolls to the top:
/// control.extendRange(of: "work", by: 50)
/// ```
public final class MappingControl: Sendable {
  /// What is asked for and not delivered yet.
  struct Request: Sendable {
    var mappings: Mappings
    var changes: [RangeChange] = []
    /// How many changes were taken off before these: the number of the first.
    fileprivate(set) var first = 0

    fileprivate var end: Int { first + changes.count }

    /// Takes off the changes that another request ends with, as far as they still wait: two readers may
    /// have been given the same ones.
    fileprivate mutating func take(_ other: Request) {
      let count = max(0, other.end - first)
      changes.removeFirst(min(count, changes.count))
      first += count
    }
  }

  private struct State {
    var request: Request
    var isPaused = false
    /// Goes up with whatever the stream has to look at.
    var turn = 0
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>

  /// Begins with these mappings.
  public init(_ mappings: Mappings) {
    state = Mutex(State(request: Request(mappings: mappings)))
  }

  /// Shows other mappings from the next delivery on.
  public func show(_ mappings: Mappings) { change { $0.request.mappings = mappings } }

  /// Shows this many rows more of a group, on the side away from the pin; fewer if negative.
  public func extendRange(of group: GroupName, by rows: Int) {
    change { $0.request.changes.append(RangeChange(.extend(by: rows), of: group)) }
  }

  /// Moves a group's range this many rows away from the pin; towards it if negative.
  public func shiftRange(of group: GroupName, by rows: Int) {
    change { $0.request.changes.append(RangeChange(.shift(by: rows), of: group)) }
  }

  /// Starts a group's range anew; nil shows the whole group.
  public func setRange(_ range: RangeOptions?, of group: GroupName) {
    change { $0.request.changes.append(RangeChange(.set(range), of: group)) }
  }

  /// Holds deliveries back, while a view is not on screen or the user drags. What happens meanwhile
  /// comes as one change afterwards.
  public var isPaused: Bool {
    get { state.withLock { $0.isPaused } }
    set { change { $0.isPaused = newValue } }
  }

  /// What is to be delivered, and the turn it is; nil while paused.
  func request() -> (request: Request?, turn: Int) {
    state.withLock { ($0.isPaused ? nil : $0.request, $0.turn) }
  }

  /// Takes a delivered request off.
  func settle(_ delivered: Request, showing mappings: Mappings) {
    state.withLock { state in
      if state.request.mappings == delivered.mappings { state.request.mappings = mappings }
      state.request.take(delivered)
    }
  }

  /// Takes the changes of ranges off that cannot be met.
  func drop(_ refused: Request) {
    state.withLock { $0.request.take(refused) }
  }

  /// Waits until something changes after a turn, or the task is cancelled.
  func waits(after turn: Int) async {
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
