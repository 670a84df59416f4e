// Gives the room of free pages back to the device, so that a file that has grown amid a load
// shrinks on the disk. The file keeps its length, since other processes map it: free pages become
// holes. A page that is written again takes new room.
//
// A page may be released whenever it may be overwritten: while its number is free. The numbers are
// taken meanwhile, so nobody else writes to them.

internal import Logging
internal import TreeRingLog
internal import TreeRingPlatform

extension Checkpointer {
  /// Queues the release of free pages for the next long pause of writing, if they are many: as many
  /// as an eighth of those in use, and at least four megabytes. Called after a checkpoint, and when
  /// writing has stopped a release.
  func queueRelease() {
    let free = pages.freePageCount - file.holes.withLock { $0.count }
    guard free >= max(pages.filePageCount / 8, 1024) else { return }
    schedule.queueWhenIdle(.release) { [weak self] isIdle in
      guard let self else { return }
      releaseFreePages(while: isIdle)
      if !isIdle() { queueRelease() }
    }
  }

  /// Releases the free pages that are no holes yet, a slice at a time.
  /// - Parameter goesOn: asked after each slice.
  func releaseFreePages(while goesOn: () -> Bool) {
    var start: PageNumber = 1
    do throws(TreeRingError) {
      repeat {
        // A checkpoint would state that the numbers taken are in use.
        let next = try withoutCheckpoint { () throws(TreeRingError) in
          try releaseSlice(from: start)
        }
        guard let next else { return }
        start = next
      } while goesOn()
    } catch {
      // The content of free pages does not matter.
      logger.warning("The room of free pages was not given back: \(error)")
    }
  }

  /// - Returns: the number to continue from; nil at the end.
  private func releaseSlice(from start: PageNumber) throws(TreeRingError) -> PageNumber? {
    if schedule.isClosed || failure != nil { return nil }
    let numbers = takeReleasable(from: start)
    defer { pages.free(numbers) }
    guard let last = numbers.last, try file.release(numbers) else { return nil }
    return last + 1
  }

  /// Takes free numbers that are no holes. The copy of the holes is gone afterwards: otherwise the
  /// first change of them would copy all.
  private func takeReleasable(from start: PageNumber) -> [PageNumber] {
    pages.takeFreeNumbers(
      atMost: Self.releaseSlicePageCount, from: start, except: file.holes.withLock { $0 })
  }

  /// The number of pages in a slice. Checkpoints and evictions wait for it.
  private static let releaseSlicePageCount = 256
}
