// Who is reading right now. A read section is one call: it begins by counting itself up, ends by
// counting itself down, and meanwhile may hold pointers into pages. Whoever has taken a page's old home
// out of the table waits until every section begun before has ended, and then gives the memory back.
//
// Two sets of counters, of which one is current. A section counts itself in the current set, and makes
// sure that it still is. When the set left is empty the two are swapped: sections begun after a swap are
// not in the set that it leaves, so when that is empty every section begun before has ended. Nobody has to
// stand by: who has swapped says which swap he waits for, and asks again later. Each set has several
// counters on cache lines of their own, chosen by thread, so that readers on different cores do not share
// one.
//
// The scheme is that of sleepable read-copy-update (McKenney, "Sleepable RCU", 2006).

internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

/// Counts read sections. Any thread.
// The counters are atomics, allocated once.
package final class ReadSections: @unchecked Sendable {
  private static let stripeCount = 16
  /// Words from one counter to the next: a cache line.
  private static let stride = 8

  private let counters: UnsafeMutablePointer<Atomic<Int>>
  private let current = Atomic<Int>(0)
  /// How often the sets have been swapped. Changed together with `current`.
  private let swaps = Mutex<UInt64>(0)

  package init() {
    let count = 2 * Self.stripeCount * Self.stride
    counters = .allocate(capacity: count)
    for index in 0..<count { (counters + index).initialize(to: Atomic(0)) }
  }

  deinit { counters.deallocate() }

  /// Begins a section. Returns what `leave` needs.
  @inline(__always)
  package func enter() -> Int {
    let stripe = Self.stripe
    while true {
      let set = current.load(ordering: .sequentiallyConsistent)
      let place = (set &* Self.stripeCount &+ stripe) &* Self.stride
      counters[place].add(1, ordering: .sequentiallyConsistent)
      if current.load(ordering: .sequentiallyConsistent) == set { return place }
      counters[place].subtract(1, ordering: .releasing)
    }
  }

  /// Ends a section.
  @inline(__always)
  package func leave(_ place: Int) { counters[place].subtract(1, ordering: .releasing) }

  /// What to ask for later: whether every section begun before this call has ended.
  package func ticket() -> Ticket { Ticket(swap: swaps.withLock { $0 } + 1) }

  /// A moment, for `hasPassed`.
  package struct Ticket: Hashable, Sendable {
    fileprivate let swap: UInt64
  }

  /// Whether every section begun before a ticket was drawn has ended. O(1).
  package func hasPassed(_ ticket: Ticket) -> Bool {
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

  /// Returns when every section begun before the call has ended. Must not be called inside one.
  package func waitForOthers() { _ = wait(for: ticket(), atMost: .max) }

  /// Waits until a ticket has passed, giving up after a number of naps of a tenth of a millisecond.
  /// - Returns: whether it has.
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

  /// Which counter this thread uses.
  @inline(__always)
  private static var stripe: Int {
    #if canImport(Darwin)
      let thread = UInt(bitPattern: pthread_self())
    #else
      let thread = UInt(pthread_self())
    #endif
    return Int(truncatingIfNeeded: (thread &* 0x9E37_79B9_7F4A_7C15) >> 60)
  }
}
