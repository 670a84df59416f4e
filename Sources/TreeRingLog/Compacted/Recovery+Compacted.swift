// Checks compacted segments during recovery. A compacted segment was sealed before it got its name,
// so it never has a torn tail. The log must reach its horizon, because states below the horizon are
// incomplete.

extension Recovery {
  /// Throws if the segment is compacted and damaged or incomplete.
  func checkCompacted(_ scan: SegmentScan) throws(TreeRingError) {
    guard scan.header.isCompacted else { return }
    if let flaw = scan.flaw {
      throw scan.error(flaw, commit: scan.directory.lastCommit + 1)
    }
    guard scan.lastKind == .directory else {
      throw scan.corrupt("a compacted segment has lost its directory")
    }
  }

  /// Throws if the log, of which this is the last segment, ends before its own horizon.
  func checkHorizon(_ scan: SegmentScan) throws(TreeRingError) {
    let horizon = segments.reduce(scan.header.horizon) { max($0, $1.header.horizon) }
    guard scan.lastCommit < horizon else { return }
    throw scan.corrupt(
      "it was compacted for the horizon \(horizon) and ends before it", commit: horizon)
  }

  /// Throws `flaw`, at which mode `prefix` cuts the log, unless the part before it is a whole log.
  /// A compacted segment cannot be cut in two, nor a log before its horizon.
  func checkCut(at scan: SegmentScan, _ flaw: TreeRingError) throws(TreeRingError) {
    let isCut = scan.flaw != nil || scan.lastKind != .directory
    if scan.header.isCompacted, isCut { throw flaw }
    do throws(TreeRingError) { try checkHorizon(scan) } catch { throw flaw }
  }
}
