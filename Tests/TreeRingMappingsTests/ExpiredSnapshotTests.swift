import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

/// Stores whose snapshots live for two commits, with a writer that is faster than the reader.
@Suite("A snapshot that expires during a read")
struct ExpiredSnapshotTests {
  /// A writer that overtakes the reader when a filter examines a group, a chosen number of times.
  private final class Writer: Sendable {
    let store: Store
    /// The number of times it has written, and the number of times it should.
    let written = Counter()
    let wanted = Counter()

    init() throws {
      store = try Store.inMemory(
        options: StoreOptions(pinLimit: PinLimit(commits: 2), indexes: [Board.index]))
      for number in 0..<9 as Range<UInt8> {
        try store.write { try $0.put([1, number], for: Key("k\(number)"), in: Board.lines) }
      }
    }

    /// Makes more commits than a snapshot outlives, and drops the history that readers pin.
    func write() throws {
      let turn = UInt8(written.count % 50)
      for number in 10..<14 as Range<UInt8> {
        try store.write { try $0.put([1, number + turn], for: Key("k\(number)"), in: Board.lines) }
      }
      try store.compact(to: .dropHistory)
    }

    /// Mappings whose filter the writer overtakes.
    var mappings: Mappings {
      Mappings(
        of: "board",
        groupsWhere: { group in
          if self.written.count < self.wanted.count {
            _ = self.written.next()
            try? self.write()
          }
          return group.first != nil
        }
      ).range(.flexible(length: 2))
    }
  }

  @Test("An observer continues with a newer snapshot and applies manual range changes once")
  func pull() throws {
    let writer = try Writer()
    var observer = writer.store.observer(of: writer.mappings)
    for _ in 0..<3 { _ = writer.wanted.next() }
    let first = try observer.advance()
    #expect(writer.written.count == 3)
    #expect(first.isReset && first.after.commit == writer.store.newestCommit)
    #expect(first.after.rangePosition(of: "g1")?.length == 2)
    try writer.store.write { try $0.put([1, 50], for: "x", in: Board.lines) }
    for _ in 0..<2 { _ = writer.wanted.next() }
    let second = try observer.extendRange(of: "g1", by: 3)
    #expect(writer.written.count == 5)
    #expect(second.after.commit == writer.store.newestCommit)
    #expect(second.after.rangePosition(of: "g1")?.length == 5)
    // A named commit is not replaced by a newer one.
    _ = writer.wanted.next()
    let named = try writer.store.snapshot()
    #expect {
      _ = try observer.advance(to: named, mappings: writer.mappings)
    } throws: {
      ($0 as? TreeRingError)?.code == .snapshotExpired
    }
    #expect(try observer.advance().after.rangePosition(of: "g1")?.length == 5)
  }

  @Test(
    "If every snapshot expires, an error ends the attempts; the observer keeps its position")
  func neverInTime() throws {
    let writer = try Writer()
    var observer = writer.store.observer(of: writer.mappings)
    _ = try observer.advance()
    let position = observer.position
    try writer.store.write { try $0.put([2, 1], for: "other", in: Board.lines) }
    for _ in 0..<Store.newestAttempts { _ = writer.wanted.next() }
    #expect {
      _ = try observer.advance()
    } throws: {
      ($0 as? TreeRingError)?.code == .snapshotExpired
    }
    #expect(writer.written.count == Store.newestAttempts)
    #expect(observer.position == position)
    // The writer stops, and the observer continues.
    #expect(try observer.advance().after.commit == writer.store.newestCommit)
  }

  @Test("An observer continues from a position although its snapshot expires")
  func position() throws {
    let writer = try Writer()
    var observer = writer.store.observer(of: writer.mappings)
    _ = try observer.advance()
    _ = try observer.extendRange(of: "g1", by: 3)
    let position = try #require(observer.position)
    try writer.write()
    var resumed = writer.store.observer(of: writer.mappings, from: position)
    _ = writer.wanted.next()
    let change = try resumed.advance()
    #expect(change.after.commit == writer.store.newestCommit)
    #expect(change.after.rangePosition(of: "g1")?.length == 5)
  }

  @Test("A stream continues and delivers its control's requests once")
  func stream() async throws {
    let writer = try Writer()
    let control = MappingControl(writer.mappings)
    var changes = writer.store.changes(of: control).makeAsyncIterator()
    _ = writer.wanted.next()
    #expect(try await changes.next()?.after.rowCount == 2)
    for turn in 1...3 {
      control.extendRange(of: "g1", by: 1)
      _ = writer.wanted.next()
      try await writer.store.write { try $0.put([1, 50], for: Key("x\(turn)"), in: Board.lines) }
      let change = try #require(try await changes.next())
      #expect(writer.written.count == turn + 1)
      #expect(change.after.rangePosition(of: "g1")?.length == 2 + turn)
    }
  }
}
