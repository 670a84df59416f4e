// Writers, readers, observers and upkeep at once; each records its actions and observations.
// Afterwards the test checks the records against each other. There is one order of commits, that of
// their numbers, and every thread saw states of that order.
//
// Every write puts unique values, so the values that a reader saw identify the commits that it saw.
// - A snapshot at commit n shows, for each account, the newest write at or below n: no part of a
//   later commit, nothing of an unfinished one, none missing (snapshot isolation).
// - Every snapshot contains all the money.
// - A write based on a snapshot and guarded by preconditions followed directly on the writes it had
//   read: no update is lost.
// - A snapshot of now shows at least every commit that had returned before the snapshot was taken.
// - The feed returns every commit once, in order.

import Dispatch
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

/// An observation that no order of the commits explains.
private struct WrongHistory: Error, CustomStringConvertible {
  var description: String
  init(_ description: String) { self.description = description }
}

@Suite("Concurrency: histories", .leavesSoundStores)
struct IsolationConcurrencyTests {
  struct Account: Codable, Hashable {
    var balance: Int
    /// The unique mark of the write that put it.
    var mark: UInt64
  }

  /// A commit in its writer's view.
  struct Transfer: Sendable {
    var commit: CommitNumber
    /// By account: the commit that the writer took for its last.
    var read: [Int: CommitNumber] = [:]
    /// By account: its new contents.
    var wrote: [Int: Account] = [:]
  }

  /// A snapshot in its reader's view.
  struct Observation: Sendable {
    var commit: CommitNumber
    /// The newest commit known to have returned before a snapshot of now was taken; 0 for the past.
    var known: CommitNumber
    var accounts: [Int: Account]
  }

  /// A snapshot that is handed over once.
  final class First: Sendable {
    private let snapshot: Mutex<Snapshot?>
    init(_ snapshot: Snapshot) { self.snapshot = Mutex(snapshot) }
    func take() -> Snapshot? { snapshot.withLock { $0.take() } }
  }

  /// The records of all threads.
  final class Notes: Sendable {
    let transfers = Mutex<[Transfer]>([])
    let observations = Mutex<[Observation]>([])
    let fed = Mutex<[CommitNumber]>([])
    let failures = Mutex<[String]>([])
    let returned = SharedNumber(0)
    let writersLeft: Atomic<Int>
    let conflicts = Counter()
    init(writers: Int) { writersLeft = Atomic(writers) }

    var isRunning: Bool { writersLeft.load(ordering: .acquiring) > 0 }

    func guarding(_ who: String, _ body: () throws -> Void) {
      do { try body() } catch { failures.withLock { $0.append("\(who): \(error)") } }
    }
  }

  static let accountCount = 8
  static let accounts = Bucket<Account>("accounts")
  static let byMark = GroupIndex("byMark", on: accounts, version: 1) { account in
    Place(in: "g\(account.mark % 3)", by: .ascending(account.balance))
  }
  static func key(_ account: Int) -> Key { Key("account \(account)") }

  /// Work beside the writers and readers, repeated until the end.
  static let upkeep: [(name: String, body: @Sendable (Store) throws -> Void)] = [
    ("sync", { try $0.sync() }),
    ("checkpoint", { try $0.checkpoint() }),
    ("statistics", { _ = try $0.statistics() }),
    ("compaction", { try $0.compact(to: .keeping(.last(commits: 20))) }),
    ("eviction", { store in store.reclaimer.drain { store.queue.evictRecentVersions() } }),
    (
      "recent states",
      { store in
        for version in store.queue.readable { try checkMoney(of: version) }
      }
    ),
  ]

  /// Reads a version that only its lease keeps. Its pages must not have become those of others.
  private static func checkMoney(of version: Version) throws {
    var sum = 0
    try version.pages.reading {
      try Tree(version.roots.rows, pages: version.pages).forEach { _, value in
        guard case .inline(let object) = try RowRecord(value).object else {
          throw WrongHistory("a row of commit \(version.roots.commit) is not in its page")
        }
        sum += try accounts.coder.decode(object, 0).balance
        return true
      }
    }
    if sum != (version.roots.rows.count == 0 ? 0 : 100 * accountCount) {
      throw WrongHistory("commit \(version.roots.commit) has \(sum) of the money")
    }
  }

