import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingCollections

/// Counts the children that a source in memory reads and states.
private final class CountingSource: CollectionSource {
  let truth = MemorySource<NoteData>()
  let counts = Mutex((read: 0, stated: 0))

  func page(_ request: PageRequest) async throws -> SourcePage<NoteData> {
    let page = try await truth.page(request)
    counts.withLock { $0.read += page.children.count }
    return page
  }

  func listen(
    to range: PositionRange, _ receive: @escaping @Sendable (SourceEvent<NoteData>) -> Void
  ) -> any SourceListener {
    truth.listen(to: range) { event in
      if case .state(_, let children) = event {
        self.counts.withLock { $0.stated += children.count }
      }
      receive(event)
    }
  }
}

private struct PromptDataSource: CollectionDataSource {
  func prepare(_ data: NoteData) async throws -> NoteModel? {
    NoteModel(identifier: "\(data.number)", text: nil, number: data.number)
  }
}

/// The events that a listener got, and the keys that it read during them.
private final class ListenerNotes: Sendable {
  let events = Mutex<[String]>([])
  let pages = Mutex<[[String]]>([])
}

@Suite struct PagingTests {
  private func position(_ number: Int) -> ChildPosition {
    ChildPosition(order: .number(Double(number)), key: "\(number)")
  }

  @Test(arguments: [LoadDirection.forward, .backward]) func thePagesCostDependsOnItsOwnRows(
    direction: LoadDirection
  ) async {
    let source = CountingSource()
    for number in 0..<400 { source.truth.set(NoteData(number: number), at: position(number)) }
    let collection = LiveCollection(
      source: source, dataSource: PromptDataSource(),
      options: CollectionOptions(order: .source, mode: .paged(batchSize: 5), prepareTimeout: nil))
    var pages = 1
    while await collection.load(direction).hasMore { pages += 1 }
    #expect(pages == 80)
    #expect(collection.count == 400)
    let counts = source.counts.withLock(\.self)
    #expect(counts.read == 400)
    // Each part is stated once, with its adjoining boundary.
    #expect(counts.stated <= 400 + pages)
  }

  @Test(arguments: seeds(1...40)) func knownChildrenAgreeWithADictionary(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var known = KnownChildren<NoteData>()
    var model: [String: SourceChild<NoteData>] = [:]
    for step in 0..<200 {
      let key = "\(Int.random(in: 0..<20, using: &random))"
      if Int.random(in: 0..<3, using: &random) == 0 {
        known.remove(key)
        model[key] = nil
      } else {
        let place = ChildPosition(
          order: .number(Double(Int.random(in: 0..<6, using: &random))), key: key)
        known.set(SourceChild(NoteData(number: step), at: place))
        model[key] = SourceChild(NoteData(number: step), at: place)
      }
      #expect(known[key] == model[key])
      func bound() -> ChildPosition? {
        guard Int.random(in: 0..<4, using: &random) > 0 else { return nil }
        let order = Double(Int.random(in: 0..<6, using: &random))
        return ChildPosition(
          order: .number(order), key: "\(Int.random(in: 0..<20, using: &random))")
      }
      let range = PositionRange(from: bound(), through: bound())
      let expected = model.values.filter { range.contains($0.position) }
        .sorted { $0.position < $1.position }
      #expect(known.keys(in: range) == expected.map(\.key), "seed \(seed)")
    }
  }

  @Test func anEditOfAMemorySourceTakesEffectAtOnceAndIsReportedInOrder() throws {
    let source = MemorySource<NoteData>()
    let executor = TestExecutor()
    var random = SeededGenerator(seed: 1)
    let notes = ListenerNotes()
    let listener = source.listen(to: PositionRange()) { event in
      guard case .set(let child) = event else { return }
      notes.events.withLock { $0.append("\(child.key) begins") }
      // A nested edit: reads see it at once, and its event follows this one.
      if child.key == "1" { source.set(NoteData(number: 2), at: position(2)) }
      Task(executorPreference: executor) {
        let page = try await source.page(
          PageRequest(direction: .forward, cursor: nil, limit: nil))
        notes.pages.withLock { $0.append(page.children.map(\.key)) }
      }
      var random = SeededGenerator(seed: 1)
      executor.run(using: &random)
      notes.events.withLock { $0.append("\(child.key) ends") }
    }
    source.set(NoteData(number: 1), at: position(1))
    executor.run(using: &random)
    #expect(notes.pages.withLock(\.self) == [["1", "2"], ["1", "2"]])
    #expect(notes.events.withLock(\.self) == ["1 begins", "1 ends", "2 begins", "2 ends"])
    // A listener cancelled before the edits gets no event.
    listener.cancel()
    source.remove("1")
    source.set(NoteData(number: 3), at: position(3))
    #expect(notes.events.withLock(\.count) == 4)
  }

  @Test func aRangeHasPartsBeyondTheOneItContains() {
    let (a, b, c, d) = (position(1), position(2), position(3), position(4))
    let inner = PositionRange(from: b, through: c)
    #expect(inner.parts(beyond: nil) == [inner])
    #expect(inner.parts(beyond: inner).isEmpty)
    #expect(
      PositionRange(from: a, through: d).parts(beyond: inner)
        == [PositionRange(from: a, through: b), PositionRange(from: c, through: d)])
    #expect(
      PositionRange(from: b).parts(beyond: inner) == [PositionRange(from: c, through: nil)])
    #expect(
      PositionRange(through: c).parts(beyond: inner) == [PositionRange(from: nil, through: b)])
  }

  @Test func orderValuesAreOrderedByKindAndNaNIsTheLastNumber() {
    let ascending: [OrderValue] = [
      .null, .bool(false), .bool(true), .number(-.infinity), .number(0), .number(.infinity),
      .number(.nan), .text(""), .text("a"), .text("b"), .bytes([]), .bytes([0]), .bytes([1]),
    ]
    for (i, a) in ascending.enumerated() {
      for (j, b) in ascending.enumerated() { #expect((a < b) == (i < j), "\(a) \(b)") }
    }
  }
}
