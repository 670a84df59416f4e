// Replaying many commits at once must give exactly the state of replaying them one by one.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Replaying many commits at once", .leavesSoundStores) struct FoldedReplayTests {
  @Test(
    "Folded replay gives the trees of a replay commit by commit, from any state",
    arguments: seeds(1...6))
  func sameTrees(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var history = RandomHistory(seed: seed)
    let store = try MemoryFiles().open()
    for _ in RandomHistory.codeIndexes { history.noteEmptyCommit() }
    for number in 1...80 {
      try history.commit(to: store)
      if number == 20 {
        try store.define("byGroup", RandomHistory.fieldIndex)
        history.noteEmptyCommit()
      }
      if number % 25 == 0 {
        try store.write { try $0.tag("t\(number % 2)", commit: store.newestCommit) }
        history.noteEmptyCommit()
      }
    }
    for (limit, medium) in Self.sorters {
      for _ in 1...3 {
        let bounds = [0, 0].map { _ in
          CommitNumber.random(in: 0...store.newestCommit, using: &random)
        }
        let (from, through) = (min(bounds[0], bounds[1]), max(bounds[0], bounds[1]))
        let base = try store.snapshot(at: .commit(from)).version
        let alone = try replay(store, on: base, through: through) { editor in
          (add: { (header, payload) in try editor.replay(header, payload) }, finish: {})
        }
        let folded = try replay(store, on: base, through: through) { editor in
          try Self.folded(editor, limit, medium)
        }
        compare(
          folded, alone, "seed \(seed), \(from)...\(through), \(limit) bytes, \(medium)")
        alone.editor.discard()
        folded.editor.discard()
      }
    }
    try store.close()
  }

  @Test(
    "A row put and deleted leaves a tombstone; deleting an absent row leaves none")
  func tombstones() throws {
    let store = try Store.inMemory()
    try store.write { try $0.put([1], for: "a", in: blobs) }
    try store.write { try $0.delete("a", in: "blobs") }
    for round in 1...3 {
      try store.write { try $0.put([UInt8(round)], for: "b", in: blobs) }
      try store.write { try $0.delete("b", in: "blobs") }
    }
    let base = try store.snapshot(at: .commit(2)).version
    let editor = try replay(store, on: base, through: 8) { try Self.folded($0) }
    defer { editor.editor.discard() }
    let number = try #require(editor.catalog.buckets["blobs"])
    func lastWritten(_ key: Key) throws -> CommitNumber {
      try key.bytes.withUnsafeBytes { try editor.lastWritten(bucket: number, key: $0) }
    }
    #expect(try lastWritten("a") == 2)
    #expect(try lastWritten("b") == 8)
    #expect(try lastWritten("c") == 0)
    #expect(editor.roots.rows.count == 0)
    #expect(editor.roots.tombstones.count == 2)
    #expect(editor.roots.operationCount == 8)
  }

  @Test("A bucket's number under another name is damage, even if Unicode takes the names for equal")
  func otherName() throws {
    func payload(_ name: String, _ commit: CommitNumber) -> [UInt8] {
      var writer = PayloadWriter(commit: commit)
      let key: [UInt8] = [1]
      key.withUnsafeBytes { key in
        let row = RowAddress(
          bucket: BucketReference(number: 1, name: name), key: key, previous: 0)
        writer.append(.row(row, .delete))
      }
      return writer.payload(notes: CommitNotes())
    }
    for (second, isDamage) in [("caf\u{E9}", false), ("cafe\u{301}", true), ("other", true)] {
      let store = try Store.inMemory()
      try store.write { tx in try tx.put([1], for: "a", in: Bucket.bytes("caf\u{E9}")) }
      let base = try store.snapshot(at: .commit(0)).version
      var error: TreeRingError?
      let editor = try replay(store, on: base, through: 1) { editor in
        let way = try Self.folded(editor)
        return (
          add: { header, bytes in
            try way.add(header, bytes)
            var later = header
            (later.number, later.operationCount) = (2, 1)
            error = Self.error { try payload(second, 2).withUnsafeBytes { try way.add(later, $0) } }
          }, finish: way.finish
        )
      }
      editor.editor.discard()
      #expect(error?.code == (isDamage ? .corruption : nil), "\(second)")
    }
  }

  @Test("Each row is written once: a thousand puts of ten rows copy the pages of ten")
  func writtenOnce() throws {
    let store = try Store.inMemory()
    for number in 0..<1000 {
      try store.write { try $0.put([UInt8(number % 256)], for: Key("\(number % 10)"), in: blobs) }
    }
    let base = try store.snapshot(at: .commit(0)).version
    let editor = try replay(store, on: base, through: 1000) { editor in
      let way = try Self.folded(editor)
      return (
        add: { header, payload in
          try way.add(header, payload)
          #expect(editor.roots.rows.count == 0)
        }, finish: way.finish
      )
    }
    defer { editor.editor.discard() }
    #expect(editor.roots.rows.count == 10)
    #expect(editor.roots.commit == 1000)
  }

  // MARK: - Parts

  private static func error(_ body: () throws -> Void) -> TreeRingError? {
    do { try body() } catch let error as TreeRingError { return error } catch {}
    return nil
  }

  /// The place of pending changes beyond the limit.
  private enum Medium { case none, file, fileAndThreads, fullDevice }

  /// Limits in bytes: of nearly every commit, of some commits, of all.
  private static let sorters: [(Int, Medium)] = [
    (1, .none), (1, .file), (1, .fileAndThreads), (1, .fullDevice), (2_000, .none), (2_000, .file),
    (2_000, .fileAndThreads),
    (FoldedReplay.byteLimit, .file),
  ]

  private static func folded(
    _ editor: StateEditor, _ limit: Int = FoldedReplay.byteLimit, _ medium: Medium = .none
  ) throws -> Way {
    let makeFile: ChangeSorter.MakeFile? =
      switch medium {
      case .none: nil
      case .file, .fileAndThreads: { () throws(TreeRingError) in try namelessFile() }
      case .fullDevice: { () throws(TreeRingError) in throw TreeRingError(.noSpace, "full") }
      }
    let hasThreads = medium == .fileAndThreads
    let sorter = ChangeSorter(
      byteLimit: limit, makeFile: makeFile, threadByteLimit: hasThreads ? 0 : .max)
    let replay = FoldedReplay(editor, sorter, aheadByteCount: hasThreads ? 0 : .max)
    return (add: { try replay.add($0, $1) }, finish: { try replay.finish() })
  }

  private typealias Way = (
    add: (CommitHeader, UnsafeRawBufferPointer) throws -> Void, finish: () throws -> Void
  )

  /// An editor with the state of a commit, replayed in some way from a version and its indexes.
  private func replay(
    _ store: Store, on base: Version, through commit: CommitNumber,
    _ way: (StateEditor) throws -> Way
  ) throws -> StateEditor {
    let code = RandomHistory.codeIndexes.map(\.code)
    let active = try ActiveIndexes(base.roots.indexes, of: [base.catalog], code: code)
    let editor = StateEditor(
      pages: store.pages, epoch: commit + 1, base: base.roots, catalog: base.catalog,
      active: active, code: code, values: ValueSource(log: store.log), recorder: nil,
      isPrivate: true)
    try store.pages.reading {
      try editor.buildMissingIndexes()
      let way = try way(editor)
      try store.log.replayRethrowing(from: base.roots.commit + 1, through: commit) {
        header, payload in
        try way.add(header, payload)
        return true
      }
      try way.finish()
      try editor.buildMissingIndexes()
    }
    return editor
  }

  private func compare(_ found: StateEditor, _ wanted: StateEditor, _ label: String) {
    let label = Comment(rawValue: label)
    #expect(found.roots.commit == wanted.roots.commit, label)
    #expect(found.roots.timestamp == wanted.roots.timestamp, label)
    #expect(found.roots.operationCount == wanted.roots.operationCount, label)
    #expect(found.catalog.buckets.all == wanted.catalog.buckets.all, label)
    #expect(Set(found.catalog.indexes.values) == Set(wanted.catalog.indexes.values), label)
    #expect(found.roots.indexes.all.map(\.number) == wanted.roots.indexes.all.map(\.number), label)
    #expect(
      found.roots.indexes.all.map(\.undecodable) == wanted.roots.indexes.all.map(\.undecodable),
      label)
    for (one, other) in zip(found.roots.trees, wanted.roots.trees) {
      var difference = TreeDiff(from: one, to: other, pages: found.pages)
      var count = 0
      difference.forEach { _, _, _ in
        count += 1
        return true
      }
      #expect(count == 0, label)
    }
  }
}
