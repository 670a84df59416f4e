// The live pins of a store, by commit. Every snapshot adds a pin and removes it, and dictionaries
// would compute four hashes for that. Commit numbers of pins are neighbours, so their lowest bits
// spread them evenly over the places of a table.

internal import TreeRingLog

/// Pins, found by their commits. All use is under the lock of the registry.
struct LivePins {
  /// The newest pin of each place; as many places as a power of two.
  private var places = [PinLife?](repeating: nil, count: 64)
  private var count = 0

  /// Adds a pin. Amortised O(1).
  mutating func insert(_ pin: PinLife) {
    if count >= places.count { grow() }
    count += 1
    link(pin)
  }

  /// Removes a pin, unless that has been done. O(1).
  mutating func remove(_ pin: PinLife) {
    guard let links = pin.links else { return }
    links.older?.links?.newer = links.newer
    if let newer = links.newer {
      newer.links?.older = links.older
    } else {
      places[place(pin.commit)] = links.older
    }
    pin.links = nil
    count -= 1
  }

  /// The version that a pin of a commit keeps; nil if there is none. O(1) for commits that are not
  /// far apart, unless there are newer pins of that commit whose version is not set yet.
  func version(of commit: CommitNumber) -> Version? {
    var next = places[place(commit)]
    while let pin = next {
      if pin.commit == commit, let version = try? pin.version() { return version }
      next = pin.links?.older
    }
    return nil
  }

  /// All pins, in no order. O(the most pins that there have been at a time).
  var all: [PinLife] {
    var all: [PinLife] = []
    all.reserveCapacity(count)
    for newest in places {
      var next = newest
      while let pin = next {
        all.append(pin)
        next = pin.links?.older
      }
    }
    return all
  }

  private func place(_ commit: CommitNumber) -> Int {
    Int(truncatingIfNeeded: commit) & (places.count - 1)
  }

  private mutating func link(_ pin: PinLife) {
    let place = place(pin.commit)
    pin.links = PinLife.Links(older: places[place])
    places[place]?.links?.newer = pin
    places[place] = pin
  }

  private mutating func grow() {
    let pins = all
    places = [PinLife?](repeating: nil, count: 2 * places.count)
    // The newest pin of a place is linked last.
    for pin in pins.reversed() { link(pin) }
  }
}
