// Sorts many changes of rows by row, and those of one row by time, within bounded memory.
//
// The changes collect in memory. When they fill it, they are sorted and written to a file as a run.
// At the end all runs are merged with the rest in memory: each row's changes from all of them come
// together. So a replay edits the trees once, in key order, and makes each page once. A merge holds
// a block of every run, so the memory limits the number of runs too.
//
// With much memory there are two buffers: another thread writes one while the other fills.
//
//   file   = run…
//   run    = block…, of records in order
//   block  = length u32 · CRC-32C u32 · record…
//   record = length u16 · key length u16 · key · kind 1 byte · commit · operation · change
//
// Commit and operation are LEB128, the other numbers little-endian; the change is that of a payload
// (RowChange+Coding.swift). The file has no name while it is in use, so a crash leaves nothing of
// it, and no other version ever reads it.

internal import Dispatch
internal import TreeRingLog

/// Collects changes of rows for `SortedChanges`. One thread at a time uses it.
final class ChangeSorter {
  /// Makes a file without a name, for runs.
  typealias MakeFile = () throws(TreeRingError) -> any File

  /// A run's place in the file.
  struct Run {
    var range: Range<UInt64>
    /// The length of its longest block, header included.
    var longestBlock: Int
  }

  /// The maximum number of bytes of the blocks of a merge.
  private let byteLimit: Int
  /// The maximum number of bytes of changes in a buffer.
  private let bufferByteLimit: Int
  /// The number of record bytes from which on a block is written.
  private let blockByteCount: Int
  private let makeFile: MakeFile?
  /// The thread that writes runs; nil if the caller does.
  private let thread: DispatchQueue?
  @exclusivity(unchecked) private var buffer = ChangeBuffer()
  /// The changes that are being written, or that could not be written.
  private let written = RunWriting()
  private var isWriting = false
  private(set) var file: (any File)?
  private(set) var runs: [Run] = []

  /// - Parameters:
  ///   - byteLimit: The maximum number of bytes of changes in memory. The blocks of a merge may
  ///     take as much again, and those of `minRunCount` runs in any case.
  ///   - makeFile: Makes the file for runs; nil if there can be none.
  ///   - threadByteLimit: The limit from which on another thread writes runs. With less a run is
  ///     written in less time than the exchange with a thread takes.
  init(byteLimit: Int, makeFile: MakeFile?, threadByteLimit: Int = 2 << 20) {
    self.byteLimit = byteLimit
    blockByteCount = min(max(4 << 10, byteLimit / 256), 64 << 10)
    self.makeFile = makeFile
    let hasThread = makeFile != nil && byteLimit >= threadByteLimit
    thread = hasThread ? DispatchQueue(label: "treering.runs") : nil
    bufferByteLimit = hasThread ? byteLimit / 2 : byteLimit
  }

  deinit { wait() }

  /// The number of bytes in runs.
  var runByteCount: UInt64 { runs.last?.range.upperBound ?? 0 }

  /// Whether the changes in memory have reached the limit.
  var isFull: Bool { buffer.byteCount >= bufferByteLimit }

  /// Whether a merge of one run more would stay within the limit.
  private var hasRoomForRun: Bool {
    let perRun = blockByteCount + SortRecord.maxByteCount + ChangeBuffer.blockHeaderByteCount
    return runs.count + (isWriting ? 1 : 0) < max(Self.minRunCount, byteLimit / perRun)
  }

  /// The number of runs that are merged however low the limit is.
  static let minRunCount = 16

  /// Adds a change, later than all others. O(size of the change).
  /// - Parameters:
  ///   - kind: The kind of the change.
  ///   - fields: The fields of the change, as a payload has them.
  /// - Throws: `corruption` if no page could hold the row.
  func add(
    _ key: UnsafeRawBufferPointer, in bucket: UInt32, _ kind: OperationKind,
    _ fields: UnsafeRawBufferPointer, at stamp: Stamp
  ) throws(TreeRingError) {
    try buffer.add(key, in: bucket, kind, fields, at: stamp)
  }

  /// Writes the changes in memory to the file as a run, or begins to, so that there is room for
  /// others.
  /// - Returns: False if there can be no file or no further run; then nothing has changed.
  /// - Throws: The error of the file, perhaps that of the run before. The changes stay in memory
  ///   then.
  func writeRun() throws(TreeRingError) -> Bool {
    guard let makeFile, hasRoomForRun else { return false }
    if buffer.isEmpty { return true }
    let file = if let file { file } else { try makeFile() }
    self.file = file
    if wait() { try takeRun() }
    // An earlier call could not write these.
    if !written.buffer.isEmpty {
      written.write(to: file, at: runByteCount, blockByteCount)
      try takeRun()
    }
    swap(&buffer, &written.buffer)
    guard let thread else {
      written.write(to: file, at: runByteCount, blockByteCount)
      return try takeRun()
    }
    isWriting = true
    thread.async { [written, blockByteCount, offset = runByteCount] in
      written.write(to: file, at: offset, blockByteCount)
      written.isDone.signal()
    }
    return true
  }

  /// Waits for the thread; false if it writes nothing.
  @discardableResult
  private func wait() -> Bool {
    guard isWriting else { return false }
    written.isDone.wait()
    isWriting = false
    return true
  }

  /// Adds the run that has been written.
  @discardableResult
  private func takeRun() throws(TreeRingError) -> Bool {
    runs.append(try written.outcome.get())
    written.buffer.removeAll()
    return true
  }

  /// The changes in memory, sorted, after the end of a writing. O(n log n).
  /// - Throws: The error of the file. What a full device does not hold stays in memory.
  func sortedPending() throws(TreeRingError) -> [SortRecord] {
    do throws(TreeRingError) {
      if wait() { try takeRun() }
    } catch {
      if error.code != .noSpace { throw error }
    }
    return ChangeBuffer.sorted(written.buffer.records + buffer.records)
  }

  /// Discards all changes. The memory and the file are used again.
  func removeAll() {
    wait()
    written.buffer.removeAll()
    buffer.removeAll()
    runs.removeAll()
  }
}

/// The writing of one run. Sendable: the sorter and its thread take turns. From the begin of a
/// writing until the sorter has waited for it, the thread alone uses it.
private final class RunWriting: @unchecked Sendable {
  var buffer = ChangeBuffer()
  var outcome: Result<ChangeSorter.Run, TreeRingError> = .failure(ByteReader.damaged)
  let isDone = DispatchSemaphore(value: 0)

  func write(to file: any File, at offset: UInt64, _ blockByteCount: Int) {
    outcome = Result { () throws(TreeRingError) in
      try buffer.writeRun(to: file, at: offset, blockByteCount: blockByteCount)
    }
  }
}
