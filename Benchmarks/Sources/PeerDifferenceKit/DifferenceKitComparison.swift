// DifferenceKit, from the checkout that TREERING_DIFFERENCEKIT names.

public import BenchmarkHarness
internal import DifferenceKit

/// A row in the form that DifferenceKit requires.
private struct Item: Differentiable {
  let row: ListRow
  var differenceIdentifier: Int { row.id }
  func isContentEqual(to other: Item) -> Bool { row.version == other.row.version }
}

public enum DifferenceKitComparison: ListComparison {
  public static let name = "DifferenceKit"

  /// Includes the creation of the items, which takes at most a hundredth of the time.
  public static func moveCount(_ pair: ListPair) -> Int {
    StagedChangeset(source: pair.old.map(Item.init), target: pair.new.map(Item.init))
      .reduce(0) { $0 + $1.elementMoved.count }
  }
}
