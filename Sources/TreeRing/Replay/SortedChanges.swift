// The merge of a sorter's runs (Knuth, The Art of Computer Programming, volume 3, 5.4.1). A heap
// orders the runs by their next record. Runs are numbered by time, and of equal keys the lower
// number comes first, so the changes of a row come in the order in which they were made.

internal import TreeRingLog

/// The changes of a sorter in key order, batch by batch. The sorter must not change meanwhile.
struct SortedChanges: ~Copyable {
  /// The next records of one run, or of the changes in memory.
  private struct Source {
    /// The rest of the block that holds the next record.
    var rest = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The block, and the part of the run behind it; nil for the changes in memory.
    var block: UnsafeMutableRawBufferPointer?
    var unread: Range<UInt64> = 0..<0
  }

  /// The next record of a source, with the head of its key for fast comparisons.
  private struct Next {
    var head: (UInt64, UInt64)
    var record: SortRecord
    var source: Int

    init(_ record: SortRecord, of source: Int) {
      let key = record.key
      head = (KeySorter.head(key, after: 0), KeySorter.head(key, after: 8))
      self.record = record
      self.source = source
    }

    @inline(__always)
    static func < (a: Next, b: Next) -> Bool {
      if a.head.0 != b.head.0 { return a.head.0 < b.head.0 }
      if a.head.1 != b.head.1 { return a.head.1 < b.head.1 }
      let order = KeyOrder.compare(a.record.key, b.record.key)
      return order == 0 ? a.source < b.source : order < 0
    }
  }

  private var file: (any File)?
  private var sources: [Source] = []
  /// The next record of every source that has one: a heap, the lowest record first.
  private var heap: [Next] = []
  private var memory: [SortRecord] = []
  private var memoryPosition = 0

  /// Sorts the changes in memory, and reads the first block of every run. O(n log n) for n changes
  /// in memory.
  /// - Throws: The error of writing or reading a run. Changes that a full device does not hold are
  ///   in memory.
  init(_ sorter: ChangeSorter) throws(TreeRingError) {
    memory = try sorter.sortedPending()
    file = sorter.file
    for run in sorter.runs {
      var source = Source()
      source.block = .allocate(byteCount: run.longestBlock, alignment: 8)
      source.unread = run.range
      sources.append(source)
    }
    sources.append(Source())
    for index in sources.indices {
      guard let record = try advance(index) else { continue }
      heap.append(Next(record, of: index))
      siftUp(heap.count - 1)
    }
  }

  deinit { for source in sources { source.block?.deallocate() } }

  /// Fills a batch with the next rows; without any at the end. The records are valid until the
  /// batch is filled again or the sorter changes. O(log runs) for each record.
  /// - Throws: The error of reading a run; `corruption` if it is not what was written.
  mutating func fill(_ batch: ChangeBatch) throws(TreeRingError) {
    batch.removeAll()
    while let next = heap.first, !batch.isFull(before: next.record) {
      batch.append(next.record, outlives: next.source == sources.count - 1)
      if let record = try advance(next.source) {
        siftDown(Next(record, of: next.source))
      } else {
        let last = heap.removeLast()
        if !heap.isEmpty { siftDown(last) }
      }
    }
  }

  // MARK: Sources

  /// Moves a source to its next record; nil at its end.
  @inline(__always)
  private mutating func advance(_ index: Int) throws(TreeRingError) -> SortRecord? {
    if index == sources.count - 1 {
      guard memoryPosition < memory.count else { return nil }
      defer { memoryPosition += 1 }
      return memory[memoryPosition]
    }
    if sources[index].rest.isEmpty { try readBlock(of: index) }
    let rest = sources[index].rest
    guard let start = rest.baseAddress, !rest.isEmpty else { return nil }
    let record = SortRecord(bytes: start)
    sources[index].rest = UnsafeRawBufferPointer(rebasing: rest[record.byteCount...])
    return record
  }

  /// Reads the next block of a run.
  private mutating func readBlock(of index: Int) throws(TreeRingError) {
    let header = ChangeBuffer.blockHeaderByteCount
    let unread = sources[index].unread
    guard let file, let block = sources[index].block, !unread.isEmpty else { return }
    let available = min(block.count, Int(unread.upperBound - unread.lowerBound))
    let target = UnsafeMutableRawBufferPointer(rebasing: block[..<available])
    guard try file.read(into: target, at: unread.lowerBound) == available, available > header else {
      throw damaged(at: unread.lowerBound)
    }
    let count = Int(UInt32(littleEndian: target.loadUnaligned(as: UInt32.self)))
    let checksum = UInt32(littleEndian: target.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
    guard count > 0, count <= available - header else { throw damaged(at: unread.lowerBound) }
    let body = UnsafeRawBufferPointer(rebasing: target[header..<header + count])
    guard crc32c(body) == checksum else { throw damaged(at: unread.lowerBound) }
    sources[index].rest = body
    sources[index].unread = unread.dropFirst(header + count)
  }

  private func damaged(at offset: UInt64) -> TreeRingError {
    TreeRingError(
      .io,
      "The device did not return what a replay had written to its temporary file. The log is not "
        + "affected: open the store again, and replace the device if this repeats.",
      file: file?.path, offset: offset)
  }

  // MARK: The heap

  private mutating func siftUp(_ start: Int) {
    var place = start
    while place > 0, heap[place] < heap[(place - 1) / 2] {
      heap.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  /// Puts an entry in the place of the first one.
  @inline(__always)
  private mutating func siftDown(_ entry: Next) {
    var place = 0
    while true {
      var child = 2 * place + 1
      if child >= heap.count { break }
      if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
      guard heap[child] < entry else { break }
      heap[place] = heap[child]
      place = child
    }
    heap[place] = entry
  }
}
