import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

@Suite("Many observers, slow ones among them", .leavesSoundStores)
struct ManyObserversTests {
  static let commits = 40

  /// The countable costs of commits for their writer.
  struct Cost: Equatable {
    /// The numbers of changing calls and reading calls, commit by commit.
    var calls: [Int] = []
    var reads: [Int] = []
    /// The numbers of pages in memory and of pages that only snapshots keep, commit by commit.
    var pages: [Int] = []
    var pinnedPages: [Int] = []
    var records: [Int] = []
    var pins: [Int] = []
  }

  /// Streams that have returned the first state and are not read any more.
  private func stalled(_ count: Int, _ store: Store) async throws -> [MappingChanges.Iterator] {
    var streams: [MappingChanges.Iterator] = []
    for number in 0..<count {
      let groups = [number % 4, (number + 1) % 4].map { GroupName("g\($0)") }
      let mappings = Mappings(of: "board", groups: groups)
      var stream = store.changes(of: mappings).makeAsyncIterator()
      #expect(try #require(try await stream.next()).isReset)
      streams.append(stream)
    }
    return streams
  }

  private func cost(ofCommitsBeside observers: Int) async throws -> Cost {
    let disk = SimulatedFileSystem(seed: 1)
    let store = try Store(
      path: "store", fileSystem: disk, options: StoreOptions(indexes: [Board.index]))
    var board = try Board(seed: 7, store: store)
    for _ in 0..<10 { try board.commit() }
    let start = store.newestCommit
    var streams = try await stalled(observers, store)
    var cost = Cost()
    for _ in 0..<Self.commits {
      let (calls, reads) = (disk.callCount, disk.readCount)
      try board.commit()
      cost.calls.append(disk.callCount - calls)
      cost.reads.append(disk.readCount - reads)
      let statistics = try store.statistics()
      cost.pages.append(statistics.pageCount)
      cost.pinnedPages.append(statistics.pinnedPageCount)
      cost.records.append(statistics.changeRecordRows)
      cost.pins.append(statistics.pins.count)
    }
    // Each stream gets one change, however long it was not read.
    let newest = store.newestCommit
    for index in streams.indices {
      let change = try #require(try await streams[index].next())
      #expect(change.before.commit == start && change.after.commit == newest && !change.isReset)
    }
    try await store.close()
    return cost
  }

  @Test("A commit costs its writer the same with none, one and fifty stalled observers")
  func stalledObservers() async throws {
    let alone = try await cost(ofCommitsBeside: 0)
    #expect(alone.pins.allSatisfy { $0 == 0 })
    #expect(alone.calls.allSatisfy { $0 > 0 })
    #expect(try await cost(ofCommitsBeside: 1) == alone)
    #expect(try await cost(ofCommitsBeside: 50) == alone)
  }

  @Test("A stalled observer costs no memory beyond the budget and gets one correct change")
  func boundedMemory() async throws {
    let budget = 8 << 20
    let store = try Store.inMemory(
      options: StoreOptions(memoryBudget: budget, indexes: [Board.index]))
    var board = try Board(seed: 3, store: store)
    try board.commit()
    let mappings = board.mappings()
    var stream = store.changes(of: mappings, limit: .max).makeAsyncIterator()
    var list = FollowedList()
    try list.apply(try #require(try await stream.next()))
    var records: [Int] = []
    for turn in 0..<300 {
      try await store.write { tx in
        for number in 0..<200 {
          try tx.put(
            [UInt8(number % 4), UInt8((number + turn) % 251)], for: Key("k\(number)"),
            in: Board.lines)
        }
      }
      records.append(try store.statistics().changeRecordRows)
    }
    let most = try #require(records.max())
    // The records of all commits would be 60,000 rows.
    #expect(most < 300 * 200, "records are dropped once they take their share")
    #expect(try #require(records.last) <= most)
    let change = try #require(try await stream.next())
    #expect(!change.isReset)
    try list.apply(change)
    #expect(try list.sections == Board.list(mappings, store.snapshot()))
  }
}
