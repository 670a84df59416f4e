// Tables of rows: fixed columns such as the key, then a column for each field of the objects. The
// first rows determine the columns, as they do the widths.

import TreeRing
import TreeRingLive

/// A table of rows on standard output.
final class RowTable {
  private let output: Output
  private let fixed: [Table.Column]
  private let arguments: ColumnArguments
  private let leading: [JSONPath]
  private var waiting: [(cells: [String], object: [UInt8])] = []
  private var waitingByteCount = 0
  private var table: Table?
  private var columns: ObjectColumns?
  /// Whether a later row has fields without a column.
  private var omitsFields = false
  private static let waitingLimit = 500
  private static let waitingByteLimit = 1 << 20

  /// - Parameters:
  ///   - fixed: the columns before those of the fields.
  ///   - leading: the fields to begin with, unless the user chose fields.
  init(
    _ output: Output, _ fixed: [Table.Column], _ arguments: ColumnArguments,
    leading: [JSONPath] = []
  ) {
    self.output = output
    self.fixed = fixed
    self.arguments = arguments
    self.leading = leading
  }

  /// Adds a row.
  func row(_ cells: String..., object: [UInt8]) throws {
    if columns != nil { return try print(cells, object) }
    waiting.append((cells, object))
    waitingByteCount += object.count
    if waiting.count >= Self.waitingLimit || waitingByteCount >= Self.waitingByteLimit {
      try begin()
    }
  }

  /// Prints the rows that wait for the columns. A table without rows prints nothing.
  func finish() throws {
    if columns == nil, !waiting.isEmpty { try begin() }
    try table?.finish()
    if omitsFields {
      output.notice(
        "Some rows have fields that the first \(Self.waitingLimit) have not. Choose fields with "
          + "--columns, or print whole objects with --json.")
    }
  }

  private func begin() throws {
    let samples = waiting.map(\.object)
    let columns =
      arguments.columns.map { ObjectColumns($0, samples: samples) }
      ?? ObjectColumns(of: samples, leading: leading)
    self.columns = columns
    table = Table(output, fixed + columns.columns, isWide: arguments.wide)
    for row in waiting { try print(row.cells, row.object) }
    waiting = []
  }

  private func print(_ cells: [String], _ object: [UInt8]) throws {
    guard let columns, let table else { return }
    let limit = arguments.wide || !output.isTerminal ? nil : ColumnArguments.cellLimit
    try table.row(cells + columns.cells(of: object, limit: limit))
    if arguments.columns == nil, !omitsFields, columns.omits(object) { omitsFields = true }
  }
}
