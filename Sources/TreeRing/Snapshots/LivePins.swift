// The live pins of a store, by commit. Every snapshot adds a pin and removes it, and dictionaries
// would compute four hashes for that. Commit numbers of pins are neighbours, so their lowest bits
// spread them evenly over the places of a table. The table counts one reference to each pin, and
// none when it links pins or follows their links.

internal import TreeRingLog

/// Pins, found by their commits. All use is under the lock of the registry. Pins that are not
/// removed are never freed.
struct LivePins {
  /// The newest pin of each place; as many places as a power of two.
  private var places = [Unmanaged<PinLife>?](repeating: nil, count: 64)
  private var count = 0

  /// Adds a pin. Amortised O(1).
  mutating func insert(_ pin: PinLife) {
    if count >= places.count { grow() }
    count += 1
    link(.passRetained(pin))
  }

  /// Removes a pin, unless that has been done. O(1).
  mutating func remove(_ pin: PinLife) {
    guard let links = pin.links else { return }
    links.older?._withUnsafeGuaranteedRef { $0.links?.newer = links.newer }
    if let newer = links.newer {
      newer._withUnsafeGuaranteedRef { $0.links?.older = links.older }
    } else {
      places[place(pin.commit)] = links.older
    }
    pin.links = nil
    count -= 1
    Unmanaged.passUnretained(pin).release()
  }

  /// The version that a pin of a commit keeps; nil if there is none. O(1) for commits that are not
  /// far apart, unless there are newer pins of that commit whose version is not set yet.
  func version(of commit: CommitNumber) -> Version? {
    var next = places[place(commit)]
    while let pin = next?.takeUnretainedValue() {
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
      while let pin = next?.takeUnretainedValue() {
        all.append(pin)
        next = pin.links?.older
      }
    }
    return all
  }

  private func place(_ commit: CommitNumber) -> Int {
    Int(truncatingIfNeeded: commit) & (places.count - 1)
  }

  private mutating func link(_ pin: Unmanaged<PinLife>) {
    let place = place(pin._withUnsafeGuaranteedRef { $0.commit })
    let older = places[place]
    older?._withUnsafeGuaranteedRef { $0.links?.newer = pin }
    pin._withUnsafeGuaranteedRef { $0.links = PinLife.Links(older: older) }
    places[place] = pin
  }

  private mutating func grow() {
    let pins = all
    places = [Unmanaged<PinLife>?](repeating: nil, count: 2 * places.count)
    // The newest pin of a place is linked last.
    for pin in pins.reversed() { link(.passUnretained(pin)) }
  }
}
