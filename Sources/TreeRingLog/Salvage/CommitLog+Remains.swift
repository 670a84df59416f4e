// Bytes of a commit that may remain on disk although the log no longer holds them: files beside its
// segments, and logged values without an operation that refers to them. A proof that data is erased
// checks these too.

extension CommitLog {
  /// Files in the log's folder that are not segments of the log.
  package struct Remains: Hashable, Sendable {
    /// Leftovers of rewriting: lower generations and unfinished files.
    package var leftovers: [String] = []
    /// Files that nothing removes automatically: segments that mode `prefix` set aside, and unknown
    /// files.
    package var setAside: [String] = []
  }

  /// The files beside the segments. Excludes a file that the log is creating at this moment for
  /// commits after `newest`. O(files).
  ///
  /// - Parameter newest: the newest commit to consider.
  package func remains(through newest: CommitNumber) throws(TreeRingError) -> Remains {
    core.rewriting.lock()
    defer { core.rewriting.unlock() }
    return try listRemains(through: newest)
  }

  /// Removes the leftovers, durably.
  package func removeLeftovers(through newest: CommitNumber) throws(TreeRingError) {
    core.rewriting.lock()
    defer { core.rewriting.unlock() }
    try core.checkPlace()
    for path in try listRemains(through: newest).leftovers { try core.fileSystem.unlink(path) }
    // Covers also files whose earlier removal was not made durable.
    try core.fileSystem.syncDirectory(core.directory)
  }

  private func listRemains(through newest: CommitNumber) throws(TreeRingError) -> Remains {
    let files = try core.fileSystem.list(core.directory).sorted()
    // After the listing: a segment begun since then is absent from the listing, known here, or
    // younger.
    let segments = segments
    let known = Set(segments.map(\.path))
    let firsts = Set(segments.map(\.firstCommit))
    var remains = Remains()
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
        remains.leftovers.append(path)
      default:
        if isTemporary { remains.leftovers.append(path) } else { remains.setAside.append(path) }
      }
    }
    return remains
  }

  /// The names of the logged values of a commit. O(64) headers.
  ///
  /// - Throws: `beyondHorizon`, `notFound`, `corruption`, `io`, `closed`.
  package func valueNames(of number: CommitNumber) throws(TreeRingError) -> [ValueName] {
    let result: Result<[ValueName], any Error> = Result {
      try withFrame(of: number) { frame in
        (0..<frame.fields.valueCount).map { ValueName(ValueEntry(frame.head, $0)) }
      }
    }
    return try typed(result)
  }
}
