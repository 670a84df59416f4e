// Reads logged values. A read costs one search in the index of the commit's value table and one
// read of the value. The table is checked once and its index cached, so the cost hardly depends on
// the number of values.

extension CommitLog {
  /// A logged value. O(log n) in the commit's n values, after the commit's header was read once.
  ///
  /// - Throws: `notFound` if the commit has no such value; `beyondHorizon` if compaction may have
  ///   removed it; otherwise as `readPayload`.
  package func value(
    commit number: CommitNumber, operation: UInt32, part: ValuePart
  ) throws(TreeRingError) -> [UInt8] {
    let name = ValueName(operation, part)
    guard let stored = try pendingValue(name, of: number) else {
      return try writtenValue(name, of: number)
    }
    return try decoders.withDecoder { (decoder) throws(TreeRingError) in
      try stored.bytes.withUnsafeBytes { (bytes) throws(TreeRingError) in
        try plain(bytes, stored.entry, of: number, stored.frame, decoder)
      }
    }
  }

  // MARK: - In files

  /// The location of a commit's frame, for error messages.
  private struct FileLocation {
    var path: String
    var offset: UInt64

    func error(of number: CommitNumber, _ what: String) -> TreeRingError {
      .corruptLog(what, file: path, offset: offset, commit: number)
    }
  }

  private func writtenValue(
    _ name: ValueName, of number: CommitNumber
  ) throws(TreeRingError) -> [UInt8] {
    let location = try locate(number)
    if case .file(let file, let segment, _, let end) = location,
      let known = frames.values(of: number, in: segment)
    {
      return try decoders.withDecoder { (decoder) throws(TreeRingError) in
        let reader = SegmentReader(
          file: file, end: end, chunk: Self.lookupByteCount, window: decoder.window)
        return try value(
          name, of: number, segment, known.table, decoder,
          FileLocation(path: file.path, offset: known.frameOffset)
        ) { (offset, count) throws(TreeRingError) in
          try reader.bytes(at: known.frameOffset + offset, count: Int(count))
        }
      }
    }
    return try withFrame(of: number, at: location) { (frame) throws(TreeRingError) in
      let table = ValueTable(frame.head, frame.fields)
      if table.isLarge, let segment = frame.segment {
        frames.keep(
          FrameCache.Values(frameOffset: frame.header.offset, table: table), of: number,
          in: segment)
      }
      return try value(
        name, of: number, frame.segment, table, frame.decoder,
        FileLocation(path: frame.header.file, offset: frame.header.offset)
      ) { (offset, count) throws(TreeRingError) in try frame.bytes(at: offset, count: count) }
    }
  }

  /// Finds and decodes a value.
  ///
  /// - Parameter bytes: returns bytes of the commit's frame; offsets count from its start.
  private func value(
    _ name: ValueName, of number: CommitNumber, _ segment: SegmentHeader?, _ table: ValueTable,
    _ decoder: Decoder, _ location: FileLocation,
    _ bytes: (_ offset: UInt64, _ count: UInt64) throws(TreeRingError) -> UnsafeRawBufferPointer
  ) throws(TreeRingError) -> [UInt8] {
    let found: ValueTable.Found?
    switch try table.find(name, bytes) {
    case .success(let value): found = value
    case .failure(let flaw): throw location.error(of: number, flaw.problem)
    }
    if let found {
      let stored = try bytes(found.offset, UInt64(found.entry.stored))
      return try plain(stored, found.entry, of: number, location, decoder)
    }
    if let segment, segment.isCompacted, number <= segment.horizon {
      let horizon = horizon
      throw TreeRingError(
        .beyondHorizon,
        "Compaction removed a value that commit \(number) wrote; history is kept from commit "
          + "\(horizon) on. Read a state from there on.", commit: number,
        current: horizon)
    }
    throw absent(name, of: number)
  }

  private func absent(_ name: ValueName, of number: CommitNumber) -> TreeRingError {
    TreeRingError(
      .notFound,
      "Commit \(number) has no logged value for operation \(name.operation). Check the log with "
        + "`treering verify`.",
      commit: number)
  }

  /// Decodes a value from the bytes of its LZ4 frame.
  private func plain(
    _ stored: UnsafeRawBufferPointer, _ entry: ValueEntry, of number: CommitNumber,
    _ location: FileLocation, _ decoder: Decoder
  ) throws(TreeRingError) -> [UInt8] {
    if let plain = decoder.value(stored, entry) { return plain }
    throw location.error(of: number, "the checksum of a value is wrong")
  }

  // MARK: - In memory

  /// A value of a commit that is not written yet: a copy of its LZ4 frame. Nil if the commit is
  /// written.
  private func pendingValue(
    _ name: ValueName, of number: CommitNumber
  ) throws(TreeRingError) -> (bytes: [UInt8], entry: ValueEntry, frame: FileLocation)? {
    try core.withState { state throws(TreeRingError) in
      guard number > state.completed, let (batch, frame) = state.pendingFrame(number) else {
        return nil
      }
      let bytes = batch.buffer.bytes.part(frame.bufferIndex, frame.byteCount)
      let table: ValueTable
      if let known = batch.values[number] {
        table = known
      } else {
        let head = bytes.part(0, frame.headerByteCount)
        table = ValueTable(head, CommitFields(head))
        batch.values[number] = table
      }
      let location = FileLocation(path: state.active?.path ?? "", offset: frame.offset)
      let found = try table.find(name) { offset, count in bytes.part(Int(offset), Int(count)) }
      guard case .success(let found) = found else {
        throw location.error(of: number, FrameFlaw.badChecksum.problem)
      }
      guard let found else { throw absent(name, of: number) }
      let stored = bytes.part(Int(found.offset), Int(found.entry.stored))
      return ([UInt8](stored), found.entry, location)
    }
  }
}
