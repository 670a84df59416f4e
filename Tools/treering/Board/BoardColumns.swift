// The columns of a board: the keys and the fields of the rows of the first state, or chosen fields.

import TreeRing
import TreeRingLive
import TreeRingLog
import TreeRingMappings

/// The columns of a board, with widths that fit the rows of one state.
struct BoardColumns {
  private var columns = ObjectColumns([], samples: [])
  private var showsKey = true
  private var widths: [Int] = []
  private var cellLimit: Int?
  /// Whether the state had rows, which determine the columns.
  private(set) var hasRows = false
  /// The heads of the columns.
  private(set) var head = ""

  /// No columns: rows are shown by their keys.
  init() {}

  /// The columns of a state, by its first rows.
  ///
  /// - Parameters:
  ///   - index: the index; the fields that order its rows come first.
  ///   - fields: the fields to show; nil for the key and every field.
  ///   - cellLimit: the most characters of a cell; nil for no limit.
  init(
    of shown: ShownRows, by index: String, in snapshot: Snapshot, fields: [JSONPath]?,
    cellLimit: Int?
  ) throws {
    self.cellLimit = cellLimit
    showsKey = fields == nil
    let rows = try Self.rows(of: shown).compactMap { try snapshot.row($0.key, in: $0.bucket) }
    hasRows = !rows.isEmpty
    let objects = rows.map(\.object)
    let leading = snapshot.orderFields(of: index)
    columns =
      fields.map { ObjectColumns($0, samples: objects) }
      ?? ObjectColumns(of: objects, leading: leading)
    let heads = (showsKey ? ["key"] : []) + columns.columns.map(\.head)
    widths = heads.map(\.count)
    for row in rows {
      for (index, cell) in cells(of: row).enumerated() {
        widths[index] = max(widths[index], cell.prefix(Self.widthLimit).count)
      }
    }
    head = padded(heads)
  }

  /// The first rows of a state. It finds them by path, because a section as a collection cannot
  /// throw when the index is unreadable.
  private static func rows(of shown: ShownRows) throws -> [RowID] {
    var rows: [RowID] = []
    for section in shown.sections {
      for index in section.indices where rows.count < sampleLimit {
        if let row = try shown.row(at: RowPath(section: section.index, row: index)) {
          rows.append(row)
        }
      }
    }
    return rows
  }

  /// The line of a row.
  func text(of id: RowID, in snapshot: Snapshot) throws -> String {
    guard let row = try snapshot.row(id.key, in: id.bucket) else {
      return JSONText.shown(key: id.key.bytes)
    }
    return padded(cells(of: row))
  }

  private func cells(of row: StoredRow) -> [String] {
    let fields = columns.cells(of: row.object, absent: "-", limit: cellLimit)
    return showsKey ? [JSONText.shown(key: row.key.bytes)] + fields : fields
  }

  /// The cells in their columns, without space at the end.
  private func padded(_ cells: [String]) -> String {
    var line = ""
    for (index, cell) in cells.enumerated() {
      let space = String(
        repeating: " ", count: max(0, widths[index] - cell.prefix(Self.widthLimit).count))
      let isRight = !(showsKey && index == 0) && columns.columns[index - (showsKey ? 1 : 0)].isRight
      line += isRight ? space + cell : cell + space
      line += "  "
    }
    while line.last == " " { line.removeLast() }
    return line
  }

  private static let sampleLimit = 500
  private static let widthLimit = 60
}
