// The state of a consumer. Reads see the state after the last batch whose block the delegate has
// run. The next batch is planned on the state after every accepted batch. Most delegates run the
// block at once: then there is one state, edited in place, and nothing is copied. While a batch
// waits there are two states. They share their nodes, so the difference costs only the change.

internal import DequeModule

/// A consumer's state, and the batches that its delegate has not run yet.
final class ShownState<State> {
  private struct Batch {
    let begin: () -> Void
    let edit: (inout State) -> Void
    let notify: () -> Void
    /// The state after this batch; nil until it has been applied.
    var state: State?
  }

  /// The state after every applied batch.
  private var newest: State
  /// The state that reads see; nil if that is the newest.
  private var held: State?
  /// The batches accepted and not run, oldest first.
  private var waiting: Deque<Batch> = []
  /// The number of batches run.
  private var runCount = 0
  private var isBeginning = false

  init(_ state: State) { newest = state }

  /// The state that reads see.
  var shown: State { held ?? newest }

  /// The state after every accepted batch. While a copy of it exists, the next batch copies the
  /// nodes it changes.
  var latest: State {
    settle()
    return newest
  }

  /// Replaces the state without calling the delegate and returns the old one. Runs waiting batches
  /// first.
  func replace(with state: State) -> State {
    run(through: .max)
    defer { newest = state }
    return newest
  }

  /// Advances to the state after a batch.
  ///
  /// - Parameters:
  ///   - delegate: Receives the batch as a block. When run, the block first announces the batch
  ///     while reads see the old state, and then makes the batch's calls.
  ///   - edit: Turns the latest state into the one after the batch.
  ///   - notify: Makes the calls of the batch while reads see the new state.
  func accept(
    for delegate: (any ConsumerDelegate)?, _ edit: @escaping (inout State) -> Void,
    notify: @escaping () -> Void
  ) {
    requireOutsideBegin()
    guard let delegate else {
      run(through: .max)
      edit(&newest)
      return notify()
    }
    let begin = { [weak delegate] () -> Void in delegate?.consumerWillChange() }
    waiting.append(Batch(begin: begin, edit: edit, notify: notify))
    if waiting.count > 1 { settle() }
    let number = runCount + waiting.count
    delegate.consumer { [weak self] in self?.run(through: number) }
    settle()
  }

  /// Applies the newest batch if it waits unapplied; reads keep the state before.
  private func settle() {
    guard let batch = waiting.last, batch.state == nil else { return }
    if held == nil { held = newest }
    batch.edit(&newest)
    waiting[waiting.count - 1].state = newest
  }

  /// Traps inside `consumerWillChange`, where no batch may end or run.
  private func requireOutsideBegin() {
    precondition(!isBeginning, "no batch may end or run inside consumerWillChange")
  }

  /// Runs the waiting batches up to a given number.
  private func run(through number: Int) {
    requireOutsideBegin()
    while runCount < number, let batch = waiting.popFirst() {
      runCount += 1
      isBeginning = true
      batch.begin()
      isBeginning = false
      if let state = batch.state {
        held = waiting.isEmpty ? nil : state
      } else {
        batch.edit(&newest)
      }
      batch.notify()
    }
  }
}
