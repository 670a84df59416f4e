// Commits that another replica has written, taken over unchanged. Each is checked against the state
// here as a replay checks it; nothing is left out, as salvage would.

package import TreeRingLog

extension Store {
  /// Takes over the commits in `frames`, in order, and makes them visible. Compares those that are
  /// here already. Costs a replay of each commit, and one write to the log for all.
  ///
  /// - Throws: `diverged` if a commit here is another one than that in `frames`, or one of these
  ///   does not fit the state here; `corruption`, `unsupportedFormat` for damaged frames; the
  ///   errors of a write. The commits before the failing one stay.
  package func adopt(
    _ frames: UnsafeRawBufferPointer, by reader: FrameReader
  ) throws {
    var last: SequencedWrite?
    var pageCount = 0
    do {
      try reader.forEachCommit(in: frames) { commit in
        if commit.header.number <= log.sequenced { return try compare(commit.header) }
        let sequenced = try adopt(commit)
        pageCount += sequenced.pageCount
        last = sequenced
      }
    } catch {
      if let last { try complete(last.ticket, pageCount: pageCount) }
      throw error
    }
    if let last { try complete(last.ticket, pageCount: pageCount) }
  }

  private func adopt(_ commit: ReadableCommit) throws -> SequencedWrite {
    let number = commit.header.number
    let sequenced = try sequence(durability: .unsynced, expecting: nil, adopts: true) { tx in
      guard tx.commit == number else {
        throw TreeRingError.diverged(number, "commit \(tx.commit) should come next")
      }
      let findings = try tx.adopt(commit, at: commit.header.timestamp).findings
      if let finding = findings.first { throw TreeRingError.diverged(number, finding.problem) }
    }
    // An earlier commit has its idempotency key.
    guard sequenced.commit == number else {
      throw TreeRingError.diverged(number, "it repeats commit \(sequenced.commit)")
    }
    return sequenced
  }

  /// Throws `diverged` if the store holds another commit of this number. Compaction may have
  /// rewritten commits at or below the horizon.
  private func compare(_ header: CommitHeader) throws(TreeRingError) {
    guard header.number > log.horizon else { return }
    guard try log.header(of: header.number).checksum == header.checksum else {
      throw TreeRingError.diverged(header.number, "another commit of that number is here")
    }
  }

  /// Ends the writes of this replica: undoes those that are not in the shared log. The caller has
  /// arranged that `CommitSharing` throws `notLeader`.
  package func endLeading() {
    // Writers that passed the check before have sequenced their commits; the sync ends these. A log
    // that fails here refuses the commits that come next, which reports it.
    try? writerLock.withLock {}
    try? log.sync()
  }

  /// Throws `notAllowed` inside the closure of a write, which would wait for itself.
  package func checkOutsideWrite() throws(TreeRingError) { try writerLock.checkOutside() }

  /// Begins the writes of this replica: registers its indexes and the versions of its buckets, and
  /// deletes what has expired.
  package func beginLeading() throws {
    try recordDefinitions()
    considerSweep()
  }

  /// The id that all replicas of the store have.
  package var storeID: UInt64 { log.storeID }
}

extension TreeRingError {
  /// - Parameter problem: A clause.
  package static func diverged(_ commit: CommitNumber, _ problem: String) -> TreeRingError {
    TreeRingError(
      .diverged,
      "Commit \(commit) of the shared log does not fit this store: \(problem). It was not taken. "
        + "Find out which of them is right; a new folder begins with the shared log's commits.",
      commit: commit)
  }
}
