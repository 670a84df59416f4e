// Steps of the sweeps that copy, shorten and erase.

import TestSupport
import Testing
import TreeRing
import TreeRingLog

extension SweepStep {
  /// Copies the store beside itself, to the folder "backup".
  static let backUp = SweepStep("back up") { run in
    let store = try run.needStore()
    let newest = store.newestCommit
    try store.backUp(to: "backup", on: run.disk, mayLink: true)
    run.promises.backup.raise(to: newest)
  }
}
