// Pins of commits in their first form, as most tests use them.

@testable import TreeRing
@testable import TreeRingLog

extension PinTable {
  func pin(_ commit: CommitNumber) { pin(StateID(commit)) }
  func unpin(_ commit: CommitNumber) { unpin(StateID(commit)) }
  func keep(_ commit: CommitNumber) { keep(StateID(commit)) }
  func unkeep(_ commit: CommitNumber, saved: [RetiredPage]) {
    unkeep(StateID(commit), saved: saved)
  }
  func retire(_ retired: [RetiredPage], at commit: CommitNumber) {
    retire(retired, at: StateID(commit))
  }
  func deadPageCount(of commit: CommitNumber) -> Int { deadPageCount(of: StateID(commit)) }
  var pinnedCommits: [(commit: CommitNumber, useCount: Int)] {
    pinnedStates.map { ($0.state.commit, $0.useCount) }
  }
}
