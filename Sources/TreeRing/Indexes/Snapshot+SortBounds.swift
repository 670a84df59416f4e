// Ranges of a group's rows by typed values of the fields that order an index. Such an index keeps
// its rows in the order of the encoded values, so the encoded bound has a rank among them.

package import TreeRingLog

extension Snapshot {
  /// The order of the rows of an index by fields, or of one that filters such an index.
  /// - Throws: `notFound` if there is no such index; `invalidInput` if its order is not of fields.
  package func fieldOrder(of name: String) throws(TreeRingError) -> [FieldIndex.Order] {
    var next = name
    while let index = indexes.first(where: { $0.name.isSameName(as: next) }) {
      if let fields = index.fields { return fields.order }
      guard let parent = index.parent else {
        throw TreeRingError(
          .invalidInput,
          "The index \(name) is not ordered by fields, so its rows have no values to compare with. "
            + "Give positions instead.")
      }
      next = parent
    }
    throw TreeRingError.noIndex(named: next, in: pin.definitions)
  }

  /// The positions of the rows of a group from one bound, inclusive, to another, exclusive, in the
  /// order of the index; nil is no bound. O(log n).
  ///
  /// A bound is `V[,V…]`: values of the fields that order the index, in their order, and of all or
  /// the first of them. FieldValue.swift states their forms.
  /// - Throws: `invalidInput` if a bound has more values than the order has fields or is malformed,
  ///   if its first value is of another kind than those of the group's rows there, or if the index
  ///   is not ordered by fields.
  package func positions(
    in group: GroupName, of reader: IndexReader, from lower: String?, to upper: String?
  ) throws(TreeRingError) -> Range<Int> {
    let count = try reader.count(in: group)
    if lower == nil, upper == nil { return 0..<count }
    let order = try fieldOrder(of: reader.name)
    func position(_ text: String?, _ other: Int) throws(TreeRingError) -> Int {
      guard let text else { return other }
      let bound = try SortBound(text, order, of: reader.name)
      let position = try reader.rank(of: bound.place, in: group)
      try bound.checkKind(at: position, in: group, of: reader, count: count)
      return position
    }
    let start = try position(lower, 0)
    return start..<max(start, try position(upper, count))
  }
}

/// A typed place in the order of an index by fields. The place of a row with the same values, or
/// more of them, is not before it.
private struct SortBound {
  /// The encoded values.
  let place: [UInt8]
  private let text: String
  private let first: (value: FieldValue, order: FieldIndex.Order)

  init(
    _ text: String, _ order: [FieldIndex.Order], of index: String
  ) throws(TreeRingError) {
    let values = try FieldValue.list(text)
    guard let value = values.first, let field = order.first, values.count <= order.count else {
      let fields = order.map(\.description).joined(separator: ",")
      throw TreeRingError(
        .invalidInput,
        order.isEmpty
          ? "The index \(index) orders its rows by no field."
          : "“\(text)” has \(values.count) values, but the index \(index) orders its rows by "
            + "\(fields). Write strings with commas in quotes.")
    }
    var encoder = SortKeyEncoder()
    var scratch: [UInt8] = []
    for (value, field) in zip(values, order) {
      value.json.withUnsafeBytes {
        encoder.appendField($0, descending: field.isDescending, scratch: &scratch)
      }
    }
    place = encoder.finish()
    self.text = text
    first = (value, field)
  }

  /// Throws `invalidInput` if the rows beside the bound have values of another kind in its first
  /// field. Values of one kind are adjacent, so then the group has none of the bound's kind.
  func checkKind(
    at position: Int, in group: GroupName, of reader: IndexReader, count: Int
  ) throws(TreeRingError) {
    var found: FieldKind?
    for neighbor in [position - 1, position] where neighbor >= 0 && neighbor < count {
      guard let tag = try reader.entry(at: neighbor, in: group).order.first else { continue }
      let kind = SortKeyEncoder.kind(ofTag: first.order.isDescending ? ~tag : tag)
      if kind == first.value.kind { return }
      if kind != .absent { found = kind }
    }
    guard let found, first.value.kind != .absent else { return }
    throw TreeRingError(
      .invalidInput,
      "The rows of group \(group) have \(found.plural) in “\(first.order.field)”, and “\(text)” "
        + "is among \(first.value.kind.plural). A string that looks like a number is written in "
        + "quotes.")
  }
}
