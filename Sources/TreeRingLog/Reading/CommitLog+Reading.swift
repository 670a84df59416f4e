// Reads single commits. A lookup finds the nearest earlier entry in the sparse directory of the
// segment, and then walks over at most 63 headers, checking each. FrameCache.swift keeps the end of
// the walk, so the next walk in the same stride begins there. Commits that are sequenced but not
// written are read from memory. If a compacted segment lacks a commit below its horizon, compaction
// has removed it. Any other absence is damage.

extension CommitLog {
  /// The location at which the search for a commit's frame begins.
  enum FrameLocation {
    /// The file, the entry at which the walk begins, and the end of the written bytes.
    case file(
      any File, header: SegmentHeader, from: SegmentDirectory.Entry, end: UInt64)
    /// A copy of the frame's bytes, for a commit that is not written yet.
    case memory(path: String, offset: UInt64, headerByteCount: Int, bytes: [UInt8])
  }

  /// The header of a commit. O(64) headers.
  ///
  /// - Throws: `beyondHorizon`, `notFound`, `corruption`, `io`, `closed`.
  package func header(of number: CommitNumber) throws(TreeRingError) -> CommitHeader {
    try withFrame(of: number) { $0.header }
  }

  /// Calls `body` with the payload of a commit. The bytes are valid until `body` returns. Errors of
  /// `body` are rethrown.
  ///
  /// - Throws: `beyondHorizon`, `notFound`, `corruption`, `io`, `closed`.
  package func readPayload<R>(
    of number: CommitNumber,
    _ body: (CommitHeader, UnsafeRawBufferPointer) throws(TreeRingError) -> R
  ) throws(TreeRingError) -> R {
    try withFrame(of: number) { (frame) throws(TreeRingError) in
      let stored = try frame.bytes(
        at: UInt64(frame.head.count), count: frame.fields.payloadStored)
      guard let plain = frame.decoder.payload(stored, frame.fields) else {
        throw TreeRingError.corruptLog(
          "the payload's checksum is wrong", file: frame.header.file, offset: frame.header.offset,
          commit: number)
      }
      return try body(frame.header, plain)
    }
  }

  /// The newest commit whose timestamp is not after `moment`; 0 if there is none. O(log n) plus a
  /// walk over at most 63 headers.
  package func newest(atOrBefore moment: Timestamp) throws(TreeRingError) -> CommitNumber {
    try search(moment)
  }

  // MARK: Finding

  /// A frame with a checked header.
  struct FoundFrame {
    var header: CommitHeader
    /// The header of its segment; nil if the frame is not written yet.
    var segment: SegmentHeader?
    var fields: CommitFields
    /// The header's bytes, valid until `bytes` is called.
    var head: UnsafeRawBufferPointer
    var decoder: Decoder
    var source: Source

    /// The source of the frame's bytes.
    enum Source {
      case file(SegmentReader)
      case memory(UnsafeRawBufferPointer)
    }

    /// Stored bytes of the frame; `offset` counts from its start.
    func bytes(at offset: UInt64, count: UInt64) throws(TreeRingError) -> UnsafeRawBufferPointer {
      switch source {
      case .file(let reader): try reader.bytes(at: header.offset + offset, count: Int(count))
      case .memory(let frame): frame.part(Int(offset), Int(count))
      }
    }
  }

  func withFrame<R>(
    of number: CommitNumber, _ body: (FoundFrame) throws(TreeRingError) -> R
  ) throws(TreeRingError) -> R {
    try withFrame(of: number, at: try locate(number), body)
  }

  func withFrame<R>(
    of number: CommitNumber, at location: FrameLocation,
    _ body: (FoundFrame) throws(TreeRingError) -> R
  ) throws(TreeRingError) -> R {
    try decoders.withDecoder { (decoder) throws(TreeRingError) in
      switch location {
      case .memory(let path, let offset, let headerByteCount, let bytes):
        return try bytes.withUnsafeBytes { (frame) throws(TreeRingError) in
          let head = frame.part(0, headerByteCount)
          let fields = CommitFields(head)
          return try body(
            FoundFrame(
              header: CommitHeader(fields, UInt64(frame.count), path, offset), segment: nil,
              fields: fields, head: head, decoder: decoder, source: .memory(frame)))
        }
      case .file(let file, let segment, let entry, let end):
        let path = file.path
        let reader = SegmentReader(
          file: file, end: end, chunk: Self.lookupByteCount, window: decoder.window)
        var stride = frames.stride(from: entry, in: segment)
        var offset = stride.offset(toward: number)
        while true {
          let frame = try reader.nextFrame(at: offset, salt: segment.salt)
          if let fields = frame.commit {
            stride.append(fields.number, at: offset..<offset + frame.byteCount)
            if fields.number >= number {
              frames.keep(stride, in: segment)
              guard fields.number == number else { break }
              return try body(
                FoundFrame(
                  header: CommitHeader(fields, frame.byteCount, path, offset), segment: segment,
                  fields: fields, head: reader.bytes(at: offset, count: frame.head.byteCount),
                  decoder: decoder, source: .file(reader)))
            }
          }
          offset += frame.byteCount
        }
        if segment.isCompacted, number < segment.horizon { throw removed(number) }
        throw TreeRingError.corruptLog(
          "a commit is missing", file: path, offset: offset, commit: number)
      }
    }
  }

