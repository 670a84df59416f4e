// A store in use on a failing disk: it runs the steps of a workload, records the promises, and can
// continue on another disk after a failure.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

/// One step of a workload. It may run again after a failure or an interruption.
struct SweepStep: Sendable {
  var name: String
  /// The number of the script's commits that the step makes.
  var commits = 0
  /// Whether the step must run again although its commits exist, because it does more.
  var isRepeated = false
  var body: @Sendable (SweepRun) throws -> Void

  init(_ name: String, commits: Int = 0, _ body: @escaping @Sendable (SweepRun) throws -> Void) {
    self.name = name
    self.commits = commits
    self.body = body
  }

  /// Makes commits one after the other, each with the script's durability.
  static func write(_ count: Int) -> SweepStep {
    SweepStep("write \(count)", commits: count) { run in
      while run.needsCommit { try run.write() }
    }
  }

  /// Makes a commit with more pages than fit a small memory budget, and one that undoes it.
  static let flood = SweepStep("flood", commits: 2) { run in
    while run.needsCommit { try run.write() }
  }

  /// Makes commits that are all in progress before the first is complete.
  static func group(_ count: Int) -> SweepStep {
    SweepStep("group of \(count)", commits: count) { try $0.writeGroup() }
  }

  static let sync = SweepStep("sync") { run in
    let newest = try run.needStore().newestCommit
    try run.needStore().sync()
    run.promise(newest)
  }

  static let reopen = SweepStep("reopen") { run in
    try run.close()
    try run.open()
  }

  static let checkpoint = SweepStep("checkpoint") { try $0.needStore().checkpoint() }

  /// Gives the room of the page file's free pages back to the device.
  static let release = SweepStep("release") { run in
    try run.needStore().engine.checkpointer?.release { true }
  }

  /// Packs the trees; snapshots would keep their pages in place.
  static let pack = SweepStep("pack") { run in
    run.held = []
    try run.needStore().engine.checkpointer?.pack(isForced: true) { true }
  }

  /// Removes the page file while the store is closed.
  static let losePages = SweepStep("lose the page file") { run in
    try run.close()
    run.disk.replace("store/pages", with: nil)
    try run.open()
  }

  /// Reads the past, which makes states beside the newest one.
  static let lookBack = SweepStep("look back") { run in
    let store = try run.needStore()
    run.held.append(try store.snapshot())
    let past = try store.snapshot(at: .commit(max(store.newestCommit, 2) - 2))
    _ = try past.count(in: "notes")
    run.held.append(past)
    if run.held.count > 4 { run.held.removeFirst() }
  }
}

/// A workload: its steps, its script, and the options of its store.
struct SweepWorkload: Sendable {
  var script: SweepScript
  var steps: [SweepStep]
  var segmentSize: UInt64
  var memoryBudget: Int
  /// The last commit of each step.
  private(set) var targets: [CommitNumber] = []

  /// - Parameter steps: the steps without the opening, which makes the first commit: it registers
  ///   an index.
  init(
    seed: UInt64, segmentSize: UInt64, memoryBudget: Int = 64 << 20, steps: [SweepStep]
  ) throws {
    self.steps = steps
    self.segmentSize = segmentSize
    self.memoryBudget = memoryBudget
    var number: CommitNumber = 1
    for step in steps {
      number += CommitNumber(step.commits)
      targets.append(number)
    }
    let erasure = zip(steps, targets).first { $0.0.name == "erase" }?.1
    let floods = zip(steps, targets).filter { $0.0.name == "flood" }.map { $0.1 - 1 }
    script = try SweepScript(
      seed: seed, commitCount: Int(number), erasure: erasure, floods: Set(floods))
  }

  func options(_ mode: StoreMode) -> StoreOptions {
    var options = StoreOptions(
      mode: mode, memoryBudget: memoryBudget, segmentSize: segmentSize, indexes: [byGroup()],
      logger: quietLogger)
    options.pageCellCapacity = 4
    return options
  }

  func open(_ disk: SimulatedFileSystem, _ mode: StoreMode = .create) throws -> Store {
    try open(on: disk, mode)
  }

