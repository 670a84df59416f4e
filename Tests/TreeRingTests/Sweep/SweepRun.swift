// A store in use on a disk that fails: goes through the steps of a workload, notes what was promised,
// and can go on on another disk after a failure.

import Synchronization
import TestSupport
import Testing
import TreeRing
import TreeRingLog

/// One step of a workload. A step may be done again if it failed or was cut off.
struct SweepStep: Sendable {
  var name: String
  /// How many commits of the script the step makes.
  var commits = 0
  /// Whether it must be done again though its commits are there, because there is more to it.
  var isRepeated = false
  var body: @Sendable (SweepRun) throws -> Void

  init(_ name: String, commits: Int = 0, _ body: @escaping @Sendable (SweepRun) throws -> Void) {
    self.name = name
    self.commits = commits
    self.body = body
  }

  /// Commits one after the other, each with the script's durability.
  static func write(_ count: Int) -> SweepStep {
    SweepStep("write \(count)", commits: count) { run in
      while run.needsCommit { try run.write() }
    }
  }

  /// A commit that makes more pages than a small memory budget has room for, and one that undoes it.
  static let flood = SweepStep("flood", commits: 2) { run in
    while run.needsCommit { try run.write() }
  }

  /// Commits that are all on their way before the first is complete.
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

  /// The page file goes while nobody looks.
  static let losePages = SweepStep("lose the page file") { run in
    try run.close()
    run.disk.replace("store/pages", with: nil)
    try run.open()
  }

  /// Looks back, which makes states beside the present one.
  static let lookBack = SweepStep("look back") { run in
    let store = try run.needStore()
    run.held.append(try store.snapshot())
    let past = try store.snapshot(at: .commit(max(store.newestCommit, 2) - 2))
    _ = try past.count(in: "notes")
    run.held.append(past)
    if run.held.count > 4 { run.held.removeFirst() }
  }
}

/// A workload: its steps, its script, and how a store is opened for it.
struct SweepWorkload: Sendable {
  var script: SweepScript
  var steps: [SweepStep]
  var segmentSize: UInt64
  var memoryBudget: Int
  /// The commit that each step ends with.
  private(set) var targets: [CommitNumber] = []

  /// - Parameter steps: opening is not among them; it makes the first commit, which registers an index.
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
    try Store(path: "store", fileSystem: disk, options: options(mode))
  }
}

final class SweepRun {
  let workload: SweepWorkload
  private(set) var disk: SimulatedFileSystem
  private(set) var store: Store?
  var held: [Snapshot] = []
  /// Called after each step.
  var afterStep: ((Store) throws -> Void)?
  /// The step to be done next.
  private(set) var next = 0
  let promises: Promises

  init(_ workload: SweepWorkload, on disk: SimulatedFileSystem, promised: Promised = Promised()) {
    self.workload = workload
    self.disk = disk
    promises = Promises(promised)
    disk.watchWrites(refuseTwins)
  }

  var stepName: String { next < workload.steps.count ? workload.steps[next].name : "close" }

  /// Opens the store, goes on with the first step that is not done, and closes the store.
  func run() throws {
    if store == nil { try open() }
    while next < workload.steps.count {
      try workload.steps[next].body(self)
      next += 1
      if let store { try afterStep?(store) }
    }
    try close()
  }

  /// Lets go of everything without closing, as a process does that dies, and goes on elsewhere.
  func move(to disk: SimulatedFileSystem) {
    held = []
    store = nil
    self.disk = disk
  }

  // MARK: What steps are made of

  func needStore() throws -> Store { try #require(store, "the store is open") }

  var needsCommit: Bool { (store?.newestCommit ?? 0) < workload.targets[next] }

  func promise(_ commit: CommitNumber) { promises.commits.raise(to: commit) }

  func open() throws {
    let opened = try workload.open(disk)
    store = opened
    // Opening makes the first commit, with the store's own durability.
    promise(1)
    // Steps whose commits are all there were done before the failure, or need not be done again.
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
    var tickets: [(CommitTicket?, Durability)] = []
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
        // Those before it are on their way all the same.
        failure = error
        break
      }
    }
    for (ticket, durability) in tickets {
      let ticket = try #require(ticket)
      try store.complete(ticket)
      if durability == .full { promise(ticket.number) }
    }
    if let failure { throw failure }
  }
}

/// What must be found, whatever happens.
struct Promised: Sendable {
  /// Commits up to this one must survive anything.
  var commits: CommitNumber = 0
  /// The backup must hold these commits; 0 if there is none yet.
  var backup: CommitNumber = 0
  /// Whether nothing of the secret row may be found any more.
  var isErased = false
}

/// The same while it grows.
final class Promises: Sendable {
  let commits: SharedNumber
  let backup: SharedNumber
  let erased: SharedNumber

  init(_ promised: Promised) {
    commits = SharedNumber(promised.commits)
    backup = SharedNumber(promised.backup)
    erased = SharedNumber(promised.isErased ? 1 : 0)
  }

  var value: Promised {
    Promised(commits: commits.value, backup: backup.value, isErased: erased.value > 0)
  }
}

/// A number that only grows, and that who watches the disk may ask for at any moment.
final class SharedNumber: Sendable {
  private let number: Atomic<UInt64>
  init(_ number: UInt64) { self.number = Atomic(number) }
  var value: UInt64 { number.load(ordering: .acquiring) }
  func raise(to other: UInt64) { number.max(other, ordering: .acquiringAndReleasing) }
}
