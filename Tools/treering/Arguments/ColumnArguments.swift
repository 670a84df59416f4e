// Command-line arguments for the columns of a table of objects.

import ArgumentParser
import TreeRing
import TreeRingLog

/// The fields that a table shows as columns.
struct ColumnArguments: ParsableArguments {
  @Option(
    help: "F,…: The fields to show as columns. By default all that the first rows have.",
    transform: Self.paths)
  var columns: [JSONPath]?
  @Flag(help: "Cut neither long cells nor lines at the edge of the terminal.") var wide = false

  /// The most characters of a cell on a terminal.
  static let cellLimit = 40

  /// Reads a list of fields.
  @Sendable static func paths(_ text: String) throws -> [JSONPath] {
    do throws(TreeRingError) {
      return try NegativeNumber.shown(text).split(separator: ",", omittingEmptySubsequences: false)
        .map { field throws(TreeRingError) in try JSONPath(field) }
    } catch {
      throw ValidationError(error.description)
    }
  }
}
