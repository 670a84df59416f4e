// The pins of a pin table, by state. While there are readers, each commit adds a pin and ends
// another; a dictionary would compute a hash for both. Commit numbers of pins are neighbours, so
// their lowest bits spread them evenly over the places of a table. Forms of a commit are neighbours
// too.

internal import TreeRingLog

/// A pinned state, between its neighbours. All use is under the table's lock, which makes the
/// checks for exclusive access superfluous.
final class Pin {
  let state: StateID
  @exclusivity(unchecked) var useCount = 1
  @exclusivity(unchecked) var dead = DeadPages()
  /// True for a root of the page file.
  @exclusivity(unchecked) var isKept = false
  /// The neighbouring pins, older and newer.
  @exclusivity(unchecked) var older: Pin?
  @exclusivity(unchecked) var newer: Pin?
  /// The next pin in the same place of the index.
  @exclusivity(unchecked) fileprivate var next: Pin?

  init(_ state: StateID) { self.state = state }
}

/// Finds pins by their states.
struct PinIndex {
  /// The first pin of each place; as many places as a power of two.
  private var places = [Pin?](repeating: nil, count: 128)
  /// The number of pins.
  private(set) var count = 0

  /// The pin of a state. O(1) for commits that are not far apart, O(pins) at worst.
  subscript(state: StateID) -> Pin? {
    var next = places[place(state)]
    while let pin = next, pin.state != state { next = pin.next }
    return next
  }

  /// Adds a pin of a state that has none. Amortised O(1).
  mutating func insert(_ pin: Pin) {
    if count >= places.count { grow() }
    count += 1
    link(pin)
  }

  /// Removes a pin.
  mutating func remove(_ pin: Pin) {
    let place = place(pin.state)
    if places[place] === pin {
      places[place] = pin.next
    } else {
      var before = places[place]
      while let next = before?.next, next !== pin { before = next }
      precondition(before != nil, "a pin of commit \(pin.state.commit) is not in the index")
      before?.next = pin.next
    }
    pin.next = nil
    count -= 1
  }

  private func place(_ state: StateID) -> Int {
    Int(truncatingIfNeeded: state.commit &+ UInt64(state.form)) & (places.count - 1)
  }

  private mutating func link(_ pin: Pin) {
    let place = place(pin.state)
    pin.next = places[place]
    places[place] = pin
  }

  private mutating func grow() {
    let old = places
    places = [Pin?](repeating: nil, count: 2 * old.count)
    for first in old {
      var next = first
      while let pin = next {
        next = pin.next
        link(pin)
      }
    }
  }
}
