// The memory that each write leaves to the next one. A commit of one row would otherwise spend more
// on making and freeing objects than on its edit.

internal import TreeRingLog

/// Objects for one write at a time. An object that the caller's code still refers to, because it
/// has kept its transaction, is left to it and replaced.
///
/// Used only by the thread that holds the writer's lock, which makes it Sendable and the checks for
/// exclusive access superfluous.
final class WriterMemory: @unchecked Sendable {
  /// The transaction of the last write, if the next one may use it.
  @exclusivity(unchecked) private var transaction: Transaction?
  @exclusivity(unchecked) private var editor = EditorMemory()
  @exclusivity(unchecked) private var recorder = ChangeRecorder(byteLimit: 0)
  @exclusivity(unchecked) private var payload: [UInt8] = []
  /// The capacity up to which a payload's memory is kept.
  private static let payloadLimit = 1 << 20

  /// A transaction that makes the commit after `base`, in the same pages.
  /// - Parameters:
  ///   - spill: Writes pages of the transaction early; the same for all that edit these pages.
  ///   - recordByteLimit: The limit for the change records of all commits, in bytes.
  func begin(
    on base: Version, log: CommitLog, active: ActiveIndexes, code: [CodeIndex],
    horizon: CommitNumber, spill: SpillAction?, recordByteLimit: Int
  ) -> Transaction {
    let commit = base.roots.commit + 1
    if let transaction = reusable(in: base.pages, code: code) {
      transaction.begin(
        commit, on: base, active: active, horizon: horizon, memory: &payload)
      return transaction
    }
    transaction = nil
    let pending = PendingValues(commit: commit)
    let editor = StateEditor(
      pages: base.pages, epoch: commit, base: base.roots, catalog: base.catalog,
      active: active, code: code, values: ValueSource(log: log, pending: pending),
      recorder: changeRecorder(byteLimit: recordByteLimit), memory: editorMemory())
    editor.spill = spill
    let new = Transaction(
      editor: editor, commit: commit, pending: pending, horizon: horizon, memory: takePayload())
    // The next write would release closures, whose objects may use the store, under its lock.
    if code.isEmpty { transaction = new }
    return new
  }

  private func reusable(in pages: PageStore, code: [CodeIndex]) -> Transaction? {
    guard code.isEmpty, isKnownUniquelyReferenced(&transaction), let transaction,
      transaction.editor.pages === pages
    else { return nil }
    return transaction
  }

  /// Releases the last transaction, because other pages take the place of its own.
  func clear() { transaction = nil }

  private func editorMemory() -> EditorMemory {
    if !isKnownUniquelyReferenced(&editor) { editor = EditorMemory() }
    return editor
  }

  /// A recorder without records.
  private func changeRecorder(byteLimit: Int) -> ChangeRecorder {
    if !isKnownUniquelyReferenced(&recorder) || recorder.byteLimit != byteLimit {
      recorder = ChangeRecorder(byteLimit: byteLimit)
    }
    return recorder
  }

  /// An array whose memory may serve the next payload.
  private func takePayload() -> [UInt8] {
    var taken: [UInt8] = []
    swap(&taken, &payload)
    return taken
  }

  /// Keeps the memory of a payload that the log has stored.
  func keep(_ payload: consuming [UInt8]) {
    if payload.capacity <= Self.payloadLimit { self.payload = payload }
  }
}
