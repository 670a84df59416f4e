// The rule of an index with sums: every row in it has a number that can be summed exactly, or none.

internal import TreeRingLog

extension Transaction {
  /// The first errors of an index over rows that it cannot sum. O(log n) if there are none.
  func unsummable(of index: ActiveIndex, limit: Int) throws(TreeRingError) -> [TreeRingError] {
    guard index.sum != nil, let roots = editor.roots.index(index.number) else { return [] }
    let order = Tree(roots.order, pages: editor.pages)
    let nodes = SumNodes(order: order, places: Tree(roots.places, pages: editor.pages))
    guard let total = nodes.sum(from: [], to: nil) else { throw ByteReader.damaged }
    if total.unsummableCount == 0 { return [] }
    var errors: [TreeRingError] = []
    try order.forEach { (key, value) throws(TreeRingError) in
      if Summand(orderValue: value) != .unsummable { return true }
      let row = try OrderEntry(key: key, value: value).row
      errors.append(
        index.refusalOfUnsummable(try RowNames(catalog: editor.catalog).id(of: row)))
      return errors.count < limit
    }
    return errors
  }
}

extension ActiveIndex {
  /// The error for a row whose number has too many digits for an exact sum.
  func refusalOfUnsummable(_ row: RowID) -> TreeRingError {
    guard let sum else { preconditionFailure("only an index with sums refuses numbers") }
    let numbers =
      switch sum.decimals {
      case 0: "whole numbers"
      case 1: "numbers of at most 1 decimal"
      default: "numbers of at most \(sum.decimals) decimals"
      }
    let source = sum.fieldName.map { " in “\($0)”" } ?? ""
    let remedy =
      sum.fieldName == nil
      ? "Round the number in the row, or in the closure of the index, with a new version."
      : "Round the number, or keep it in another field."
    var error = TreeRingError(
      .notSummable,
      "The row \(row) has a number\(source) that the index \(name) cannot sum exactly: it sums "
        + "\(numbers), and of 64 bits in units of the last digit. \(remedy)")
    error.brokenRule = BrokenRule(name: name, row: .init(row), other: nil)
    return error
  }
}
