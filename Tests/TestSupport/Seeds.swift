// Reproducible randomness: every random test prints its seed when it fails.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A seeded generator (SplitMix64, Steele, Lea and Flood 2014).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// The seeds of a random test. The environment variable TREERING_SEEDS, "first...last", replaces
/// them, to repeat a failure or to try many.
package func seeds(_ usual: ClosedRange<UInt64>) -> ClosedRange<UInt64> {
  let text = ProcessInfo.processInfo.environment["TREERING_SEEDS"] ?? ""
  let bounds = text.split(separator: ".").compactMap { UInt64($0) }
  guard let first = bounds.first, let last = bounds.last, first <= last else { return usual }
  return first...last
}

/// Whether the exhaustive tests try everything: TREERING_SWEEP is set.
package let isSweep = ProcessInfo.processInfo.environment["TREERING_SWEEP"] != nil

/// A share of an exhaustive test's cases, so that a long sweep can run in parts. The environment
/// variable TREERING_PART, "2/7", selects the second of seven. Without it there is one part with
/// all cases.
package struct SweepPart: Sendable {
  private let number: Int
  private let count: Int

  /// The part that the environment selects.
  package static let current: SweepPart = {
    let text = ProcessInfo.processInfo.environment["TREERING_PART"] ?? ""
    let numbers = text.split(separator: "/").compactMap { Int($0) }
    guard numbers.count == 2, (1...max(1, numbers[1])).contains(numbers[0]) else {
      return SweepPart(number: 0, count: 1)
    }
    return SweepPart(number: numbers[0] - 1, count: numbers[1])
  }()

  /// Whether the part contains all cases.
  package var isWhole: Bool { count == 1 }

  /// Whether a case belongs to this part, by its index among all cases.
  package func contains(_ index: Int) -> Bool { index % count == number }
}
