// The merge of a sorter's runs (Knuth, The Art of Computer Programming, volume 3, 5.4.1). A heap
// orders the runs by their next record. Runs are numbered by time, and of equal keys the lower
// number comes first, so the changes of a row come in the order in which they were made.

internal import TreeRingLog

/// The changes of a sorter, row by row in key order. The sorter must not change meanwhile.
final class SortedChanges {
  /// The next records of one run, or of the changes in memory.
  private struct Source {
    /// The head of the next record's key, for fast comparisons.
    var head: (UInt64, UInt64) = (0, 0)
    var next: SortRecord?
    /// The rest of the block that holds the next record.
    var rest = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The block, and the part of the run behind it; nil for the changes in memory.
    var block: UnsafeMutableRawBufferPointer?
    var unread: Range<UInt64> = 0..<0
  }

  private let file: (any File)?
  private var sources: [Source] = []
  /// The sources with a next record: a heap of their numbers, the lowest record first.
  private var heap: [Int] = []
  private let memory: [SortRecord]
  private var memoryPosition = 0
  /// Copies of the records of one row, which outlive their blocks.
  private let arena = ByteArena()
  private var changes: [StampedChange] = []

  /// Sorts the changes in memory, and reads the first block of every run. O(n log n) for n changes
  /// in memory.
  init(_ sorter: ChangeSorter) throws(TreeRingError) {
    file = sorter.file
    memory = sorter.sortedPending()
    for run in sorter.runs {
      var source = Source()
      source.block = .allocate(byteCount: run.longestBlock, alignment: 8)
      source.unread = run.range
      sources.append(source)
    }
    sources.append(Source())
    for index in sources.indices {
      try advance(index)
      if sources[index].next != nil {
        heap.append(index)
        siftUp(heap.count - 1)
      }
    }
  }

  deinit { for source in sources { source.block?.deallocate() } }

  /// The next row's key in the row tree and its changes by time; nil at the end. They are valid
  /// until the next call. O(log runs) for each change.
  /// - Throws: The error of reading a run; `corruption` if it is not what was written.
  func next() throws(TreeRingError) -> (key: UnsafeRawBufferPointer, changes: [StampedChange])? {
    arena.removeAll()
    changes.removeAll(keepingCapacity: true)
    guard let first = heap.first.flatMap({ sources[$0].next }) else { return nil }
    let key = isInMemory ? first.key : arena.copy(first.key)
    while let top = heap.first, let record = sources[top].next,
      changes.isEmpty || KeyOrder.compare(record.key, key) == 0
    {
      let kept = isInMemory ? record : SortRecord(bytes: arena.copy(record.all).start)
      changes.append(try kept.change())
      try advance(top)
      if sources[top].next == nil {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
      }
      siftDown()
    }
    return (key, changes)
  }

  /// Whether there are no runs, so that records stay where they are.
  private var isInMemory: Bool { sources.count == 1 }

  // MARK: Sources

  /// Moves a source to its next record.
  private func advance(_ index: Int) throws(TreeRingError) {
    guard sources[index].block != nil else {
      sources[index].next = memoryPosition < memory.count ? memory[memoryPosition] : nil
      memoryPosition += 1
      return setHead(of: index)
    }
    if sources[index].rest.isEmpty { try readBlock(of: index) }
    let rest = sources[index].rest
    guard let start = rest.baseAddress, !rest.isEmpty else {
      sources[index].next = nil
      return
    }
    let record = SortRecord(bytes: start)
    sources[index].next = record
    sources[index].rest = UnsafeRawBufferPointer(rebasing: rest[record.byteCount...])
    setHead(of: index)
  }

  private func setHead(of index: Int) {
    guard let key = sources[index].next?.key else { return }
    sources[index].head = (KeySorter.head(key, after: 0), KeySorter.head(key, after: 8))
  }

  /// Reads the next block of a run.
  private func readBlock(of index: Int) throws(TreeRingError) {
    let header = ChangeSorter.blockHeaderByteCount
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

  private func isLess(_ a: Int, _ b: Int) -> Bool {
    let (x, y) = (sources[a].head, sources[b].head)
    if x.0 != y.0 { return x.0 < y.0 }
    if x.1 != y.1 { return x.1 < y.1 }
    guard let left = sources[a].next?.key, let right = sources[b].next?.key else { return false }
    let order = KeyOrder.compare(left, right)
    return order == 0 ? a < b : order < 0
  }

  private func siftUp(_ start: Int) {
    var place = start
    while place > 0, isLess(heap[place], heap[(place - 1) / 2]) {
      heap.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  private func siftDown() {
    var place = 0
    while true {
      var least = place
      for child in [2 * place + 1, 2 * place + 2]
      where child < heap.count && isLess(heap[child], heap[least]) {
        least = child
      }
      if least == place { return }
      heap.swapAt(place, least)
      place = least
    }
  }
}
