// The totals of groups, as messages tell them: [G,FIRST,ROWS] or [G,FIRST,ROWS,SUM].

public import TreeRing

/// The total of a section's group on the server, whatever part of it the section shows.
public struct RemoteTotal: Hashable, Sendable {
  /// The group.
  public let group: GroupName
  /// The number of rows of the group before the first one of the section.
  public let first: Int
  /// The number of rows in the group.
  public let count: Int
  /// The sum of these rows; nil if the index has no sums, or cannot sum the number of one of them.
  public let sum: IndexSum?
}

extension RemoteTotal {
  init(_ part: JSONPart) throws(RemoteError) {
    let elements = try part.elements(least: 3)
    group = GroupName(bytes: try elements[0].key())
    first = try elements[1].count()
    count = try elements[2].count()
    let text =
      elements.count > 3
      ? elements[3].present.map { String(decoding: $0.bytes, as: UTF8.self) } : nil
    sum = text.flatMap { IndexSum($0) }
    if text != nil, sum == nil { throw .malformed("a sum was expected.") }
  }
}

extension JSONPart {
  /// A number of rows.
  fileprivate func count() throws(RemoteError) -> Int {
    guard let count = Int(String(decoding: bytes, as: UTF8.self)), count >= 0 else {
      throw .malformed("a number of rows was expected.")
    }
    return count
  }
}
