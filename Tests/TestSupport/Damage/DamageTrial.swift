// A trial of one damaged store: opened, read, written, verified, backed up and salvaged. Every call
// must answer or throw a typed error. Unless a checksum was forged, every answer must be one that
// the sound store gave.

internal import Foundation
internal import TreeRing
internal import TreeRingLog

/// A damaged copy of a sound store, and the trial of it.
package struct DamageTrial: Sendable {
  package let sample: DamageSample
  package let damage: StoreDamage
  /// The problems that a caller would notice; empty if there are none.
  package private(set) var problems: [String] = []
  private var random: SeededGenerator

  package init(_ samples: [DamageSample], seed: UInt64, number: UInt64) {
    var random = SeededGenerator(seed: seed &* 0x9E37_79B9 &+ number)
    sample = samples[Int.random(in: 0..<samples.count, using: &random)]
    var damage = StoreDamage(sample.files, seed: random.next())
    if !sample.drafts.isEmpty, Int.random(in: 0..<6, using: &random) == 0 {
      damage.forge(sample.drafts)
    } else {
      damage.run()
    }
    self.damage = damage
    self.random = random
  }

  package var label: String {
    "\(sample.name), \(damage.isForged ? "forged" : "damaged"): "
      + damage.steps.joined(separator: "; ")
  }

  private var isForged: Bool { damage.isForged }
  private var record: StoreRecord { sample.record }

  /// Whether the log is undamaged.
  private var hasSoundLog: Bool {
    let isLog = { (name: String) in name.hasPrefix("log/") || name == "SWITCH" }
    return sample.files.filter { isLog($0.key) } == damage.files.filter { isLog($0.key) }
  }

  /// Whether the log has all its files and no others.
  private var hasSoundNames: Bool { sample.files.keys.sorted() == damage.files.keys.sorted() }

  /// Runs the trial on copies of the store in memory.
  package mutating func runInMemory() {
    attempt("verifying") { trial in try trial.verify(trial.disk(), "store") }
    attempt("reading") { trial in try trial.read(trial.disk(), "store") }
    attempt("writing") { trial in try trial.write(trial.disk(), "store") }
    attempt("salvage") { trial in try trial.salvage(trial.disk(), "store", "saved") }
  }

  /// Runs the trial in a temporary folder on the disk.
  package mutating func runOnDisk(below path: String) throws {
    let folder = path + "/store"
    try FileManager.default.createDirectory(
      atPath: folder + "/log", withIntermediateDirectories: true)
    for (name, bytes) in damage.files {
      try Data(bytes).write(to: URL(filePath: "\(folder)/\(name)"))
    }
    run(in: folder)
  }

  /// Runs the trial in a folder that holds the store's files.
  package mutating func run(in folder: String) {
    let disk = PosixFileSystem()
    attempt("verifying") { trial in try trial.verify(disk, folder) }
    attempt("salvage") { trial in try trial.salvage(disk, folder, folder + ".saved") }
    attempt("reading") { trial in try trial.read(disk, folder) }
    attempt("writing") { trial in try trial.write(disk, folder) }
  }

  private func disk() throws -> MemoryFileSystem {
    let disk = MemoryFileSystem()
    try disk.setFiles(damage.files, in: "store")
    return disk
  }

  /// Errors that a call on a damaged store may throw.
  private static let allowed: Set<TreeRingError.Code> = [
    .corruption, .unsupportedFormat, .logBehindPages, .notFound, .beyondHorizon,
    .indexDefinedInCode,
    .storeRewound, .io, .tooLarge,
  ]

  private mutating func attempt(_ what: String, _ body: (inout DamageTrial) throws -> Void) {
    do {
      try body(&self)
    } catch let error as TreeRingError {
      if !Self.allowed.contains(error.code) || error.code == .io && !isForged {
        problems.append("\(what): \(error.code) \(error)")
      }
    } catch {
      // Forged content may contradict itself.
      if !isForged { problems.append("\(what): \(error)") }
    }
  }

  // MARK: Reading

  private func verify(_ files: any FileSystem, _ folder: String) throws {
    _ = verifyLog(directory: folder + "/log", fileSystem: files)
    _ = try verifyPageFile(folder + "/pages", fileSystem: files)
    for name in try files.list(folder + "/log") {
      var end: UInt64 = 0
      try dumpSegment(file: "\(folder)/log/\(name)", fileSystem: files) { end += $0.length }
    }
  }

  private mutating func read(_ files: any FileSystem, _ folder: String) throws {
    var options = DamageSample.options(.readOnly)
    options.readsPages = Int.random(in: 0..<4, using: &random) > 0
    let store = try Store(path: folder, fileSystem: files, options: options)
    defer { try? store.close() }
    try check(store)
    attempt("invariants") { trial in
      let problems = try store.checkInvariants()
      if !problems.isEmpty, !trial.isForged { throw DamageFlaw("\(problems)") }
    }
    attempt("statistics") { _ in _ = try store.statistics() }
    attempt("backup") { _ in
      if let memory = files as? MemoryFileSystem {
        try store.backUp(to: "backup", on: memory, mayLink: true)
      }
    }
  }

  /// Compares a store's answers with those of the sound store.
  private mutating func check(_ store: Store) throws {
    let newest = store.newestCommit
    if !isForged {
      if newest > record.newest { throw DamageFlaw("it has \(newest) commits") }
      if hasSoundLog, newest < record.newest { throw DamageFlaw("it ends at \(newest)") }
    }
    var numbers = Set([0, newest, store.horizon, 1])
    for _ in 0..<3 { numbers.insert(CommitNumber.random(in: 0...newest, using: &random)) }
    for number in numbers.sorted().reversed() where number <= newest {
      attempt("state \(number)") { try $0.checkState(try store.snapshot(at: .commit(number))) }
      if number > 0 { attempt("commit \(number)") { try $0.checkCommit(number, of: store) } }
    }
    let rows = record.lastHistories.keys.sorted()
    for _ in 0..<3 {
      let row = rows[Int.random(in: 0..<rows.count, using: &random)]
      attempt("history of \(row)") { try $0.checkHistory(row, of: store) }
    }
  }

  private func checkState(_ snapshot: Snapshot) throws {
    let state = try StoreState(snapshot)
    guard !isForged else { return }
    guard let expected = record.states[snapshot.commit] else {
      throw DamageFlaw("commit \(snapshot.commit) cannot be read in the sound store")
    }
    let differences = expected.compactMap { state.difference(from: $0) }
    if differences.count == expected.count { throw DamageFlaw(differences.first ?? "no state") }
  }

  private func checkCommit(_ number: CommitNumber, of store: Store) throws {
    let info = try store.commit(number)
    let operations = try store.operations(of: number).operations
    guard !isForged else { return }
    guard record.commits[number]?.contains(info) == true else {
      throw DamageFlaw("\(info) instead of \(record.commits[number] ?? [])")
    }
    guard record.operations[number]?.contains(operations) == true else {
      throw DamageFlaw("other operations: \(operations)")
    }
  }

  private func checkHistory(_ row: RowID, of store: Store) throws {
    let (newest, horizon) = (store.newestCommit, max(store.horizon, record.horizon))
    let versions = try store.history(of: row.key, in: row.bucket)
    guard !isForged else { return }
    // The sound store has no answers for commits before its horizon.
    if let other = versions.first(where: {
      $0.commit >= record.horizon && record.histories[row]?.contains($0) != true
    }) {
      throw DamageFlaw("the version of commit \(other.commit) differs")
    }
    for version in record.lastHistories[row] ?? []
    where version.commit <= newest && version.commit > horizon && !versions.contains(version) {
      throw DamageFlaw("the version of commit \(version.commit) is missing")
    }
  }

  // MARK: Writing

  private mutating func write(_ files: any FileSystem, _ folder: String) throws {
    var options = DamageSample.options(.readWrite, segmentSize: 1_200, hasCode: false)
    options.recovery =
      [.tail, .tail, .tail, .exact, .prefix][
        Int.random(in: 0..<5, using: &random)]
    let store = try Store(path: folder, fileSystem: files, options: options)
    var isOpen = true
    defer { if isOpen { try? store.close() } }
    let found = store.newestCommit
    try check(store)
    let row = Array("written after".utf8)
    let commit = try store.write { try $0.put(row, for: "after", in: DamageSample.notes) }.commit
    if commit != found + 1 { throw DamageFlaw("commit \(commit) after \(found)") }
    let recovery = options.recovery
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      attempt("compacting") { _ in _ = try store.compact(to: .before(commit)) }
    case 1:
      attempt("erasing") { trial in
        do {
          _ = try store.erase("k3", in: "notes")
        } catch let error as TreeRingError where error.code == .notAllowed {
          // Mode `prefix` has set files aside.
          guard recovery == .prefix || !trial.hasSoundNames else { throw error }
        }
      }
    case 2: attempt("a checkpoint") { _ in try store.checkpoint() }
    default: break
    }
    let last = store.newestCommit
    isOpen = false
    try store.close()
    let again: Store
    do {
      options.recovery = .tail
      again = try Store(path: folder, fileSystem: files, options: options)
    } catch let error as TreeRingError where Self.allowed.contains(error.code) { return }
    defer { try? again.close() }
    guard again.newestCommit == last else {
      throw DamageFlaw("commit \(last) was acknowledged; it ends at \(again.newestCommit)")
    }
    let found2 = try again.snapshot().row("after", in: "notes")
    if found2?.object != row, !isForged {
      throw DamageFlaw("the row of commit \(commit) differs")
    }
  }

  // MARK: Salvage

  private mutating func salvage(
    _ files: any FileSystem, _ folder: String, _ target: String
  ) throws {
    let options = DamageSample.options(segmentSize: 1_200, hasCode: false)
    let report = try Store.salvage(from: folder, to: target, on: files, options: options)
    let saved = try Store(path: target, fileSystem: files, options: options)
    defer { try? saved.close() }
    guard saved.newestCommit == report.lastCommit, saved.horizon == report.horizon else {
      throw DamageFlaw(
        "the report states \(report.lastCommit), the new store ends at \(saved.newestCommit)")
    }
    let problems = try saved.checkInvariants()
    if !problems.isEmpty { throw DamageFlaw("the new store: \(problems)") }
    try checkLog(target, files)
    guard !isForged else { return }
    if report.isComplete, hasLoss(saved) {
      throw DamageFlaw(
        "the report states no loss of \(record.newest) commits, but ends at \(report.lastCommit)")
    }
    let exact = (report.lostCommits.map(\.lowerBound).min() ?? .max) - 1
    let odd = Set(report.findings.map(\.commit))
    for number in saved.horizon...max(saved.horizon, saved.newestCommit) where number > 0 {
      if number <= exact, odd.allSatisfy({ $0 > number }) {
        attempt("saved state \(number)") {
          try $0.checkState(try saved.snapshot(at: .commit(number)))
        }
      }
      let isLost = report.lostCommits.contains { $0.contains(number) }
      guard number > saved.horizon, !isLost, !odd.contains(number) else { continue }
      attempt("saved commit \(number)") { trial in
        let operations = try saved.operations(of: number).operations
        guard trial.record.operations[number]?.contains(operations) != true else { return }
        // A number that no file holds is a commit without operations.
        if operations.isEmpty, !report.isComplete { return }
        throw DamageFlaw("other operations: \(operations)")
      }
    }
  }

  private func checkLog(_ folder: String, _ files: any FileSystem) throws {
    let findings = verifyLog(directory: folder + "/log", fileSystem: files)
    if !findings.isEmpty { throw DamageFlaw("the new log: \(findings)") }
  }

  /// Whether a store lacks content of the sound store.
  private func hasLoss(_ saved: Store) -> Bool {
    guard saved.newestCommit >= record.newest else { return true }
    guard let snapshot = try? saved.snapshot(at: .commit(record.newest)),
      let state = try? StoreState(snapshot)
    else { return true }
    return record.states[record.newest]?.contains { state.difference(from: $0) == nil } != true
  }
}
