// What may hold bytes of a commit although the log no longer does: files beside its segments, and logged
// values that no operation refers to. Whoever proves that something is gone looks here too.

extension CommitLog {
  /// Files in the log's folder that are no segment of it.
  package struct Remains: Hashable, Sendable {
    /// What rewriting left: files of older generations and of work that was not finished.
    package var leftovers: [String] = []
    /// What nothing removes by itself: segments that mode `prefix` has set aside, and unknown files.
    package var setAside: [String] = []
  }

  /// The files beside the segments. What the log itself may be making at this moment, for commits after
  /// one, is not among them. O(files).
  ///
  /// - Parameter newest: the newest commit that matters.
  package func remains(through newest: CommitNumber) throws(TreeRingError) -> Remains {
    core.rewriting.lock()
    defer { core.rewriting.unlock() }
    return try listRemains(through: newest)
  }

  /// Removes the leftovers, durably.
  package func removeLeftovers(through newest: CommitNumber) throws(TreeRingError) {
    core.rewriting.lock()
    defer { core.rewriting.unlock() }
    for path in try listRemains(through: newest).leftovers { try core.fileSystem.unlink(path) }
    // Also for files whose removal was not made durable before.
    try core.fileSystem.syncDirectory(core.directory)
  }

  private func listRemains(through newest: CommitNumber) throws(TreeRingError) -> Remains {
    let files = try core.fileSystem.list(core.directory).sorted()
    // After the listing: a segment begun meanwhile is not in it, or is known here, or is younger.
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

  /// Which logged values a commit carries. O(64) headers.
  ///
  /// - Throws: `beyondHorizon`, `notFound`, `corruption`, `io`, `closed`.
  package func valueNames(of number: CommitNumber) throws(TreeRingError) -> [ValueName] {
    let result: Result<[ValueName], any Error> = Result {
      try withFrame(of: number) { frame in
        frame.headBytes.withUnsafeBytes { head in
          (0..<frame.fields.valueCount).map { ValueName(ValueEntry(head, $0)) }
        }
      }
    }
    return try typed(result)
  }
}

/// A logged value's place in its commit.
package struct ValueName: Hashable, Sendable {
  /// The index of the operation.
  package var operation: UInt32
  /// The number of the part, which may be one that this version does not know.
  package var part: UInt32

  package init(_ operation: UInt32, _ part: ValuePart) {
    self.operation = operation
    self.part = UInt32(part.rawValue)
  }

  init(_ entry: ValueEntry) { (operation, part) = (entry.operation, entry.part) }
}
