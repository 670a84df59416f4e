import Testing

@testable import TreeRingCollections
@testable import TreeRingMappings

private final class CallList: ConsumerView {
  var calls: [String] = []
  /// Whether it keeps batches and runs them later.
  var defers = false
  var batches: [() -> Void] = []
  func viewWillChange() { calls.append("begin") }
  func view(refresh model: Item, at path: RowPath, by refresh: RowRefresh) {
    calls.append("\(refresh) \(path)")
  }
  func view(reloadSection section: Int) { calls.append("reload \(section)") }
  func view(removeSection section: Int) { calls.append("remove \(section)") }
  func view(insertSection section: Int) { calls.append("insert \(section)") }
  func view(removeRowAt path: RowPath) { calls.append("remove \(path)") }
  func view(insertRowAt path: RowPath) { calls.append("insert \(path)") }
  func viewDidChange() { calls.append("end") }
  func view(perform batch: @escaping () -> Void) {
    if defers { batches.append(batch) } else { batch() }
  }
}

@Suite struct PathOffsetsTests {
  @Test func dataAndGlobalPathsConvertBothWays() {
    let counts = [2, 0, 3]
    for before in 0...2 {
      for after in 0...2 {
        let offsets = PathOffsets(
          sectionsBefore: before, sectionsAfter: after, rowsBefore: after, rowsAfter: before)
        var found: [RowPath] = []
        for section in 0..<offsets.globalSectionsCount(data: counts.count) {
          let data = offsets.data(section: section, sectionsCount: counts.count)
          let rows = data.map { offsets.globalRowsCount(data: counts[$0]) } ?? 4
          for row in 0..<rows {
            let global = RowPath(section: section, row: row)
            guard
              let path = offsets.data(global, sectionsCount: 3, rowsCount: { counts[$0] })
            else { continue }
            #expect(offsets.global(path) == global)
            found.append(path)
          }
        }
        #expect(found.count == 5)
      }
    }
  }

  @Test func everyCallbackIsShifted() throws {
    let view = CallList()
    let adapter = ConsumerAdapter<Item>(
      view: view, offsets: PathOffsets(sectionsBefore: 2, rowsBefore: 3))
    adapter.refresh = { $0.value == 1 ? nil : $0.value == 2 ? .reconfigure : .reload }
    let consumer = SectionedConsumer<Item, String>(title: \.title)
    consumer.reset(with: "AAAABB".enumerated().map { Item(id: $0, title: String($1)) })
    consumer.delegate = adapter
    consumer.willChange()
    consumer.update(Item(id: 0, value: 1, title: "A"), at: 0)
    consumer.update(Item(id: 1, value: 2, title: "A"), at: 1)
    consumer.update(Item(id: 2, value: 3, title: "A"), at: 2)
    consumer.remove(at: 3)
    consumer.add(Item(id: 9, title: "0"), at: 0)
    consumer.remove(at: 4)
    consumer.remove(at: 5)
    consumer.add(Item(id: 8, title: "A"), at: 4)
    try consumer.didChange()
    #expect(
      view.calls == [
        "begin", "reconfigure [2, 4]", "reload [2, 5]", "remove 3", "insert 2", "remove [2, 6]",
        "insert [3, 6]", "end",
      ])
  }

  @Test func plainAndRecurrentCallbacksAreShiftedIntoTheOneSection() throws {
    let plain = PlainConsumer<Item>()
    let recurrent = RecurrentConsumer<Item> { old, new in
      Item(id: old.id, value: old.value + new.value)
    }
    for consumer in [plain, recurrent] {
      let view = CallList()
      let adapter = ConsumerAdapter<Item>(
        view: view, offsets: PathOffsets(sectionsBefore: 2, rowsBefore: 3))
      // The recurrent consumer carries the old row's 1 over, so the hook gets that value.
      adapter.refresh = { $0.value == 2 ? .reconfigure : .reload }
      consumer.reset(with: (0..<5).map { Item(id: $0, value: 1) })
      consumer.delegate = adapter
      consumer.willChange()
      consumer.update(Item(id: 1, value: 1), at: 1)
      consumer.move(Item(id: 4, value: 1), from: 4, to: 0)
      consumer.remove(at: 2)
      consumer.add(Item(id: 9), at: 4)
      try consumer.didChange()
      let refresh = consumer === recurrent ? "reconfigure" : "reload"
      #expect(
        view.calls == [
          "begin", "\(refresh) [2, 4]", "remove [2, 7]", "remove [2, 5]", "insert [2, 3]",
          "insert [2, 7]", "end",
        ])
      #expect(consumer.items.map(\.id) == [4, 0, 1, 3, 9])
    }
  }

  @Test func aRetitledSectionIsReloadedAtItsGlobalPosition() throws {
    let view = CallList()
    let adapter = ConsumerAdapter<Item>(
      view: view, offsets: PathOffsets(sectionsBefore: 2, rowsBefore: 3))
    let consumer = SectionedConsumer<Item, String>(title: \.title)
    consumer.reset(with: "AABBC".enumerated().map { Item(id: $0, title: String($1)) })
    consumer.delegate = adapter
    consumer.willChange()
    for index in 2...3 { consumer.update(Item(id: index, title: "b"), at: index) }
    consumer.update(Item(id: 4, value: 1, title: "C"), at: 4)
    try consumer.didChange()
    #expect(view.calls == ["begin", "reload [4, 3]", "reload 3", "end"])
  }

  @Test func aViewMayRunBatchesLaterAndMayBeReleased() throws {
    let consumer = PlainConsumer<Item>()
    var view: CallList? = CallList()
    let adapter = ConsumerAdapter<Item>(view: try #require(view))
    consumer.delegate = adapter
    view?.defers = true
    for index in 0..<2 {
      consumer.willChange()
      consumer.add(Item(id: index), at: index)
      try consumer.didChange()
    }
    // The view reads the old list until it runs the batches, the first one first.
    #expect(consumer.numberOfItems == 0 && view?.batches.count == 2)
    view?.batches[1]()
    #expect(consumer.numberOfItems == 2)
    #expect(
      view?.calls == ["begin", "insert [0, 0]", "end", "begin", "insert [0, 1]", "end"])
    // Without a view, no batch waits.
    view = nil
    consumer.willChange()
    consumer.remove(at: 0)
    try consumer.didChange()
    #expect(consumer.items == [Item(id: 1)])
  }
}
