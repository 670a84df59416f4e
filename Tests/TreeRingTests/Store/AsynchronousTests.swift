// The asynchronous forms of calls that block: the results, errors and cancellations of the blocking
// forms, and tasks that go on while many of them are under way.

import Dispatch
import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Asynchronous forms", .leavesSoundStores)
struct AsynchronousTests {
  /// A store in which each commit changes some of a few rows.
  private func makeStore(commitCount: Int) throws -> Store {
    let store = try Store.tiny()
    for number in 0..<commitCount {
      try store.put(
        Note(group: "g\(number % 3)", number: number), for: Key("\(number * 7 % 13)"))
    }
    return store
  }

  private func contents(_ snapshot: Snapshot) throws -> [StoredRow] {
    var rows: [StoredRow] = []
    try snapshot.forEachRow(in: "notes") { row in
      rows.append(row)
      return true
    }
    return rows
  }

  @Test("Concurrent look-backs do not stop the tasks of the cooperative pool")
  func lookBacks() async throws {
    let gate = Gate()
    let gated = Bucket<Note>(
      "notes",
      coder: RowCoder(
        encode: notes.coder.encode,
        decode: { bytes, version in
          gate.pass()
          return try notes.coder.decode(bytes, version)
        }))
    let store = try makeStore(commitCount: 400)
    let count = max(8, 2 * ProcessInfo.processInfo.activeProcessorCount)
    let commits = (0..<count).map { UInt64(20 + $0) }
    gate.close()
    let found = try await withThrowingTaskGroup(of: (Int, [StoredRow]).self) { group in
      for (number, commit) in commits.enumerated() {
        group.addTask {
          let note = try await store.get("1", in: gated, at: .commit(commit))
          let snapshot = try await store.snapshot(at: .commit(commit))
          #expect(try snapshot.get("1", in: notes) == note)
          return (number, try contents(snapshot))
        }
      }
      let ticker = Task {
        while gate.waitingCount < 2 { await Task.yield() }
        var ticks = 0
        for _ in 0..<1_000 {
          await Task.yield()
          ticks += 1
        }
        // No look-back has ended: those at the gate have the threads that the others wait for.
        gate.open()
        return ticks
      }
      #expect(await ticker.value == 1_000)
      var found = [[StoredRow]](repeating: [], count: count)
      for try await (number, rows) in group { found[number] = rows }
      return found
    }
    try Store.blocking {
      let fresh = try makeStore(commitCount: 400)
      for (number, commit) in commits.enumerated() {
        let rows = try contents(store.snapshot(at: .commit(commit)))
        #expect(found[number] == rows)
        let others = try contents(fresh.snapshot(at: .commit(commit)))
        #expect(rows.map(\.object) == others.map(\.object))
      }
    }
  }

