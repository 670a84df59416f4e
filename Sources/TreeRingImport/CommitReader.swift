// Reads commits from lines of the import format.

internal import TreeRingLog

/// Reads commits, one per line of JSON, the format of `treering export`.
///
///     var commits = CommitReader(LineReader(bytes: history))
///     while try commits.next() {
///       try copy.write { tx in try commits.line.apply(to: tx) }
///     }
public struct CommitReader {
  /// The commit read last.
  public private(set) var line = CommitLine()
  private let lines: LineReader

  /// Creates a reader of lines.
  public init(_ lines: LineReader) { self.lines = lines }

  /// Reads the next commit into ``line``; false at the end. O(length of the line).
  ///
  /// - Throws: `invalidInput`, with file, line and offset, if the line is no commit; an error of
  ///   the source. After an error ``line`` is undefined.
  public mutating func next() throws -> Bool {
    guard let text = try lines.next() else { return false }
    do throws(TreeRingError) { try line.parse(text) } catch { throw lines.located(error) }
    return true
  }
}
