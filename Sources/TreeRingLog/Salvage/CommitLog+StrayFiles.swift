// Data that the log no longer refers to but that may still be on disk: files beside its segments,
// and logged values without an operation. The proof of an erasing checks both.

extension CommitLog {
  /// Files in the log's folder that are not segments of the log.
  package struct StrayFiles: Hashable, Sendable {
    /// Leftovers of an interrupted rewriting: lower generations and unfinished files.
    package var leftovers: [String] = []
    /// Files that TreeRing never removes: segments that mode `prefix` set aside, and unknown files.
    package var setAside: [String] = []
  }

  /// The files beside the segments. Excludes a segment that the log is creating concurrently for
  /// commits after `newest`. O(files).
  ///
  /// - Parameter newest: the newest commit to consider.
  package func strayFiles(through newest: CommitNumber) throws(TreeRingError) -> StrayFiles {
    try core.rewriting.withLock { _ throws(TreeRingError) in
      try listStrayFiles(through: newest)
    }
  }

  /// Removes the leftovers, durably.
  package func removeLeftovers(through newest: CommitNumber) throws(TreeRingError) {
    try core.rewriting.withLock { _ throws(TreeRingError) in
      try core.checkFolder()
      for path in try listStrayFiles(through: newest).leftovers { try core.fileSystem.unlink(path) }
      // Needed even without a removal here: an earlier one may not be durable yet.
      try core.fileSystem.syncDirectory(core.directory)
    }
  }

  private func listStrayFiles(through newest: CommitNumber) throws(TreeRingError) -> StrayFiles {
    let files = try core.fileSystem.list(core.directory).sorted()
    // Taken after the listing: so every listed segment up to `newest` is known here.
    let segments = segments
    let known = Set(segments.map(\.path))
    let firsts = Set(segments.map(\.firstCommit))
    var stray = StrayFiles()
    for file in files where file.contains(Format.segmentSuffix) {
      let path = "\(core.directory)/\(file)"
      if known.contains(path) { continue }
      let isTemporary = file.hasSuffix(Format.temporarySuffix)
      let name = SegmentName(
        fileName: isTemporary
          ? file.dropLast(Format.temporarySuffix.utf8.count) + Format.segmentSuffix : file)
      switch name {
      case let name? where name.firstCommit > newest: continue
      case let name? where isTemporary || firsts.contains(name.firstCommit):
        stray.leftovers.append(path)
      default:
        if isTemporary { stray.leftovers.append(path) } else { stray.setAside.append(path) }
      }
    }
    return stray
  }

  /// The names of the logged values of a commit. O(64) headers.
  ///
  /// - Throws: `beyondHorizon`, `notFound`, `corruption`, `io`, `closed`.
  package func valueNames(of number: CommitNumber) throws(TreeRingError) -> [ValueName] {
    try withFrame(of: number) { ValueEntry.table(of: $0.head).map { ValueName($0) } }
  }
}