  @Test(
    "All reads fit one order of the commits", arguments: seeds(1...3), [true, false])
  func histories(seed: UInt64, onDisk: Bool) throws {
    let folder = try TemporaryFolder()
    let (writers, transfers) = (4, 60)
    let notes = Notes(writers: writers)
    var options = StoreOptions(
      segmentSize: 16 << 10, indexes: [Self.byMark], logger: quietLogger)
    options.pageCellCapacity = 4
    let store =
      onDisk
      ? try Store(at: folder.path + "/s", options: options) : try Store.inMemory(options: options)
    try Self.fill(store, notes)
    // Taken before any compaction, so that the observer can follow from the beginning.
    let first = First(try store.snapshot(at: .commit(2)))
    let roles = writers + 3 + Self.upkeep.count
    onThreads(roles) { role in
      var random = SeededGenerator(seed: seed &* 100 &+ UInt64(role))
      switch role {
      case 0..<writers:
        notes.guarding("writer \(role)") {
          for step in 0..<transfers {
            let mark = UInt64(role + 1) << 32 | UInt64(step)
            try Self.transfer(store, mark: mark, notes, &random)
          }
        }
        notes.writersLeft.subtract(1, ordering: .releasing)
      case writers, writers + 1:
        notes.guarding("reader") { try Self.read(store, notes, &random) }
      case writers + 2:
        notes.guarding("observer") {
          try Self.observe(store, from: first, notes)
        }
      default:
        let task = Self.upkeep[role - writers - 3]
        notes.guarding(task.name) {
          while notes.isRunning { try task.body(store) }
        }
      }
    }
    #expect(notes.failures.withLock { $0 } == [], "seed \(seed)")
    // If snapshots were held to the end, nothing has been compacted so far.
    try store.compact(to: .keeping(.last(commits: 60)))
    try Self.check(notes, store, seed)
    #expect(try store.checkInvariants() == [], "seed \(seed)")
    let leaked = try store.leakedPageCount(beside: [])
    #expect(leaked == 0, "seed \(seed)")
    try store.close()
    if onDisk {
      let again = try Store(at: folder.path + "/s", options: options)
      try Self.check(notes, again, seed)
      #expect(try again.checkInvariants() == [], "seed \(seed)")
    }
  }

  private static func fill(_ store: Store, _ notes: Notes) throws {
    var first = Transfer(commit: 0)
    first.commit = try store.write { tx in
      for account in 0..<accountCount {
        let row = Account(balance: 100, mark: UInt64(account))
        first.wrote[account] = row
        try tx.put(row, for: key(account), in: accounts)
      }
    }.commit
    notes.transfers.withLock { $0.append(first) }
    notes.returned.raise(to: first.commit)
  }

  // MARK: - Writing

  /// Moves money. Half of the transfers are based on a snapshot and guarded by preconditions; the
  /// others read inside the write.
  private static func transfer(
    _ store: Store, mark: UInt64, _ notes: Notes, _ random: inout SeededGenerator
  ) throws {
    let from = Int.random(in: 0..<accountCount, using: &random)
    let to = (from + Int.random(in: 1..<accountCount, using: &random)) % accountCount
    let amount = Int.random(in: 1...20, using: &random)
    let durability: Durability = Int.random(in: 0..<4, using: &random) == 0 ? .full : .unsynced
    let isGuarded = Bool.random(using: &random)
    while true {
      var made = Transfer(commit: 0)
      func decide(_ state: some Readable) throws {
        for (account, change) in [(from, -amount), (to, amount)] {
          let row = try #require(try state.get(key(account), in: accounts))
          made.read[account] = try state.written(key(account), in: accounts.name)
          made.wrote[account] = Account(
            balance: row.balance + change, mark: mark << 8 | UInt64(account))
        }
      }
      if isGuarded { try decide(store.snapshot()) }
      do {
        made.commit = try store.write(durability: durability) { tx in
          if isGuarded {
            for (account, commit) in made.read {
              try tx.require(key(account), in: accounts.name, lastWrittenAt: commit)
            }
          } else {
            try decide(tx)
          }
          for (account, row) in made.wrote { try tx.put(row, for: key(account), in: accounts) }
        }.commit
      } catch let error as TreeRingError where error.code == .conflict {
        _ = notes.conflicts.next()
        continue
      }
      notes.returned.raise(to: made.commit)
      notes.transfers.withLock { $0.append(made) }
      return
    }
  }

  // MARK: - Reading

