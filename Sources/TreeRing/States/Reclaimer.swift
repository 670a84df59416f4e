// The release of pages off the readers' paths.

internal import Dispatch
internal import TreeRingLog
internal import TreeRingPlatform

/// Frees the pages whose leases have ended: after the write that dropped them, or else on a thread
/// of its own; never on a reader's path.
final class Reclaimer: Sendable {
  private let pages: PageStore
  private let pins: PinTable
  private let left = Mutex<Left>(Left())
  /// Held while pages are being freed, so that `drain` returns when all of them are.
  private let draining = Mutex<Void>(())
  private let thread = DispatchQueue(label: "treering.reclaimer", qos: .utility)

  private struct Left {
    var pins: [CommitNumber] = []
    var pages: [PageNumber] = []
    /// The leases that the ended ones shared pages of. They are released here one after the other,
    /// so that the end of a long chain does not nest as deep as the chain is long.
    var shared: [PageLease] = []
    /// The number of running calls that will drain when they finish.
    var attendants = 0
    /// Whether a drain is scheduled on the thread.
    var isScheduled = false
    var isEmpty: Bool { pins.isEmpty && pages.isEmpty && shared.isEmpty }

    mutating func take() -> Left {
      let taken = self
      self = Left()
      attendants = taken.attendants
      return taken
    }
  }

  init(pages: PageStore, pins: PinTable) {
    self.pages = pages
    self.pins = pins
  }

  /// Records that a lease has ended. Called from `deinit`, on any thread.
  func release(pin: CommitNumber?, pages: [PageNumber] = [], shared: [PageLease] = []) {
    let mustSchedule = left.withLock { left in
      if let pin { left.pins.append(pin) }
      if !pages.isEmpty { left.pages.append(contentsOf: pages) }
      if !shared.isEmpty { left.shared.append(contentsOf: shared) }
      if left.attendants > 0 || left.isScheduled { return false }
      left.isScheduled = true
      return true
    }
    if mustSchedule { thread.async { self.drain() } }
  }

  /// Frees the pages of every lease that has ended.
  func drain() {
    draining.withLock { _ in
      while true {
        let taken = left.withLock { $0.take() }
        if taken.isEmpty { return }
        for pin in taken.pins { pins.unpin(pin) }
        if !taken.pages.isEmpty { pages.free(taken.pages) }
      }
    }
  }

  /// Runs `body`, which may end leases, and then drains.
  func drain(after body: () -> Void) {
    left.withLock { $0.attendants += 1 }
    body()
    left.withLock { $0.attendants -= 1 }
    drain()
  }

  /// Waits for the drain that the thread has begun, and drains. For tests.
  func settle() {
    thread.sync {}
    drain()
  }
}
