// What a consumer holds. Reads see the state after the last batch whose delegate has run the block it asked for; the
// next batch is planned on the state after every batch accepted. Most delegates run the block at once: then
// there is one state, edited in place, and nothing is copied. While a batch waits there are two, which
// share their nodes, so the difference costs what changed.

internal import DequeModule

/// A consumer's state, and the batches that its delegate has not run yet.
final class ShownState<State> {
  private struct Batch {
    let edit: (inout State) -> Void
    let tell: () -> Void
    /// The state after it; nil until it has been applied.
    var state: State?
  }

  /// After every batch applied.
  private var newest: State
  /// What reads see; nil if that is the newest.
  private var held: State?
  /// Batches accepted and not run, oldest first.
  private var waiting: Deque<Batch> = []
  /// How many batches have been run.
  private var runCount = 0
  private var isBeginning = false

  init(_ state: State) { newest = state }

  /// What reads see.
  var shown: State { held ?? newest }

  /// After every batch accepted.
  var latest: State {
    settle()
    return newest
  }

  /// Replaces the state, tells nobody, and returns the one before. Batches that wait are run first.
  func replace(with state: State) -> State {
    run(through: .max)
    defer { newest = state }
    return newest
  }

  /// Goes on to the state after a batch.
  ///
  /// - Parameters:
  ///   - delegate: Is told first, while reads see the old state; then gets the batch as a block.
  ///   - edit: Makes the state after the batch of the latest one.
  ///   - tell: The calls of the batch, made when reads see the new state.
  func accept(
    for delegate: (any ConsumerDelegate)?, _ edit: @escaping (inout State) -> Void,
    tell: @escaping () -> Void
  ) {
    precondition(!isBeginning, "a batch may not end before the one around it has begun to show")
    guard let delegate else {
      run(through: .max)
      edit(&newest)
      return tell()
    }
    isBeginning = true
    delegate.consumerWillChange()
    isBeginning = false
    waiting.append(Batch(edit: edit, tell: tell))
    if waiting.count > 1 { settle() }
    let number = runCount + waiting.count
    delegate.consumer { [weak self] in self?.run(through: number) }
    settle()
  }

  /// Applies the newest batch if it waits and has not been applied, while reads see the state before.
  private func settle() {
    guard let batch = waiting.last, batch.state == nil else { return }
    if held == nil { held = newest }
    batch.edit(&newest)
    waiting[waiting.count - 1].state = newest
  }

  /// Runs the batches not run yet up to one of them.
  private func run(through number: Int) {
    while runCount < number, let batch = waiting.popFirst() {
      runCount += 1
      if let state = batch.state {
        held = waiting.isEmpty ? nil : state
      } else {
        batch.edit(&newest)
      }
      batch.tell()
    }
  }
}
