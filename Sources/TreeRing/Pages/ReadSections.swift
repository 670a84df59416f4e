// Running read sections. A read section is one call: it increments a counter at its start,
// decrements it at its end, and may hold pointers into pages in between. A thread that has removed
// a page's old address from the table waits until every section begun before has ended. Then it
// frees the memory.
//
// There are two sets of counters, one of them current. A section increments a counter of the
// current set and checks that the set is still current. When the other set is empty the two are
// swapped. Sections begun after a swap count in the other set. So when the set that was current
// before is empty, every section begun before the swap has ended. No thread has to wait: a ticket
// states the number of the swap that its caller needs, and the caller polls it later. Each set has
// several counters on cache lines of their own, chosen by thread, so that readers on different
// cores do not share one.
//
// The scheme is that of sleepable read-copy-update (McKenney, "Sleepable RCU", 2006).

internal import CTreeRing
internal import TreeRingPlatform

/// Counts read sections. Any thread.
// Sendable: the counters are atomics, allocated once.
package final class ReadSections: @unchecked Sendable {
  /// A power of two.
  private static let stripeCount = 16
  /// The number of words from one counter to the next: a cache line.
  private static let stride = 8

  private let counters: UnsafeMutablePointer<Atomic<Int>>
  private let current = Atomic<Int>(0)
  /// The number of swaps so far. Changed together with `current`.
  private let swaps = Mutex<UInt64>(0)

  init() {
    let count = 2 * Self.stripeCount * Self.stride
    counters = .allocate(capacity: count)
    for index in 0..<count { (counters + index).initialize(to: Atomic(0)) }
  }

  deinit { counters.deallocate() }

  /// Begins a section.
  /// - Returns: The argument for `leave`.
  @inline(__always)
  package func enter() -> Int {
    let stripe = Self.stripe
    while true {
      let set = current.load(ordering: .sequentiallyConsistent)
      let place = (set &* Self.stripeCount &+ stripe) &* Self.stride
      // Wrapping: one instruction, where a check for overflow takes a loop.
      counters[place].wrappingAdd(1, ordering: .sequentiallyConsistent)
      if current.load(ordering: .sequentiallyConsistent) == set { return place }
      counters[place].wrappingSubtract(1, ordering: .releasing)
    }
  }

  /// Ends a section.
  @inline(__always)
  package func leave(_ place: Int) { counters[place].wrappingSubtract(1, ordering: .releasing) }

  /// A ticket for `hasPassed`: it passes when every section begun before this call has ended.
  package func ticket() -> Ticket { Ticket(swap: swaps.withLock { $0 } + 1) }

  /// A moment in the order of sections.
  package struct Ticket: Hashable, Sendable {
    fileprivate let swap: UInt64
  }

  /// Whether every section begun before a ticket was drawn has ended. O(1).
  func hasPassed(_ ticket: Ticket) -> Bool {
    swaps.withLock { swaps in
      while true {
        let set = Int(truncatingIfNeeded: swaps & 1)
        if !isEmpty(1 - set) { return swaps > ticket.swap }
        if swaps >= ticket.swap { return true }
        swaps += 1
        current.store(1 - set, ordering: .sequentiallyConsistent)
      }
    }
  }

  /// Waits until every section begun before the call has ended. Must not be called inside a
  /// section.
  func waitForOthers() { _ = wait(for: ticket(), atMost: .max) }

  /// Waits until a ticket has passed, at most for a number of naps of a tenth of a millisecond.
  /// - Returns: True if it has passed.
  package func wait(for ticket: Ticket, atMost napLimit: Int) -> Bool {
    var naps = 0
    while !hasPassed(ticket) {
      if naps >= napLimit { return false }
      naps += 1
      if naps < 20 { sched_yield() } else { usleep(100) }
    }
    return true
  }

  private func isEmpty(_ set: Int) -> Bool {
    for stripe in 0..<Self.stripeCount {
      let place = (set * Self.stripeCount + stripe) * Self.stride
      if counters[place].load(ordering: .sequentiallyConsistent) != 0 { return false }
    }
    return true
  }

  /// The index of this thread's counter. Threads are numbered in the order of their first section,
  /// so up to sixteen that begin one after the other share none. An index by the thread's address
  /// made one pair of readers in sixteen share a counter.
  @inline(__always)
  private static var stripe: Int { Int(threadNumber) & (stripeCount - 1) }

  /// The number of the calling thread; no other has it.
  @inline(__always)
  static var threadNumber: UInt32 { treering_thread_number() }
}
