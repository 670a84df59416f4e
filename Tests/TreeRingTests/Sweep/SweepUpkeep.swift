// Steps of the sweeps that copy, shorten and erase.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

extension SweepStep {
  /// Copies the store beside itself, to the folder "backup".
  static let backUp = SweepStep("back up") { run in
    let store = try run.needStore()
    let newest = store.newestCommit
    try store.backUp(to: "backup", on: run.disk, mayLink: true)
    run.promises.backup.raise(to: newest)
  }

  /// Drops history except the newest commits.
  static func compact(keeping count: Int) -> SweepStep {
    SweepStep("compact") { run in
      try run.needStore().compact(to: .keeping(.last(commits: count)))
    }
  }

  /// Erases the secret row from all of history.
  static let erase: SweepStep = {
    var step = SweepStep("erase", commits: 1) { run in
      run.held = []
      let store = try run.needStore()
      try store.erase(Secret.id.key, in: Secret.id.bucket)
      run.promise(run.workload.targets[run.next])
      run.promises.erased.raise(to: 1)
    }
    step.isRepeated = true
    return step
  }()
}