  /// The number of bytes per read when a single commit is looked up.
  static let lookupByteCount = 16 << 10

  func locate(_ number: CommitNumber) throws(TreeRingError) -> FrameLocation {
    let (location, active) = try core.withState {
      state throws(TreeRingError) -> (FrameLocation?, (Segment, any File)?) in
      try state.checkOpen()
      try Self.checkRange(number, state)
      if number > state.completed { return (Self.pending(number, state), nil) }
      guard let active = state.active, number >= active.header.firstCommit else {
        return (nil, nil)
      }
      if let entry = active.directory.loadedEntry(atOrBefore: number) {
        let location = FrameLocation.file(
          active.file, header: active.header, from: entry, end: active.written.offset)
        return (location, nil)
      }
      return (nil, (active.segment, active.file))
    }
    if let location { return location }
    var found = active
    if found == nil { found = try sealed(holding: number) }
    guard let (segment, file) = found else {
      throw absent(number)
    }
    guard let entry = try segment.directory.entry(atOrBefore: number, file) else {
      if segment.header.isCompacted, number < segment.header.horizon { throw removed(number) }
      throw absent(number)
    }
    return .file(file, header: segment.header, from: entry, end: segment.end)
  }

  /// The error for a commit that the log does not hold.
  func absent(_ number: CommitNumber) -> TreeRingError {
    TreeRingError(
      .notFound,
      "The log in \(core.directory) does not hold commit \(number). Check it with `treering "
        + "verify`.",
      file: core.directory, commit: number)
  }

  private static func checkRange(
    _ number: CommitNumber, _ state: borrowing GroupCommit.State
  ) throws(TreeRingError) {
    let first = state.segments.first?.header.firstCommit ?? state.active?.header.firstCommit ?? 1
    if number < first, number > 0 {
      throw TreeRingError(
        .beyondHorizon,
        "Commit \(number) lies before \(first), the oldest in the log. Read a later one.",
        commit: number)
    }
    guard number >= first, number <= state.sequenced else {
      throw TreeRingError(
        .notFound, "Commit \(number) does not exist; the newest is \(state.sequenced).",
        commit: number)
    }
  }

  private static func pending(_ number: CommitNumber, _ state: borrowing GroupCommit.State)
    -> FrameLocation?
  {
    guard let (batch, frame) = state.pendingFrame(number) else { return nil }
    return .memory(
      path: state.active?.path ?? "", offset: frame.offset,
      headerByteCount: frame.headerByteCount,
      bytes: [UInt8](batch.buffer.bytes.part(frame.bufferIndex, frame.byteCount)))
  }

  static func segment(holding number: CommitNumber, _ segments: [Segment]) -> Segment? {
    segments[..<segments.partitioningIndex { $0.header.firstCommit > number }].last
  }

  // MARK: By date

  private func search(_ moment: Timestamp) throws(TreeRingError) -> CommitNumber {
    let (segments, active, limit) = try core.withState { state throws(TreeRingError) in
      try state.checkOpen()
      return (state.segments, state.active, state.sequenced)
    }
    var entry = try active.flatMap { active throws(TreeRingError) in
      try active.directory.entry(atOrBefore: moment, active.file)
    }
    if entry == nil {
      let later = try segments.partitioningIndex { (segment) throws(TreeRingError) in
        guard let (segment, file) = try sealed(holding: segment.header.firstCommit),
          let first = try segment.directory.firstEntry(file)
        else { return false }
        return first.timestamp > moment
      }
      for segment in segments[..<later].reversed() where entry == nil {
        guard let (segment, file) = try sealed(holding: segment.header.firstCommit) else {
          continue
        }
        entry = try segment.directory.entry(atOrBefore: moment, file)
      }
    }
    guard let entry else { return 0 }
    var newest = entry.commit
    // Ends at the first later commit, which does not lie after the next entry.
    try replay(from: entry.commit, through: limit) { header, _ in
      guard header.timestamp <= moment else { return false }
      newest = header.number
      return true
    }
    return newest
  }
}
