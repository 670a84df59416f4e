// Reads a log while its segments are rewritten. When a reader opens a path that it took from the
// state, a higher generation may have replaced the file.

extension CommitLog {
  /// The oldest commit whose state is still complete: the largest horizon that a segment was
  /// compacted for; 0 if none was. Of the commits below it, some are present and some are removed.
  package var horizon: CommitNumber {
    core.withState { $0.segments.reduce(0) { max($0, $1.header.horizon) } }
  }

  /// The error for a commit that compaction removed.
  func removed(_ number: CommitNumber) -> TreeRingError {
    let horizon = horizon
    return TreeRingError(
      .beyondHorizon,
      "Compaction removed commit \(number). Read commit \(horizon) or a later one.",
      commit: number, current: horizon)
  }

  /// The sealed segment that covers a commit, and its open file; nil if there is none. The file
  /// stays readable after the segment is rewritten.
  func sealed(
    holding number: CommitNumber
  ) throws(TreeRingError) -> (Segment, any File)? {
    var missing: String?
    var refreshes = 0
    while true {
      let found = core.withState { state in Self.segment(holding: number, state.segments) }
      guard let found else { return nil }
      do throws(TreeRingError) {
        let file = try files.file(found.path)
        try found.directory.check(file)
        return (found, file)
      } catch  where error.code == .notFound && found.path != missing {
        // The segment was rewritten between the two steps, unless the path is the same as before.
        missing = found.path
      } catch
        where error.code == .notFound && core.options.access == .readOnly
        && refreshes < Recovery.attempts
      {
        // The writer's process has rewritten it.
        refreshes += 1
        try refresh()
      }
    }
  }
}
