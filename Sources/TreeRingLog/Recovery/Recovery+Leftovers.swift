// Removes files of the log's folder that are not current segments.
//
// - A lower generation is removed after this opening has read its replacement whole and found there
//   every commit of the lower one. Until then it may be the only sound copy. So an opening from a
//   trusted position also reads a segment whole if it has a lower generation.
// - An unfinished temporary file is removed: nothing depends on it.
// - Both are removed once the whole log has been judged, and before any other change: the opening
//   may need their room.
// - A tail that recovery has copied to another segment is cut off under the same condition.
// - Mode `prefix` renames lower generations from the flaw on, as it renames the files that replaced
//   them. Under their own names they would become current again.

/// The files of a log's folder.
struct LogFiles {
  /// The current segments, oldest first.
  var names: [SegmentName] = []
  /// Lower generations of the current segments.
  var lower: [SegmentName] = []
  /// Unfinished temporary files.
  var temporary: [String] = []

  init(_ found: [String]) {
    var newest: [CommitNumber: SegmentName] = [:]
    for name in found.compactMap(SegmentName.init(fileName:)).sorted() {
      if let other = newest.updateValue(name, forKey: name.firstCommit) { lower.append(other) }
    }
    names = newest.values.sorted()
    temporary = found.filter { $0.hasSuffix(Format.temporarySuffix) }.sorted()
  }

  /// The lower generations and the temporary files.
  var leftovers: [String] { lower.map(\.fileName) + temporary }

  /// Removes the names of the segments that begin after a commit, except the first.
  mutating func removeSegments(after last: CommitNumber) {
    while names.count > 1, let name = names.last, name.firstCommit > last { names.removeLast() }
  }
}

extension Recovery {
  /// True if a lower generation of the segment is present and may be removed.
  func isReplacing(_ name: SegmentName) -> Bool {
    mayWrite && files.lower.contains { $0.firstCommit == name.firstCommit }
  }

  /// Throws if a segment that was read whole lacks a commit that a lower generation of it holds.
  func checkReplaced(by scan: SegmentScan, _ name: SegmentName) throws(TreeRingError) {
    guard mayWrite else { return }
    for lower in files.lower where lower.firstCommit == name.firstCommit {
      let file = try fileSystem.open("\(directory)/\(lower.fileName)", .readOnly)
      defer { file.close() }
      let last: CommitNumber
      do throws(TreeRingError) {
        last = try SegmentScan.scan(file, name: lower).lastCommit
      } catch {
        // It holds nothing readable.
        guard error.code == .corruption else { throw error }
        continue
      }
      guard scan.lastCommit < last else { continue }
      throw scan.corrupt(
        "\(lower.fileName), which the segment replaces, reaches to commit \(last)",
        commit: scan.lastCommit + 1)
    }
  }

  /// Removes temporary files, and the lower generations of segments that begin before `bound`. The
  /// replacements of these must have been read whole.
  /// - Returns: the remaining lower generations.
  @discardableResult
  mutating func removeLeftovers(
    before bound: CommitNumber = .max
  ) throws(TreeRingError) -> [SegmentName] {
    let names = files.lower.filter { $0.firstCommit < bound }.map(\.fileName) + files.temporary
    for name in names {
      let path = "\(directory)/\(name)"
      try fileSystem.unlink(path)
      report.removedFiles.append(path)
      report.notes.append("Removed \(path), a leftover of an interrupted operation.")
    }
    if !names.isEmpty { try fileSystem.syncDirectory(directory) }
    return files.lower.filter { $0.firstCommit >= bound }
  }

  /// Records the tail that recovery has copied from this segment to the next one.
  mutating func noteSuperseded(_ scan: SegmentScan, _ file: any File) throws(TreeRingError) {
    var last = scan.lastCommit
    if scan.isSuperseded, scan.last != nil {
      last = try SegmentScan.scan(file, scan.header, from: scan.next).lastCommit
    }
    cuts.append(
      SupersededTail(
        path: scan.path, offset: scan.end.offset, byteCount: scan.fileSize - scan.end.offset,
        lastCommit: last))
  }

  /// Throws if the log, whose last segment was read, lacks a commit that recovery had copied.
  func checkSuperseded(by scan: SegmentScan) throws(TreeRingError) {
    guard let cut = cuts.first(where: { scan.lastCommit < $0.lastCommit }) else { return }
    throw scan.corrupt(
      "\(cut.path), whose commits were copied to later segments, reaches to commit "
        + "\(cut.lastCommit)", commit: scan.lastCommit + 1)
  }

  /// Cuts off the copied tails, durably. Also syncs a file that a killed opening has already cut.
  mutating func cutSuperseded() throws(TreeRingError) {
    for cut in cuts {
      let file = try fileSystem.open(cut.path, .readWrite)
      defer { file.close() }
      if cut.byteCount > 0 {
        try file.truncate(to: cut.offset)
        report.notes.append(
          "Cut \(cut.path) at offset \(cut.offset): the next segment holds the commits after it.")
      }
      try file.sync(.whole)
    }
  }
}

/// The tail of a segment that recovery has copied to the next segment.
struct SupersededTail {
  var path: String
  var offset: UInt64
  var byteCount: UInt64
  /// The last commit in it.
  var lastCommit: CommitNumber
}