  private static func state(of snapshot: Snapshot) throws -> [Int: Account] {
    var found: [Int: Account] = [:]
    for account in 0..<accountCount {
      found[account] = try snapshot.get(key(account), in: accounts)
    }
    return found
  }

  private static func read(
    _ store: Store, _ notes: Notes, _ random: inout SeededGenerator
  ) throws {
    var held: [(snapshot: Snapshot, seen: [Int: Account])] = []
    var rounds = 0
    while rounds < 10 || notes.isRunning {
      rounds += 1
      let known = notes.returned.value
      let now = try store.snapshot()
      var looks = [(now, known)]
      let wanted = CommitNumber.random(in: 2...now.commit, using: &random)
      do {
        looks.append((try store.snapshot(at: .commit(wanted)), 0))
      } catch {
        guard error.code == .beyondHorizon, wanted < store.horizon else { throw error }
      }
      for (snapshot, known) in looks {
        let seen = try state(of: snapshot)
        notes.observations.withLock {
          $0.append(Observation(commit: snapshot.commit, known: known, accounts: seen))
        }
        let index = try snapshot.index("byMark")
        guard index.count == accountCount else { throw WrongHistory("rows are not in the index") }
        held.append((snapshot, seen))
      }
      if held.count > 8 {
        // All of them, so that the horizon can pass the oldest.
        for (snapshot, seen) in held {
          guard try state(of: snapshot) == seen else {
            throw WrongHistory("the snapshot at \(snapshot.commit) has changed")
          }
        }
        held = []
      }
    }
  }

  /// Follows the commits, and the changes between the snapshots it gets.
  private static func observe(_ store: Store, from first: First, _ notes: Notes) throws {
    var last = try #require(first.take())
    var rounds = 0
    while rounds < 3 || notes.isRunning {
      rounds += 1
      let new = try store.snapshot()
      let affected = try store.affectedRows(ofIndex: "byMark", from: last, to: new)
      let (old, seen) = (try state(of: last), try state(of: new))
      let changed = Set((0..<accountCount).filter { old[$0] != seen[$0] }.map { key($0).bytes })
      let told = Set(affected.rows.keys.map(\.key))
      guard changed.isSubset(of: told) else {
        throw WrongHistory("changes from \(last.commit) to \(new.commit) are incomplete")
      }
      if new.commit > last.commit {
        for commit in last.commit + 1...new.commit {
          let number = try store.commit(commit).number
          notes.fed.withLock { $0.append(number) }
        }
      }
      last = new
    }
  }

  // MARK: - Checking

  private static func check(_ notes: Notes, _ store: Store, _ seed: UInt64) throws {
    let transfers = notes.transfers.withLock { $0 }.sorted { $0.commit < $1.commit }
    // The first commit registered the index.
    #expect(
      transfers.map(\.commit) == Array(2...UInt64(transfers.count + 1)),
      "seed \(seed): commits are not dense, or two writers were given the same")
    #expect(store.newestCommit == transfers.last?.commit)
    var states: [CommitNumber: [Int: Account]] = [:]
    var rows: [Int: Account] = [:]
    var lastWrite: [Int: CommitNumber] = [:]
    for transfer in transfers {
      for (account, commit) in transfer.read {
        #expect(
          lastWrite[account] == commit,
          "seed \(seed): commit \(transfer.commit) has lost an update of account \(account)")
      }
      for (account, row) in transfer.wrote {
        rows[account] = row
        lastWrite[account] = transfer.commit
      }
      states[transfer.commit] = rows
      #expect(rows.values.reduce(0) { $0 + $1.balance } == accountCount * 100)
    }
    for observation in notes.observations.withLock({ $0 }) {
      #expect(
        observation.accounts == states[observation.commit],
        "seed \(seed): the snapshot at \(observation.commit) was not that state")
      #expect(
        observation.commit >= observation.known,
        "seed \(seed): commit \(observation.known) had returned but was not seen")
    }
    let fed = notes.fed.withLock { $0 }
    #expect(fed == Array(3..<UInt64(3 + fed.count)), "seed \(seed): the feed skips or repeats")
    #expect(store.horizon > 2, "seed \(seed): nothing was compacted")
    for commit in stride(from: store.horizon, through: store.newestCommit, by: 7) {
      #expect(try state(of: store.snapshot(at: .commit(commit))) == states[commit])
    }
  }
}
