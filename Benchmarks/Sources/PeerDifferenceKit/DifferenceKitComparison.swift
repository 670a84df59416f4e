// DifferenceKit, from the checkout that TREERING_DIFFERENCEKIT names.

public import BenchmarkHarness
public import DifferenceKit

extension ListRow: @retroactive ContentIdentifiable, @retroactive ContentEquatable,
  @retroactive Differentiable
{
  public var differenceIdentifier: Int { id }
  public func isContentEqual(to other: ListRow) -> Bool { version == other.version }
}

public enum DifferenceKitComparison: ListComparison {
  public static let name = "DifferenceKit"

  public static func moveCount(_ pair: ListPair) -> Int {
    StagedChangeset(source: pair.old, target: pair.new).reduce(0) { $0 + $1.elementMoved.count }
  }
}
