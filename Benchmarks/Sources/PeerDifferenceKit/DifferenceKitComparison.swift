// DifferenceKit, from the checkout that TREERING_DIFFERENCEKIT names.

public import BenchmarkHarness
internal import DifferenceKit

/// A row as DifferenceKit takes it.
private struct Item: Differentiable {
  let row: ListRow
  var differenceIdentifier: Int { row.id }
  func isContentEqual(to other: Item) -> Bool { row.version == other.row.version }
}

public enum DifferenceKitComparison: ListComparison {
  public static let name = "DifferenceKit"

  /// Making the items is part of it, and a hundredth of it at most.
  public static func moveCount(_ pair: ListPair) -> Int {
    StagedChangeset(source: pair.old.map(Item.init), target: pair.new.map(Item.init))
      .reduce(0) { $0 + $1.elementMoved.count }
  }
}
