// The batches of a merge, one after the other. With much to merge another thread fills a batch
// while the caller applies the batch before it, so that a replay uses two processors.

internal import Dispatch
internal import TreeRingLog

/// Gives batches of sorted changes. One thread at a time uses it.
final class BatchSupply {
  /// The merge and the batch that it fills. Sendable: the caller and the other thread take turns.
  /// From the begin of a filling until the caller has waited for it, only the other thread uses it.
  private final class Turn: @unchecked Sendable {
    var changes: SortedChanges
    var batch = ChangeBatch()
    var failure: TreeRingError?

    init(_ changes: consuming SortedChanges) { self.changes = changes }

    func fill() {
      do throws(TreeRingError) { try changes.fill(batch) } catch { failure = error }
    }
  }

  private let turn: Turn
  /// The thread that fills batches; nil if the caller does.
  private let thread: DispatchQueue?
  private let isFilled = DispatchSemaphore(value: 0)
  private var isFilling = false
  /// The batch that the caller uses.
  private var batch = ChangeBatch()

  /// - Parameter fillsAhead: Whether another thread fills the next batch while one is in use.
  init(_ changes: consuming SortedChanges, fillsAhead: Bool) {
    turn = Turn(changes)
    thread = fillsAhead ? DispatchQueue(label: "treering.merge") : nil
    fillAhead()
  }

  deinit { wait() }

  /// The next batch, which is valid until the next call; nil at the end.
  /// - Throws: The error of the merge.
  func next() throws(TreeRingError) -> ChangeBatch? {
    if thread == nil { turn.fill() } else { wait() }
    if let failure = turn.failure { throw failure }
    // At the end it stays empty.
    guard !turn.batch.records.isEmpty else { return nil }
    swap(&batch, &turn.batch)
    fillAhead()
    return batch
  }

  private func fillAhead() {
    guard let thread else { return }
    isFilling = true
    thread.async { [turn, isFilled] in
      turn.fill()
      isFilled.signal()
    }
  }

  private func wait() {
    guard isFilling else { return }
    isFilled.wait()
    isFilling = false
  }
}