  @Test("Within `blocking`, names mean the blocking forms, which may change variables around them")
  func blocking() async throws {
    let store = try Store.tiny()
    var numbers: [Int] = []
    let commit = try Store.blocking {
      for number in 0..<3 {
        try store.write { tx in
          try tx.put(Note(group: "g", number: number), for: Key("\(number)"), in: notes)
          numbers.append(number)
        }
      }
      return try store.write { tx in try tx.delete("0", in: notes) }.commit
    }
    #expect(numbers == [0, 1, 2] && commit == 4 && store.newestCommit == 4)
    let error = #expect(throws: TreeRingError.self) {
      try Store.blocking { () throws(TreeRingError) in try store.snapshot(at: .commit(5)) }
    }
    #expect(error?.code == .notFound)
  }

  @Test("Rows of the past equal those of the blocking forms", arguments: seeds(1...3))
  func rows(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let store = try makeStore(commitCount: 120)
    for _ in 0..<40 {
      let point = ReadPoint.commit(.random(in: 1...120, using: &random))
      let key = Key("\(Int.random(in: 0..<14, using: &random))")
      let note = try await store.get(key, in: notes, at: point)
      let row = try await store.row(key, in: notes, at: point)
      let (otherNote, otherRow) = try Store.blocking {
        (try store.get(key, in: notes, at: point), try store.row(key, in: notes, at: point))
      }
      #expect(note == otherNote)
      #expect(row == otherRow)
      let history = try await store.history(of: key, in: notes)
      #expect(history == (try Store.blocking { try store.history(of: key, in: notes) }))
    }
  }

  @Test("A store is opened, synced and searched as by the blocking forms")
  func openingAndSearch() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/s.ring"
    let text = try TextIndex("words", on: notes, fields: ["group"])
    let options = StoreOptions(durability: .unsynced, logger: quietLogger)
    let store = try await Store.open(at: path, options: options)
    try await store.define(text)
    for number in 0..<30 {
      try await store.write { tx in
        try tx.put(Note(group: "word g\(number % 3)", number: number), for: number, in: notes)
      }
    }
    try await store.sync()
    #expect(store.log.durable == store.newestCommit)
    let words = try store.snapshot()[text]
    let hits = try await words.find("g1", limit: 7)
    #expect(hits.count == 7)
    #expect(hits == (try Store.blocking { try words.find("g1", limit: 7) }))
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await error { try await words.find("g1") }
    }
    #expect(await cancelled.value?.code == .cancelled)
    #expect(await error { try await Store.open(at: path, options: options) }?.code == .locked)
    try await store.close()
    let again = try await Store.open(at: path, indexes: [byGroup()])
    #expect(again.newestCommit == store.newestCommit + 1)
    try await again.close()
    #expect(await error { try await again.sync() }?.code == .closed)
    #expect(await error { try await again.history(of: 1, in: notes) }?.code == .closed)
  }

  private func compare(_ one: Store, _ two: Store) throws {
    let index = try one.snapshot().index("ByGroup")
    let other = try two.snapshot().index("ByGroup")
    for group in ["g0", "g1", "g2"] {
      #expect(try index.rows(in: GroupName(group)) == other.rows(in: GroupName(group)))
    }
  }

  @Test("Definitions, reverting and upkeep do the same as the blocking forms")
  func upkeep() async throws {
    let (one, two) = (try makeStore(commitCount: 60), try makeStore(commitCount: 60))
    let fields = try FieldIndex(
      bucket: "notes", group: "group", order: [FieldIndex.Order("number", descending: true)])
    let filter = try FieldFilter(of: "ByGroup", where: ["group=g1"])
    #expect(
      try await one.define("ByGroup", fields)
        == Store.blocking { try two.define("ByGroup", fields) })
    #expect(try await one.define("One", filter) == Store.blocking { try two.define("One", filter) })
    #expect(
      try await one.define("Mine", ManualIndex(on: notes))
        == Store.blocking { try two.define("Mine", ManualIndex(on: notes)) })
    #expect(try await one.register(byGroup()) == Store.blocking { try two.register(byGroup()) })
    // In a function of its own, so that no snapshot is alive at the erasing.
    try compare(one, two)
    #expect(try await one.removeIndex("One") == Store.blocking { try two.removeIndex("One") })
    let (made, expected) = (
      try await one.revert(to: .commit(20)), try Store.blocking { try two.revert(to: .commit(20)) }
    )
    #expect(made == expected)
    try await one.checkpoint()
    #expect(try await one.sweep() == 0)
    let report = try await one.compact(to: .before(30))
    #expect(report.horizon == (try Store.blocking { try two.compact(to: .before(30)).horizon }))
    let erased = try await one.erase("5", in: notes)
    let alsoErased = try Store.blocking { try two.erase("5", in: notes) }
    #expect(erased.deleted == alsoErased.deleted)
    #expect(erased.operations == alsoErased.operations)
    #expect(try contents(one.snapshot()) == contents(two.snapshot()))
  }

  @Test("Copies equal those of the blocking forms")
  func copies() async throws {
    let folder = try TemporaryFolder()
    let store = try makeStore(commitCount: 30)
    let report = try await store.backUp(to: folder.path + "/one")
    let expected = try Store.blocking { try store.backUp(to: folder.path + "/two") }
    #expect(report.lastCommit == expected.lastCommit)
    try await Store.restore(from: folder.path + "/one", to: folder.path + "/restored")
    try await Store.salvage(from: folder.path + "/two", to: folder.path + "/salvaged")
    for name in ["restored", "salvaged"] {
      let copy = try Store(at: folder.path + "/" + name)
      #expect(
        try contents(copy.snapshot()).map(\.object) == contents(store.snapshot()).map(\.object))
      try await copy.close()
    }
  }

  @Test("Errors are those of the blocking forms")
  func errors() async throws {
    let folder = try TemporaryFolder()
    try Data().write(to: URL(filePath: folder.path + "/other"))
    let store = try makeStore(commitCount: 5)
    let filter = try FieldFilter(of: "none", where: ["group=g1"])
    #expect(await error { try await store.snapshot(at: .commit(6)) }?.code == .notFound)
    #expect(await error { try await store.row("1", in: notes, at: .tag("t")) }?.code == .notFound)
    #expect(await error { try await store.compact(to: .before(6)) }?.code == .notFound)
    #expect(await error { try await store.erase("1", in: "none") }?.code == .notFound)
    #expect(await error { try await store.backUp(to: folder.path) }?.code == .alreadyExists)
    #expect(await error { try await store.define("f", filter) }?.code == .notFound)
    #expect(await error { try await store.removeIndex("f") }?.code == .notFound)
    try await store.close()
    #expect(await error { try await store.snapshot(at: .commit(1)) }?.code == .closed)
  }

  @Test("Closings that wait for a backup leave the threads of the cooperative pool free")
  func closing() async throws {
    let folder = try TemporaryFolder()
    let store = try makeStore(commitCount: 20)
    let (begun, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let copying = Thread {
      _ = try? store.backUp(to: folder.path + "/copy") { _ in
        begun.signal()
        mayGoOn.wait()
        return false
      }
    }
    copying.start()
    await withCheckedContinuation { continuation in
      DispatchQueue(label: "test").async {
        begun.wait()
        continuation.resume()
      }
    }
    let count = max(8, 2 * ProcessInfo.processInfo.activeProcessorCount)
    let ended = Counter()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<count {
        group.addTask {
          try await store.close()
          _ = ended.next()
        }
      }
      // All tasks have run up to their call, and this one still gets a thread.
      for _ in 0..<1_000 { await Task.yield() }
      #expect(ended.count == 0)
      mayGoOn.signal()
      try await group.waitForAll()
    }
    #expect(ended.count == count)
    #expect(await error { try await store.sync() }?.code == .closed)
  }

  @Test("A task that is cancelled closes its store all the same")
  func cancelledClosing() async throws {
    let folder = try TemporaryFolder()
    let store = try await Store.open(at: folder.path + "/s.ring")
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await store.close()
    }
    try await task.value
    try await store.close()
    #expect(await error { try await store.sync() }?.code == .closed)
    let again = try await Store.open(at: folder.path + "/s.ring")
    try await again.close()
  }

  @Test("A cancelled task begins no work")
  func cancelledBefore() async throws {
    let store = try makeStore(commitCount: 20)
    let fields = try FieldIndex(bucket: "notes", group: "group", order: [])
    func cancelled<R>(_ body: @escaping @Sendable () async throws -> R) async -> TreeRingError? {
      let task = Task<TreeRingError?, Never> {
        withUnsafeCurrentTask { $0?.cancel() }
        return await error { try await body() }
      }
      return await task.value
    }
    #expect(await cancelled { try await store.snapshot(at: .commit(3)) }?.code == .cancelled)
    #expect(await cancelled { try await store.erase("1", in: notes) }?.code == .cancelled)
    #expect(await cancelled { try await store.define("f", fields) }?.code == .cancelled)
    #expect(await cancelled { try await store.compact(to: .dropHistory) }?.code == .cancelled)
    #expect(await cancelled { try await store.history(of: 1, in: notes) }?.code == .cancelled)
    #expect(await cancelled { try await store.sync() }?.code == .cancelled)
    #expect(await cancelled { try await store.revert(to: .commit(3)) }?.code == .cancelled)
    #expect(await cancelled { try await Store.open(at: "/nowhere") }?.code == .cancelled)
    #expect(store.newestCommit == 20)
    #expect(store.horizon == 0)
  }

  @Test("A cancelled task stops a copy, a compaction and the building of an index")
  func cancelledDuring() async throws {
    let folder = try TemporaryFolder()
    let store = try makeStore(commitCount: 200)
    // Building reports its progress after some thousands of rows, compaction after some bytes.
    var random = SeededGenerator(seed: 1)
    for number in 0..<40 {
      let noise = (0..<100_000).map { _ in UInt8.random(in: 0...255, using: &random) }
      try await store.write { try $0.put(noise, for: Key("noise \(number % 4)"), in: blobs) }
    }
    try await store.write { tx in
      for number in 0..<5_000 { try tx.put([UInt8](), for: Key("\(number)"), in: blobs) }
    }
    let fields = try FieldIndex(bucket: "blobs", group: "group", order: [])
    func stopped<R>(
      _ body: @escaping @Sendable (_ cancels: @escaping @Sendable () -> Bool) async throws -> R
    ) async -> TreeRingError? {
      let begun = Mutex<Task<TreeRingError?, Never>?>(nil)
      let made = DispatchSemaphore(value: 0)
      let cancels: @Sendable () -> Bool = {
        made.wait()
        begun.withLock { $0 }?.cancel()
        made.signal()
        return true
      }
      let task = Task<TreeRingError?, Never> { await error { try await body(cancels) } }
      begun.withLock { $0 = task }
      made.signal()
      return await task.value
    }
    let copy = folder.path + "/copy"
    let backup = await stopped { cancels in try await store.backUp(to: copy) { _ in cancels() } }
    #expect(backup?.code == .cancelled)
    let compaction = await stopped { cancels in
      try await store.compact(to: .before(240)) { _ in cancels() }
    }
    #expect(compaction?.code == .cancelled)
    let index = await stopped { cancels in
      try await store.define("f", fields) { _ in cancels() }
    }
    #expect(index?.code == .cancelled)
    #expect(store.indexes.isEmpty)
  }

  @Test("Every kind of declaration is registered without blocking")
  func registers() async throws {
    let store = try makeStore(commitCount: 3)
    let plain = GroupIndex("plain", on: notes, version: 1) { (_: Note) in Place(in: "all") }
    let typed = Index("typed", on: notes, version: 1, group: { (note: Note) in note.group })
    let unique = UniqueIndex("unique", on: notes, version: 1, of: { (note: Note) in note.number })
    for declaration in [plain, typed, unique] as [any IndexDeclaration] {
      // The blocking form would not ask whether its task has been cancelled.
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return await error { try await register(declaration, in: store) }
      }
      #expect(await task.value?.code == .cancelled)
      #expect(store.indexes.isEmpty)
    }
  }

  private func register(_ declaration: some IndexDeclaration, in store: Store) async throws {
    try await store.register(declaration)
  }
}

/// A gate that threads pass while it is open, and wait at while it is closed.
private final class Gate: Sendable {
  private let turnstile = DispatchSemaphore(value: 1)
  private let isClosed = Atomic<Bool>(false)
  private let arrivals = Counter()

  /// The number of threads that have arrived while the gate was closed.
  var waitingCount: Int { arrivals.count }

  func close() {
    turnstile.wait()
    isClosed.store(true, ordering: .releasing)
  }

  func open() {
    isClosed.store(false, ordering: .releasing)
    turnstile.signal()
  }

  func pass() {
    if isClosed.load(ordering: .acquiring) { _ = arrivals.next() }
    turnstile.wait()
    turnstile.signal()
  }
}
