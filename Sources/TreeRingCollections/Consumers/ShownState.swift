// What a consumer holds, twice: `latest` is the state after every batch that was accepted, `shown` is what reads
// see. They differ only between the end of a batch and the moment its delegate runs the block it asked for.
// Both share their nodes, so the difference costs what changed.

internal import DequeModule

/// A consumer's state, and the batches that its delegate has not run yet.
final class ShownState<State> {
  /// After every batch accepted.
  private(set) var latest: State
  /// What reads see.
  private(set) var shown: State
  /// The blocks of batches, oldest first.
  private var waiting: Deque<() -> Void> = []
  /// How many blocks have been run.
  private var runCount = 0

  init(_ state: State) {
    latest = state
    shown = state
  }

  /// Replaces the state and tells nobody. Batches that wait are run first.
  func replace(with state: State) {
    latest = state
    run(through: .max)
    shown = state
  }

  /// Goes on to the state after a batch.
  ///
  /// - Parameters:
  ///   - willChange: Tells the delegate while reads see the old state.
  ///   - perform: Hands the delegate the batch as a block.
  ///   - tell: The calls of the batch, made when reads see the new state.
  func accept(
    _ state: State, willChange: () -> Void, perform: (@escaping () -> Void) -> Void,
    tell: @escaping () -> Void
  ) {
    latest = state
    willChange()
    waiting.append { [weak self] in
      self?.shown = state
      tell()
    }
    let number = runCount + waiting.count
    perform { [weak self] in self?.run(through: number) }
  }

  /// Runs the batches not run yet up to one of them.
  private func run(through number: Int) {
    while runCount < number, let body = waiting.popFirst() {
      runCount += 1
      body()
    }
  }
}
