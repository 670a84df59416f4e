// One reader of a window's changes: the rows that may differ from those that it shows. It keeps no
// queue, so a reader that does not read costs at most the rows of two states.

internal import TreeRing
internal import TreeRingMappings

/// The position of a reader.
struct WindowReader: Sendable {
  /// The rows that it shows.
  private var shown = ListedRows()
  private var changed: [RowReference: Parts] = [:]
  /// The version of the window's rows that it has taken; 0 for none.
  private(set) var version = 0
  /// A refusal of the server, which the reader has not been told.
  var refusal: RemoteError?
  /// Whether the reader has been told of the window's end.
  var knowsEnd = false

  /// Adds rows that may differ in the next state. Rows that neither state shows are left out.
  mutating func add(_ rows: [RowReference: Parts], to next: ListedRows) {
    if version == 0 { return }
    for (row, parts) in rows {
      if shown.contains(row) || next.contains(row) {
        changed[row, default: []].formUnion(parts)
      } else {
        changed[row] = nil
      }
    }
  }

  /// Advances to a state; returns the rows that may differ.
  mutating func take(_ next: ListedRows, version: Int) -> [RowReference: Parts] {
    defer { changed = [:] }
    self.version = version
    shown = next
    return changed
  }
}
