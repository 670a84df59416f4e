// A store ends several times: its process is killed, or power fails. A kill loses nothing by
// itself, but leaves names and bytes that only the system's memory holds. An opening that builds on
// them and then reports commits as durable loses both when power fails.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Kill sweep of the store")
struct KillSweepTests {
  /// The end of a process that has the store open.
  enum End { case kill, power }

  /// The ends after a call of a workload. The process ends there. Then the store is opened again
  /// and ends during the opening, once for each end but the last. Then it opens, makes a commit,
  /// and ends.
  typealias History = [End]

  static let killed: [History] = [
    [.kill, .power], [.kill, .power, .power], [.kill, .kill, .power],
  ]
  static let powerless: [History] = [[.power, .power], [.power, .power, .power]]

  @Test(
    "Processes may be killed at any call, even while opening, before power fails",
    arguments: seeds(1...1))
  func killAnywhere(seed: UInt64) throws {
    let workload =
      SweepTally.scale > 1 ? try SweepWorkload.mixed(seed: seed) : try .short(seed: seed)
    let tally = SweepTally()
    for moment in try CrashSweepTests.moments(of: workload, seed: seed) {
      tally.add(points: 1)
      for keep in 0..<SweepTally.scale {
        for history in Self.killed {
          let endSeed = seed &* 1_000_000 &+ UInt64(moment.call * 1000 + keep)
          do {
            try Self.run(history, from: moment, workload, seed: endSeed, tally)
          } catch {
            Issue.record(
              "seed \(seed), \(history) \(endSeed) before \(moment.call) \(moment.what): \(error)")
          }
        }
      }
    }
    tally.report("processes are killed, seed \(seed)")
    #expect(tally.states > 50)
  }

  @Test("Kills, but not power failures alone, reveal an opening that does not sync found names")
  func forgetfulOpening() throws {
    let workload = try SweepWorkload.short(seed: 1)
    // Only at these calls do names exist that are not durable.
    let moments = try CrashSweepTests.moments(of: workload, seed: 1).filter {
      $0.what == "syncDirectory store/log"
    }
    func losses(_ histories: [History]) -> Set<String> {
      var steps: Set<String> = []
      for moment in moments {
        for (history, call) in histories.flatMap({ history in (1...12).map { (history, $0) } })
        where !steps.contains(moment.step) {
          do {
            try Self.run(
              history, from: moment, workload, seed: UInt64(moment.call * 100 + call), SweepTally(),
              endingAt: 1 + call % 3, process: { ForgetfulFileSystem($0) })
          } catch { steps.insert(moment.step) }
        }
      }
      return steps
    }
    #expect(losses(Self.powerless) == [])
    let found = losses(Self.killed)
    // The start of a segment, recovery, compaction and erasing each create names.
    #expect(found.isSuperset(of: ["write 3", "compact", "erase"]), "\(found)")
  }

  /// Runs a history, and throws if a commit is lost in the end.
  ///
  /// - Parameters:
  ///   - call: the call of an opening at which it ends; a random one if nil.
  ///   - process: the next process's view of the disk.
  private static func run(
    _ history: History, from moment: CrashSweepTests.Moment, _ workload: SweepWorkload,
    seed: UInt64, _ tally: SweepTally, endingAt call: Int? = nil,
    process: (SimulatedFileSystem) -> any FileSystem = { $0 }
  ) throws {
    var random = SeededGenerator(seed: seed)
    func after(_ end: End, _ disk: SimulatedFileSystem) -> SimulatedFileSystem {
      end == .kill ? disk.afterKill() : disk.afterCrash(seed: random.next())
    }
    var disk = after(history[0], moment.disk)
    for end in history[1..<history.count - 1] {
      disk.crash(after: call ?? Int.random(in: 1...12, using: &random))
      let opened = try? workload.open(on: process(disk))
      guard opened != nil || disk.isDown else { throw SweepFlaw("opening failed before its end") }
      disk = after(end, disk)
      tally.add(points: 1)
    }
    var promised = moment.promised
    let store = try workload.open(on: process(disk))
    guard store.newestCommit >= promised.commits else {
      throw SweepFlaw("\(store.newestCommit) of \(promised.commits) promised commits")
    }
    // Commits seen once remain, and so does the new one.
    promised.commits = store.newestCommit
    if Int(store.newestCommit) + 1 < workload.script.commits.count {
      let commit = workload.script.commits[Int(store.newestCommit) + 1]
      promised.commits = try store.write(durability: .full) { try commit.perform($0) }.commit
    }
    let found = after(history[history.count - 1], disk)
    let again = try workload.open(found)
    tally.add(states: 1)
    guard again.newestCommit >= promised.commits else {
      throw SweepFlaw("\(again.newestCommit) commits of \(promised.commits) are there")
    }
    try workload.check(again, past: 1, &random)
    try workload.checkBeside(found, promised)
    withExtendedLifetime(store) {}
  }
}
