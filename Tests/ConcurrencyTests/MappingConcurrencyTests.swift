import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

/// Writers, polled observers, streams and changes of ranges, all at once.
@Suite("Mappings, everything at once")
struct MappingConcurrencyTests {
  /// The last row written. A reader that sees it is done.
  private static let end = RowID("end", in: Board.lines)

  private static let mappings = Mappings(
    of: "board", groupsWhere: { $0.count > 0 }, orderedBy: { [.descending($0.count)] }
  )
  .hidingEmptySections().range(.flexible(length: 3, growing: .bothSides))
  .reversed("g2").drawn(withNeighborsAt: [-1], in: "g1")

  /// Applies a change, and returns whether the end has been seen.
  private static func take(_ change: Change, _ list: inout FollowedList) throws -> Bool {
    try list.apply(change)
    #expect(list.sections == change.after.sections.map(Array.init))
    return try change.after.path(of: end) != nil
  }

  private static func follow(_ store: Store, _ control: MappingControl) async throws {
    var list = FollowedList()
    for try await change in store.changes(of: control, limit: .max)
    where try take(change, &list) {
      return
    }
    Issue.record("the stream has ended")
  }

  private static func pull(_ store: Store, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var observer = store.observer(of: mappings, limit: .max)
    var list = FollowedList()
    while true {
      if Int.random(in: 0..<4, using: &random) == 0 {
        let past = CommitNumber.random(in: 0...store.newestCommit, using: &random)
        _ = try take(try observer.advance(to: store.snapshot(at: .commit(past))), &list)
      }
      let edits =
        Bool.random(using: &random)
        ? [RangeChange(.extend(by: Int.random(in: -1...1, using: &random)), of: "g1")] : []
      if try take(try observer.advance(changing: edits), &list) { return }
    }
  }

  private static func edit(_ controls: [MappingControl], seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for turn in 0..<200 {
      let group = GroupName("g\(Int.random(in: 0..<4, using: &random))")
      for control in controls {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: control.shiftRange(of: group, by: Int.random(in: -2...2, using: &random))
        case 1: control.setRange(.fixed(length: 2, offset: turn % 3), of: group)
        case 2: control.show(mappings.reversed(group))
        case 3: control.isPaused.toggle()
        default: control.extendRange(of: group, by: Int.random(in: -1...2, using: &random))
        }
      }
    }
    for control in controls { control.isPaused = false }
  }

  @Test("Each change leads from the state before to the state after, under concurrent writes")
  func everything() async throws {
    let store = try Store.inMemory(options: StoreOptions(indexes: [Board.index]))
    let own = MappingControl(Self.mappings)
    // Two streams overlap on this control, as when one task is cancelled and the next one begins.
    let shared = MappingControl(Self.mappings)
    try await withThrowingTaskGroup(of: Void.self) { observers in
      for control in [own, shared, shared] {
        observers.addTask { try await Self.follow(store, control) }
      }
      for seed in 1...2 as ClosedRange<UInt64> {
        observers.addTask { try await onThread { try Self.pull(store, seed: seed) } }
      }
      try await withThrowingTaskGroup(of: Void.self) { others in
        for seed in 1...2 as ClosedRange<UInt64> {
          others.addTask {
            try await onThread {
              var board = try Board(seed: seed, store: store)
              for _ in 0..<60 { try board.commit() }
            }
          }
        }
        others.addTask { try await onThread { Self.edit([own, shared], seed: 3) } }
        try await others.waitForAll()
      }
      try await store.write { try $0.put([9, 0], for: Self.end.key, in: Board.lines) }
      try await observers.waitForAll()
    }
    try await store.close()
  }
}
