// The agreement of a handle with the definition that it names. A definition by fields states its
// order, so the handle's is compared with it; a closure's order is known from the handle alone.

internal import TreeRingLog
internal import TreeRingPlatform

extension Index {
  /// The name of a value's group, for calls that take names, as the settings of mappings do.
  ///
  ///     let days = Mappings(of: byDay, groups: [monday, tuesday])
  ///       .range(.fixed(length: 20), of: byDay.groupName(of: monday))
  ///
  /// In an index by fields a date or data has the name that the library's coders give it; see
  /// `GroupName(field:)`.
  public func groupName(of group: Group) -> GroupName {
    let text = GroupName(bytes: group.keyBytes)
    if isInCode { return text }
    return (try? FieldGroups(isOfLibrary: bucket.coder.isOfLibrary).name(of: group)) ?? text
  }

  /// The components of the sort values of this index; nil if the handle states no order.
  ///
  /// Throws `invalidInput` if the definition contradicts the handle.
  func components(in record: IndexRecord) throws(TreeRingError) -> SortComponents<Sort>? {
    guard record.buckets.areSameNames(as: [bucket.name]) else {
      throw contradiction(
        "it covers \(record.buckets.joined(separator: ", ")), not \(bucket.name) alone")
    }
    if let declared = groupIndex, declared.version != record.version {
      throw contradiction("its version is \(record.version), not \(declared.version)")
    }
    if groupIndex == nil, Group.self == Date.self || Group.self == Data.self,
      record.isByFields == isInCode
    {
      throw contradiction(
        isInCode
          ? "its groups are values of a field. Leave `isInCode` out"
          : "its groups are no values of a field. Give the handle `isInCode: true`")
    }
    var source = record
    while let parent = source.parent { source = parent }
    switch source.definition.withoutRule {
    case .fields(let text), .summed(let text):
      return try components(inFields: try FieldIndex(json: text))
    case .code, .summedCode, .filtered:
      return order.map { SortComponents(encoding: .closure($0), rest: rest[...]) }
    case .expiry:
      guard let order else { return nil }
      guard Sort.self == Timestamp.self, !order.isDescending, case .never = order.absence else {
        throw contradiction("its dates are ascending values of Timestamp")
      }
      return SortComponents(encoding: .closure(order))
    case .manual, .reference, .events, .removed, .unique, .selected, .text:
      guard order == nil else { throw contradiction("its rows have no sort values") }
      return nil
    }
  }

  private func components(
    inFields fields: FieldIndex
  ) throws(TreeRingError) -> SortComponents<Sort>? {
    if Group.self == Date.self || Group.self == Data.self, !bucket.coder.isOfLibrary {
      throw contradiction(
        "the coder of \(bucket.name) is the program's own, so the JSON of its dates and data is "
          + "unknown. Give GroupName as the type of groups, or use RowCoder.json or .binary")
    }
    guard let order else { return nil }
    guard let first = fields.order.first else { throw contradiction("its rows have no order") }
    guard first.isDescending == order.isDescending else {
      throw contradiction(
        "it is ordered by \(first.field) \(first.isDescending ? "descending" : "ascending")")
    }
    return SortComponents(
      encoding: .field(isDescending: first.isDescending),
      rest: fields.order.dropFirst().map { NextOrder.field(isDescending: $0.isDescending) }[...])
  }

  func contradiction(_ reason: String) -> TreeRingError {
    TreeRingError(
      .invalidInput,
      "The index \(name) is not as the program's handle declares it: \(reason). Change the handle, "
        + "or the definition with a new version.")
  }
}
