// The reclaiming of pages whose states have ended.

internal import Dispatch
internal import TreeRingLog
internal import TreeRingPlatform

/// Frees the pages whose leases have ended: after the write that dropped them, or else on a thread
/// of its own; never on the thread of a reader.
final class Reclaimer: Sendable {
  private let pages: PageStore
  private let pins: PinTable
  private let ended = Mutex<Ended>(Ended())
  /// Held while pages are being freed, so that `drain()` returns when all of them are. Empty
  /// otherwise.
  private let draining = Mutex<Ended>(Ended())
  /// The number of running calls that will drain when they finish.
  private let attendants = Atomic<Int>(0)
  /// Whether anything may have ended and not been taken. A release sets this before it loads
  /// `attendants`; an attendant loads it after it has left. So one of the two drains.
  private let hasEnded = Atomic<Bool>(false)
  private let thread = DispatchQueue(label: "treering.reclaimer", qos: .utility)

  private struct Ended {
    var pins: [StateID] = []
    var pages: [PageNumber] = []
    /// The leases whose pages the ended ones shared. They are released here one after the other, so
    /// that the end of a long chain causes no deep recursion.
    var shared: [PageLease] = []
    /// Whether a drain is scheduled on the thread.
    var isScheduled = false

    /// Moves what has ended to another value, which is empty, and takes over its memory.
    mutating func move(to taken: inout Ended) {
      swap(&pins, &taken.pins)
      swap(&pages, &taken.pages)
      swap(&shared, &taken.shared)
      isScheduled = false
    }

    mutating func removeAll() {
      pins.removeAll(keepingCapacity: pins.count < Self.keptCount)
      if !pages.isEmpty { pages = [] }
      if !shared.isEmpty { shared = [] }
    }

    /// The number of pins up to which their memory is kept.
    private static let keptCount = 1024
  }

  init(pages: PageStore, pins: PinTable) {
    self.pages = pages
    self.pins = pins
  }

  /// Records that a lease has ended. Called from `deinit`, on any thread.
  func release(pin: StateID?, pages: [PageNumber] = [], shared: [PageLease] = []) {
    let mustSchedule = ended.withLock { ended in
      if let pin { ended.pins.append(pin) }
      if !pages.isEmpty { ended.pages.append(contentsOf: pages) }
      if !shared.isEmpty { ended.shared.append(contentsOf: shared) }
      hasEnded.store(true, ordering: .sequentiallyConsistent)
      if ended.isScheduled || attendants.load(ordering: .sequentiallyConsistent) > 0 {
        return false
      }
      ended.isScheduled = true
      return true
    }
    if mustSchedule { thread.async { self.drain() } }
  }

  /// Frees the pages of every lease that has ended.
  func drain() {
    draining.withLock { taken in
      ended.withLock { ended in
        hasEnded.store(false, ordering: .sequentiallyConsistent)
        ended.move(to: &taken)
      }
      while true {
        for pin in taken.pins { pins.unpin(pin) }
        if !taken.pages.isEmpty { pages.free(taken.pages) }
        // The end of a shared lease ends those that it shares.
        let mayGoOn = !taken.shared.isEmpty
        taken.removeAll()
        if !mayGoOn { return }
        ended.withLock { $0.move(to: &taken) }
      }
    }
  }

  /// Runs `body`, which may end leases, and then frees what has ended, unless another thread is
  /// freeing it already. Only `drain()` waits for that.
  @discardableResult
  func drain<R>(after body: () -> R) -> R {
    attendants.add(1, ordering: .sequentiallyConsistent)
    defer {
      attendants.subtract(1, ordering: .sequentiallyConsistent)
      // Most commits end no lease.
      if hasEnded.load(ordering: .sequentiallyConsistent) { drain() }
    }
    return body()
  }

  /// Waits until the thread has done its scheduled work, and drains. For tests.
  func settle() {
    thread.sync {}
    drain()
  }
}
