// Randomness that can be had again: every random test prints its seed when it fails.

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

/// The seeds of a random test. The environment variable TREERING_SEEDS, "first...last", sets others:
/// to repeat a failure, or to try many.
package func seeds(_ usual: ClosedRange<UInt64>) -> ClosedRange<UInt64> {
  let text = ProcessInfo.processInfo.environment["TREERING_SEEDS"] ?? ""
  let bounds = text.split(separator: ".").compactMap { UInt64($0) }
  guard let first = bounds.first, let last = bounds.last, first <= last else { return usual }
  return first...last
}

/// Whether the exhaustive tests are to try everything: TREERING_SWEEP is set.
package let isSweep = ProcessInfo.processInfo.environment["TREERING_SWEEP"] != nil
