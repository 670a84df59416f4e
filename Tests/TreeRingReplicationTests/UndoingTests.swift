// Commits that are undone because another replica leads: the log claims no sync that was not made.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingLog

struct UndoingTests {
  /// Shares commits until it is told to refuse.
  private final class Sharing: CommitSharing {
    let refuses = Atomic<Bool>(false)
    func checkLeading() throws(TreeRingError) {}
    func share(
      _ frames: UnsafeRawBufferPointer, of commits: ClosedRange<CommitNumber>
    ) throws(TreeRingError) {
      if refuses.load(ordering: .relaxed) { throw TreeRingError(.notLeader, "Another leads.") }
    }
  }

  private func draft(_ number: CommitNumber) -> CommitDraft {
    CommitDraft(
      number: number, timestamp: Timestamp(microseconds: Int64(number)), operationCount: 0,
      payload: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 100))
  }

  @Test(
    "After an undoing, commits that were not synced are not durable, whatever a crash leaves",
    arguments: seeds(1...200))
  func crash(seed: UInt64) throws {
    let disk = SimulatedFileSystem(seed: seed)
    let sharing = Sharing()
    var options = LogOptions(logger: quietLogger)
    options.sharing = sharing
    let log = try CommitLog(directory: "log", fileSystem: disk, options: options)
    for number in 1...3 as ClosedRange<CommitNumber> { try log.complete(log.append(draft(number))) }
    let durable = log.durable
    sharing.refuses.store(true, ordering: .relaxed)
    let ticket = try log.append(draft(4))
    let error = #expect(throws: TreeRingError.self) { try log.complete(ticket) }
    #expect(error?.code == .notLeader && error?.commit == 4)
    #expect(log.durable == durable && log.sequenced == 3)
    sharing.refuses.store(false, ordering: .relaxed)
    for number in 4...5 as ClosedRange<CommitNumber> { try log.complete(log.append(draft(number))) }
    let found = disk.afterCrash(seed: seed)
    try log.close()
    // Whatever is left is a prefix, and no damage.
    let again = try CommitLog(
      directory: "log", fileSystem: found, options: LogOptions(logger: quietLogger))
    #expect(again.sequenced >= durable && again.sequenced <= 5, "seed \(seed)")
    #expect(again.recoveryReport.flaw == nil, "seed \(seed)")
    try again.close()
  }
}
