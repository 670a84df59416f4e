// Waits for changes of a file of the operating system.

internal import CTreeRing
internal import TreeRingPlatform

/// A descriptor that reports the changes of a file.
final class PosixWatch: FileWatch {
  private let descriptor: Int32
  private let watch: Int32

  /// Nil if the system does not support watches, or has none left for this process.
  init?(_ path: String) {
    var watch: Int32 = -1
    descriptor = treering_watch_open(path, &watch)
    self.watch = watch
    if descriptor < 0 { return nil }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  func wait(milliseconds: Int) -> FileWatchOutcome {
    let result = treering_watch_wait(descriptor, Int32(clamping: milliseconds))
    return result < 0 ? .ended : result == 0 ? .timedOut : .changed
  }

  func cancel() { treering_watch_cancel(descriptor, watch) }
}
