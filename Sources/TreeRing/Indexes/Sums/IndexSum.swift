// The result of a sum.

public import TreeRingLog

/// The exact sum of a number over some rows of an index.
public struct IndexSum: Hashable, Sendable, CustomStringConvertible {
  /// The sum in units of the last decimal: 1250 is 12.50 if there are two decimals.
  public let units: Int128
  /// The number of decimals that the index declares.
  public let decimals: Int

  package init(units: Int128, decimals: Int) {
    self.units = units
    self.decimals = decimals
  }

  /// The sum of a decimal number as `description` writes it; nil for another text.
  package init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let digits = parts.joined()
    guard parts.count <= 2, let units = Int128(String(decoding: Array(digits), as: UTF8.self))
    else { return nil }
    self.init(units: units, decimals: parts.count == 2 ? parts[1].count : 0)
    if description != text { return nil }
  }

  /// The sum as a decimal number, such as “12.50”, which is also valid JSON.
  public var description: String {
    if decimals == 0 { return "\(units)" }
    var digits = "\(units.magnitude)"
    if digits.count <= decimals {
      digits = String(repeating: "0", count: decimals + 1 - digits.count) + digits
    }
    return (units < 0 ? "-" : "") + digits.dropLast(decimals) + "." + digits.suffix(decimals)
  }

  /// The nearest number in floating point.
  public var doubleValue: Double { Double(description) ?? .nan }
}

extension IndexReader {
  /// Whether the index has sums: its definition, or that of the index that it filters, has a
  /// number to sum.
  public var hasSums: Bool { decimals != nil }

  /// The sum of all rows. O(log n).
  ///
  /// Throws `invalidInput` if the index has no sums, and `notSummable` if one of the rows has a
  /// number that cannot be summed. No writer leaves such a row, but one may be in a commit before
  /// the index was defined, or come from an import without checks.
  public func sum() throws(TreeRingError) -> IndexSum { try sum(at: 0..<count) }

  /// The sum of the rows of a group; 0 for one that does not exist. O(log n).
  ///
  /// Throws as the sum of all rows.
  public func sum(in group: some KeyConvertible) throws(TreeRingError) -> IndexSum {
    try sum(at: try positions(of: name(of: group)))
  }

  /// The sum of the rows at positions of a group, clipped to the group. O(log n).
  ///
  /// Throws as the sum of all rows.
  public func sum(
    in group: some KeyConvertible, _ range: Range<Int>
  ) throws(TreeRingError) -> IndexSum {
    let all = try positions(of: name(of: group))
    let range = range.clamped(to: 0..<all.count)
    return try sum(at: all.lowerBound + range.lowerBound..<all.lowerBound + range.upperBound)
  }

  /// Every group that has rows, in name order, with the number of its rows and their sum.
  /// O(groups · log n).
  ///
  /// Throws as the sum of all rows.
  public func groupSums() throws(TreeRingError) -> [(group: GroupName, rows: Int, sum: IndexSum)] {
    var sums: [(group: GroupName, rows: Int, sum: IndexSum)] = []
    var start = 0
    for (group, rows) in try groupCounts() {
      sums.append((group, rows, try sum(at: start..<start + rows)))
      start += rows
    }
    return sums
  }

  /// The sum of the entries at these positions of the order tree. O(log n).
  func sum(at positions: Range<Int>) throws(TreeRingError) -> IndexSum {
    guard let decimals else { throw noSums }
    if positions.isEmpty { return IndexSum(units: 0, decimals: decimals) }
    let sum = try state.read {
      func key(at position: Int) -> [UInt8] {
        order.withEntry(at: position) { key, _ in Array(key) }
      }
      let upper = positions.upperBound < order.count ? key(at: positions.upperBound) : nil
      guard
        let sum = SumNodes(order: order, places: placeTree)
          .sum(from: key(at: positions.lowerBound), to: upper)
      else { throw ByteReader.damaged }
      return sum
    }
    guard sum.unsummableCount == 0 else { throw unsummable(sum.unsummableCount) }
    return IndexSum(units: sum.units, decimals: decimals)
  }

  private var noSums: TreeRingError {
    TreeRingError(
      .invalidInput,
      "The index \(name) has no sums. Define it with a number to sum, by `summing` of a "
        + "FieldIndex, a GroupIndex or an Index, or with `treering index add --sum`.")
  }

  private func unsummable(_ rows: UInt64) -> TreeRingError {
    let subject = rows == 1 ? "1 row has a number" : "\(rows) rows have numbers"
    return TreeRingError(
      .notSummable,
      "\(subject) that the index \(name) cannot sum exactly, in the state of commit \(commit). "
        + "Such numbers are from before its definition, or from an import without checks. Sum a "
        + "range without them, or read the rows.",
      commit: commit)
  }
}
