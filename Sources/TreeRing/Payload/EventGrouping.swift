// The rules of indexes of events, as the log and the catalog hold them.

/// The rule by which an index groups the events of a bucket. In every group, events are in the
/// order of their appending. Rows that are no events are in no group.
///
/// The raw value is the kind of the definition in the log (docs/rows.md).
package enum EventGrouping: UInt8, Sendable {
  /// By the category of the stream, and all events in the group ``all``.
  case categories = 11
  /// By the event's id, the text of the member `id` of its metadata.
  case ids = 12

  /// The word for the grouping in the import format.
  package var word: String {
    switch self {
    case .categories: "categories"
    case .ids: "ids"
    }
  }

  /// The grouping that a word names; nil if it names none.
  package init?(word: String) {
    switch word {
    case Self.categories.word: self = .categories
    case Self.ids.word: self = .ids
    default: return nil
    }
  }
}
