// Batches that contradict themselves or the list, and the error for each.

@testable import TreeRing
@testable import TreeRingCollections

/// A refused batch, and a part of the reason in the error.
struct RefusedBatch: Sendable, CustomStringConvertible {
  let transactions: [ListTransaction<Item>]
  let reason: String

  init(_ reason: String, _ transactions: [ListTransaction<Item>]) {
    self.transactions = transactions
    self.reason = reason
  }

  var description: String { "\(transactions): \(reason)" }

  /// Whether this is the expected error.
  func isMet(by error: any Error) -> Bool { isRefusal(error, reason) }

  private static func item(_ id: Int) -> Item { Item(id: id, title: "A") }

  /// Batches on a list of three rows titled A.
  static let ofThreeRows = [
    RefusedBatch("index 3 is out of range: 3 rows before the batch", [.delete(index: 3)]),
    RefusedBatch("index -1 is out of range: 3 rows before the batch", [.delete(index: -1)]),
    RefusedBatch("index 3 is out of range: 3 rows before the batch", [.update(item(9), index: 3)]),
    RefusedBatch(
      "index 3 is out of range: 3 rows before the batch", [.move(item(9), index: 3, newIndex: 0)]),
    RefusedBatch(
      "index 4 is out of range: 4 rows after the batch", [.insert(item(9), newIndex: 4)]),
    RefusedBatch(
      "index -1 is out of range: 4 rows after the batch", [.insert(item(9), newIndex: -1)]),
    RefusedBatch(
      "index 3 is out of range: 3 rows after the batch", [.move(item(9), index: 0, newIndex: 3)]),
    RefusedBatch(
      "the row at index 1 is removed or moved twice", [.delete(index: 1), .delete(index: 1)]),
    RefusedBatch(
      "the row at index 1 is removed or moved twice",
      [.delete(index: 1), .move(item(1), index: 1, newIndex: 0)]),
    RefusedBatch(
      "the row at index 1 is removed or moved twice",
      [.move(item(1), index: 1, newIndex: 0), .move(item(1), index: 1, newIndex: 2)]),
    RefusedBatch(
      "the row at index 1 is updated and removed", [.delete(index: 1), .update(item(1), index: 1)]),
    RefusedBatch(
      "the row at index 1 is updated twice",
      [.update(item(1), index: 1), .update(item(1), index: 1)]),
    RefusedBatch(
      "two rows come to index 1",
      [.insert(item(9), newIndex: 1), .insert(item(8), newIndex: 1)]),
    RefusedBatch(
      "two rows come to index 1",
      [.insert(item(9), newIndex: 1), .move(item(1), index: 0, newIndex: 1)]),
  ]

  private static let foreign = "has another title than the section around it; sort the list"

  /// Batches on a list of three rows titled A, shown in sections.
  static let ofOneSection = [
    RefusedBatch("the row at index 1 after the batch " + foreign, [inserted(1)]),
    RefusedBatch("the row at index 2 after the batch " + foreign, [inserted(2)]),
    RefusedBatch(
      "the row at index 1 after the batch " + foreign, [.delete(index: 1), inserted(1)]),
    RefusedBatch(
      "the row at index 1 after the batch " + foreign,
      [.move(Item(id: 0, title: "B"), index: 0, newIndex: 1)]),
  ]

  private static func inserted(_ newIndex: Int) -> ListTransaction<Item> {
    .insert(Item(id: 9, title: "B"), newIndex: newIndex)
  }
}

/// Whether an error reports that a batch was refused for this reason.
func isRefusal(_ error: any Error, _ reason: String) -> Bool {
  guard let error = error as? TreeRingError else { return false }
  return error.code == .invalidInput && error.message.contains("nothing applied: ")
    && error.message.contains(reason)
}
