// Reads many commits in sequence at full memory speed: large reads, one decoder, one buffer.

extension CommitLog {
  /// Calls `body` with each commit of a range and its payload, in order, until `body` returns false
  /// or throws. The bytes are valid until `body` returns. Includes commits that are not written
  /// yet; skips commits that compaction removed.
  ///
  /// - Throws: errors of `body`; `beyondHorizon`, `notFound`, `corruption`, `io`, `closed`.
  package func replay(
    from: CommitNumber, through: CommitNumber,
    _ body: (CommitHeader, UnsafeRawBufferPointer) throws(TreeRingError) -> Bool
  ) throws(TreeRingError) {
    var next = from
    while next <= through {
      guard let (segment, file) = try written(holding: next) else {
        // Commits in memory are few, so they are read one at a time.
        let more = try readPayload(of: next, body)
        guard more else { return }
        next += 1
        continue
      }
      let last = min(through, segment.directory.lastCommit)
      if next <= last {
        let wentOn = try decoders.withDecoder { (decoder) throws(TreeRingError) in
          try replay(segment, file, from: next, through: last, decoder, body)
        }
        guard wentOn else { return }
      }
      next = max(last, segment.lastCommit) + 1
    }
  }

  /// The same for a body that may throw any error.
  package func replayRethrowing(
    from: CommitNumber, through: CommitNumber,
    _ body: (CommitHeader, UnsafeRawBufferPointer) throws -> Bool
  ) throws {
    var failure: (any Error)?
    try replay(from: from, through: through) { header, payload in
      do {
        return try body(header, payload)
      } catch {
        failure = error
        return false
      }
    }
    if let failure { throw failure }
  }

  /// The segment that covers a written commit, and its file; nil if the commit is not written yet.
  private func written(
    holding number: CommitNumber
  ) throws(TreeRingError) -> (Segment, any File)? {
    let (isWritten, active) = try core.withState {
      state throws(TreeRingError) -> (Bool, (Segment, any File)?) in
      try state.checkOpen()
      guard number <= state.completed else { return (false, nil) }
      guard let active = state.active, number >= active.header.firstCommit else {
        return (true, nil)
      }
      let segment = active.segment(
        completed: state.completed, timestamp: state.completedTimestamp)
      return (true, (segment, active.file))
    }
    guard isWritten, active == nil else { return active }
    return try sealed(holding: number)
  }

  /// Replays part of one segment. Returns false if `body` stopped the replay.
  private func replay(
    _ segment: Segment, _ file: any File, from: CommitNumber, through: CommitNumber,
    _ decoder: Decoder,
    _ body: (CommitHeader, UnsafeRawBufferPointer) throws(TreeRingError) -> Bool
  ) throws(TreeRingError) -> Bool {
    let directory = segment.directory
    var entry = try directory.entry(atOrBefore: from, file)
    if segment.header.isCompacted, entry == nil { entry = try directory.firstEntry(file) }
    guard let entry else {
      throw absent(from)
    }
    let reader = SegmentReader(
      file: file, end: segment.end, window: decoder.window)
    var (offset, expected) = (entry.offset, entry.commit)
    while expected <= through {
      let frame = try reader.nextFrame(
        at: offset, salt: segment.header.salt, commit: expected)
      if let fields = frame.commit {
        guard segment.header.admits(fields.number, after: expected - 1) else {
          throw TreeRingError.corruptLog(
            "a commit is missing", file: segment.path, offset: offset, commit: expected)
        }
        if fields.number > through { return true }
        if fields.number >= from {
          let stored = try reader.bytes(
            at: offset + UInt64(frame.head.byteCount), count: Int(fields.payloadStored))
          guard let plain = decoder.payload(stored, fields) else {
            throw TreeRingError.corruptLog(
              "the payload's checksum is wrong", file: segment.path, offset: offset,
              commit: expected)
          }
          let header = CommitHeader(fields, frame.byteCount, segment.path, offset)
          guard try body(header, plain) else { return false }
        }
        expected = fields.number + 1
      }
      offset += frame.byteCount
    }
    return true
  }
}
