// Counts of the sweeps.
//
// A *crash point* is a call of a workload before which power failed or which failed. A *state* is a
// disk found afterwards that was opened and compared. Of the states of one crash point with the
// same bytes, only one is opened and counted.

import Foundation
import TestSupport
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

/// The counts of one sweep, and of all together.
final class SweepTally: Sendable {
  static let all = SweepTally()

  private let numbers = Mutex((points: 0, states: 0))

  func add(points: Int = 0, states: Int = 0) {
    numbers.withLock {
      $0.points += points
      $0.states += states
    }
    if self !== Self.all { Self.all.add(points: points, states: states) }
  }

  var states: Int { numbers.withLock { $0.states } }

  /// Prints the counts of one sweep.
  func report(_ name: String) {
    let mine = numbers.withLock { $0 }
    let total = Self.all.numbers.withLock { $0 }
    print(
      "sweep: \(name): \(mine.points) crash points, \(mine.states) states; "
        + "so far \(total.points) crash points, \(total.states) states")
  }

  /// The factor for the usual number of states: the environment variable TREERING_SWEEP.
  static var scale: Int {
    max(1, Int(ProcessInfo.processInfo.environment["TREERING_SWEEP"] ?? "") ?? 1)
  }
}

extension SimulatedFileSystem {
  /// A hash of the bytes and names on the disk; different disks nearly always have different ones.
  var fingerprint: Int {
    var hasher = Hasher()
    for path in paths {
      hasher.combine(path)
      hasher.combine(contents(of: path)?.withUnsafeBytes { Digest.of($0) })
    }
    return hasher.finalize()
  }
}
