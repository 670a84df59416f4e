// Makes pages durable beside the checkpoint that has written them. The device works on one slice
// while the processor prepares the next, and a slice becomes clean long before the checkpoint ends.

internal import Dispatch
internal import TreeRingLog
internal import TreeRingPlatform

/// The syncs of a checkpoint under way, one at a time. One checkpoint at a time uses it.
final class EarlySync: Sendable {
  private let file: PageFile
  private let evictor: Evictor
  private let isRunning = Atomic<Bool>(false)
  private let thread = DispatchQueue(label: "treering.syncs", qos: .utility)

  init(file: PageFile, evictor: Evictor) {
    self.file = file
    self.evictor = evictor
  }

  /// Begins to make pages durable, after which they may be evicted, unless a sync is under way. If
  /// it fails, the pages stay as they are, and every later sync of the file fails too.
  /// - Parameter written: pages of a pinned root.
  /// - Returns: whether it has begun.
  func begin(_ written: ArraySlice<RetiredPage>) -> Bool {
    if isRunning.exchange(true, ordering: .acquiringAndReleasing) { return false }
    thread.async { [self] in
      do throws(TreeRingError) {
        try file.sync()
        evictor.noteDurable(written)
        evictor.evict(napLimit: 10)
      } catch {
        // The file has kept the error: the checkpoint's own sync throws it.
      }
      isRunning.store(false, ordering: .releasing)
    }
    return true
  }

  /// Waits for a sync that is under way. Afterwards the root need not be pinned.
  func finish() { thread.sync {} }
}