  func open(on fileSystem: any FileSystem, _ mode: StoreMode = .create) throws -> Store {
    try Store(path: "store", fileSystem: fileSystem, options: options(mode))
  }
}

final class SweepRun {
  let workload: SweepWorkload
  private(set) var disk: SimulatedFileSystem
  private(set) var store: Store?
  var held: [Snapshot] = []
  /// Called after each step.
  var afterStep: ((Store) throws -> Void)?
  /// The index of the next step.
  private(set) var next = 0 {
    didSet { promises.step.raise(to: UInt64(next)) }
  }
  let promises: Promises

  init(_ workload: SweepWorkload, on disk: SimulatedFileSystem, promised: Promised = Promised()) {
    self.workload = workload
    self.disk = disk
    promises = Promises(promised)
    disk.watchWrites(refuseTwins)
  }

  var stepName: String { next < workload.steps.count ? workload.steps[next].name : "close" }

  /// Opens the store, continues with the first unfinished step, and closes the store.
  func run() throws {
    if store == nil { try open() }
    while next < workload.steps.count {
      try workload.steps[next].body(self)
      next += 1
      if let store { try afterStep?(store) }
    }
    try close()
  }

  /// Drops everything without closing, like a killed process, and continues on another disk.
  func move(to disk: SimulatedFileSystem) {
    held = []
    store = nil
    self.disk = disk
  }

  // MARK: Parts of steps

  func needStore() throws -> Store { try #require(store, "the store is open") }

  var needsCommit: Bool { (store?.newestCommit ?? 0) < workload.targets[next] }

  func promise(_ commit: CommitNumber) { promises.commits.raise(to: commit) }

  func open() throws {
    let opened = try workload.open(disk)
    store = opened
    // Opening makes the first commit, with the store's own durability.
    promise(1)
    // Steps whose commits all exist were done before the failure, or need not run again.
    while next < workload.steps.count, workload.steps[next].commits > 0,
      !workload.steps[next].isRepeated, workload.targets[next] <= opened.newestCommit
    {
      next += 1
    }
  }

  func close() throws {
    held = []
    guard let closing = store else { return }
    store = nil
    let newest = closing.newestCommit
    try closing.close()
    promise(newest)
  }

  func write() throws {
    let store = try needStore()
    let number = store.newestCommit + 1
    let commit = workload.script.commits[Int(number)]
    let made = try store.write(durability: commit.durability) { try commit.perform($0) }.commit
    try #require(made == number)
    if commit.durability == .full { promise(number) }
  }

  func writeGroup() throws {
    let store = try needStore()
    guard store.newestCommit < workload.targets[next] else { return }
    var tickets: [(CommitTicket, Durability)] = []
    var failure: (any Error)?
    for number in store.newestCommit + 1...workload.targets[next] {
      let commit = workload.script.commits[Int(number)]
      do {
        let sequenced = try store.sequence(durability: commit.durability, expecting: nil) {
          try commit.perform($0)
        }
        try #require(sequenced.commit == number)
        tickets.append((sequenced.ticket, commit.durability))
      } catch {
        // The earlier commits are in progress nevertheless.
        failure = error
        break
      }
    }
    for (ticket, durability) in tickets {
      try store.complete(ticket)
      if durability == .full { promise(ticket.number) }
    }
    if let failure { throw failure }
  }
}

/// The promises of a store, which hold after any failure.
struct Promised: Sendable {
  /// Commits up to this one must survive anything.
  var commits: CommitNumber = 0
  /// The backup must hold these commits; 0 if there is none yet.
  var backup: CommitNumber = 0
  /// Whether every trace of the secret row must be gone.
  var isErased = false
}

/// The promises of a running store.
final class Promises: Sendable {
  let commits: SharedNumber
  let backup: SharedNumber
  let erased: SharedNumber
  /// The index of the running step.
  let step = SharedNumber(0)

  init(_ promised: Promised) {
    commits = SharedNumber(promised.commits)
    backup = SharedNumber(promised.backup)
    erased = SharedNumber(promised.isErased ? 1 : 0)
  }

  var value: Promised {
    Promised(commits: commits.value, backup: backup.value, isErased: erased.value > 0)
  }
}
