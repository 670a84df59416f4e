// The position of a commit, which a checkpoint stores and the next opening verifies.

extension CommitLog {
  /// The position of a commit, for a checkpoint to store. The log must be synced through the commit
  /// before the position is written anywhere. O(64) headers.
  ///
  /// - Throws: `notFound` if the commit is not written yet; otherwise as `header(of:)`.
  package func position(of number: CommitNumber) throws(TreeRingError) -> LogPosition {
    if number == 0 { return try beginning() }
    return try withFrame(of: number) { (frame) throws(TreeRingError) in
      guard let segment = frame.segment else {
        throw TreeRingError(
          .notFound, "Commit \(number) has not been written yet. Wait until it is completed.",
          commit: number)
      }
      let chain = frame.head.number(UInt32.self, at: Format.Head.checksum)
      return LogPosition(
        in: segment, offset: frame.header.offset, chain: chain, commit: number,
        timestamp: frame.header.timestamp, identity: frame.header.checksum)
    }
  }

  /// The position after the first segment's header.
  private func beginning() throws(TreeRingError) -> LogPosition {
    let found = try core.withState { state throws(TreeRingError) -> (Segment, (any File)?)? in
      try state.checkOpen()
      if let first = state.segments.first { return (first, nil) }
      return state.active.map { ($0.segment, $0.file) }
    }
    guard let (segment, active) = found else {
      throw TreeRingError(
        .notFound, "The log in \(core.directory) has no segment.", file: core.directory)
    }
    let file: any File
    if let active { file = active } else { file = try files.file(segment.path) }
    let (header, head) = try SegmentScan.header(of: file, name: segment.header.name)
    return LogPosition(in: header, chain: head.checksum)
  }

  /// Decides whether the position to trust is accepted. A position that did not fit during recovery
  /// is still accepted if the log holds the same commit in another segment.
  func settleTrust(_ recovered: RecoveredLog) throws(TreeRingError) {
    guard let position = core.options.trusted else { return }
    let trust: LogTrust
    if recovered.isTrusted {
      trust = .accepted
    } else if let storeID = core.options.trustedStoreID, storeID != recovered.storeID {
      trust = .refused("it belongs to another store")
    } else {
      do throws(TreeRingError) {
        let found = try self.position(of: position.commit)
        if position.commit == 0 {
          trust = found.salt == position.salt ? .accepted : .refused("it belongs to another log")
        } else {
          trust =
            found.identity == position.identity && found.timestamp == position.timestamp
            ? .accepted : .refused("commit \(position.commit) is another one in this log")
        }
      } catch {
        guard error.code == .notFound || error.code == .beyondHorizon else { throw error }
        trust = .refused(error.message)
      }
    }
    core.withState { $0.trust = trust }
  }
}
