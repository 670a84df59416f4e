// A view that runs batches later gets each of them whole.

import TestSupport
import Testing

@testable import TreeRingCollections
@testable import TreeRingMappings

/// A table view that performs a batch between its begin and its end, and runs blocks on request.
private final class HoldingView: ConsumerView {
  var blocks: [() -> Void] = []
  var source: () -> [[Int]] = { [] }
  var model = BatchViewModel<Int>()
  private var batch: ModelBatch?
  private(set) var batchCount = 0

  init(_ rows: [Int]) { model.reload([rows]) }

  func viewWillChange() {
    #expect(batch == nil, "a batch begins inside another")
    #expect(source() == model.sections, "the list has changed before the batch begins")
    batch = ModelBatch()
  }
  func view(refresh model: Item, at path: RowPath, by refresh: RowRefresh) {}
  func view(reloadSection section: Int) {}
  func view(removeSection section: Int) {}
  func view(insertSection section: Int) {}
  func view(removeRowAt path: RowPath) {
    batch?.deletedRows.append(ModelPath(path.section, path.row))
  }
  func view(insertRowAt path: RowPath) {
    batch?.insertedRows.append(ModelPath(path.section, path.row))
  }
  func viewDidChange() {
    #expect(batch != nil, "a batch ends that has not begun")
    #expect(throws: Never.self) { try model.perform(batch ?? ModelBatch(), source: source()) }
    batch = nil
    batchCount += 1
  }
  func view(perform batch: @escaping () -> Void) { blocks.append(batch) }
}

@Suite struct HeldBatchTests {
  @Test(arguments: [[0, 1], [1, 0], [1], [0, 0, 1]])
  func heldBatchesReachTheViewOneByOne(order: [Int]) throws {
    let consumer = PlainConsumer<Item>()
    consumer.reset(with: [Item(id: 0)])
    let view = HoldingView([0])
    view.source = { [weak consumer] in [consumer?.items.map(\.id) ?? []] }
    let adapter = ConsumerAdapter<Item>(view: view)
    consumer.delegate = adapter
    for id in 1...2 {
      consumer.willChange()
      consumer.add(Item(id: id), at: 0)
      if id == 2 { consumer.remove(at: 1) }
      try consumer.didChange()
    }
    #expect(consumer.items.map(\.id) == [0] && view.batchCount == 0)
    for index in order { view.blocks[index]() }
    #expect(view.model.sections == [[2, 1]] && view.batchCount == 2)
    #expect(consumer.items.map(\.id) == [2, 1])
  }
}
