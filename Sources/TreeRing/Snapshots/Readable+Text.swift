// Text indexes of snapshots and transactions.

public import TreeRingLog

extension Readable {
  /// A text index by name. O(1); O(n log n) for the first reader of an index at a commit that did
  /// not maintain it.
  /// - Throws: `notFound` if no index of that name is in force; `invalidInput` if it is no text
  ///   index.
  public func text(_ name: String) throws(TreeRingError) -> TextReader {
    try readSource.state.text(name)
  }

  /// A text index by its definition, of which only the name counts. O(1), as `text(_:)`.
  public subscript(index: TextIndex) -> TextReader {
    get throws(TreeRingError) { try text(index.name) }
  }
}
