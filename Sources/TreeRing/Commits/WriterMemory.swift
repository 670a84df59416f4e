// The memory that each write leaves to the next one. A commit of one row would otherwise spend more
// on making and freeing objects than on its edit.

internal import TreeRingLog

/// Objects for one write at a time. An object that the caller's code still refers to, because it
/// has kept its transaction, is left to it and replaced.
///
/// Used only by the thread that holds the writer's lock, which makes it Sendable and the checks for
/// exclusive access superfluous.
final class WriterMemory: @unchecked Sendable {
  @exclusivity(unchecked) private var editor = EditorMemory()
  @exclusivity(unchecked) private var pending = PendingValues(commit: 0)
  @exclusivity(unchecked) private var recorder = ChangeRecorder(byteLimit: 0)
  @exclusivity(unchecked) private var payload: [UInt8] = []
  /// The capacity up to which a payload's memory is kept.
  private static let payloadLimit = 1 << 20

  /// Memory for the page editor of a write.
  func editorMemory() -> EditorMemory {
    if !isKnownUniquelyReferenced(&editor) { editor = EditorMemory() }
    return editor
  }

  /// The place for the logged values of a commit.
  func pendingValues(of commit: CommitNumber) -> PendingValues {
    if isKnownUniquelyReferenced(&pending), pending.count == 0 {
      pending.commit = commit
    } else {
      pending = PendingValues(commit: commit)
    }
    return pending
  }

  /// A recorder without records.
  func changeRecorder(byteLimit: Int) -> ChangeRecorder {
    if !isKnownUniquelyReferenced(&recorder) || recorder.byteLimit != byteLimit {
      recorder = ChangeRecorder(byteLimit: byteLimit)
    }
    return recorder
  }

  /// An array whose memory may serve the next payload.
  func takePayload() -> [UInt8] {
    var taken: [UInt8] = []
    swap(&taken, &payload)
    return taken
  }

  /// Keeps the memory of a payload that the log has stored.
  func keep(_ payload: consuming [UInt8]) {
    if payload.capacity <= Self.payloadLimit { self.payload = payload }
  }

  /// Releases what the write has collected.
  func endWrite() {
    if pending.count > 0 { pending = PendingValues(commit: 0) }
    recorder.reset()
  }
}
