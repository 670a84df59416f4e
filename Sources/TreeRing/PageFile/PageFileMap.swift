// The page file in memory: chunks that are mapped when first needed and unmapped only at the end.
// An address lookup takes one load and no lock. The last chunk extends beyond the file's end;
// nothing there is read before it has been written.

internal import TreeRingLog
internal import TreeRingPlatform

/// The mappings of a page file.
final class PageFileMap: Sendable {
  private let file: any File
  private let chunkByteCount: Int
  private let chunkCount: Int
  /// The address of a table of atomic words, each a chunk's address, 0 until it is mapped. A word,
  /// because a pointer is not Sendable. The table does not move until `deinit`.
  private let tableAddress: UInt
  /// The mappings. A thread that adds one holds the lock.
  private let mappings = Mutex<[any FileMapping]>([])

  /// Creates an empty map.
  /// - Parameter chunkByteCount: A multiple of the system's page size.
  init(_ file: any File, chunkByteCount: Int) {
    precondition(chunkByteCount % PageLayout.pageByteCount == 0, "a chunk is whole pages")
    self.file = file
    self.chunkByteCount = chunkByteCount
    let end = PageFileLayout.offset(of: PageFileLayout.maxPageNumber)
    chunkCount = Int(end / UInt64(chunkByteCount)) + 1
    guard let memory = calloc(chunkCount, MemoryLayout<UInt>.size) else {
      preconditionFailure("out of memory for the page file's chunk table")
    }
    tableAddress = UInt(bitPattern: memory)
  }

  deinit { free(UnsafeMutableRawPointer(bitPattern: tableAddress)) }

  @inline(__always)
  private var table: UnsafeMutablePointer<Atomic<UInt>> {
    UnsafeMutablePointer(bitPattern: tableAddress).unsafelyUnwrapped
  }

  /// The address of a page in memory; nil if its chunk is not mapped.
  @inline(__always)
  func address(of number: PageNumber) -> UnsafeMutableRawPointer? {
    let offset = Int(PageFileLayout.offset(of: number))
    let chunk = table[offset / chunkByteCount].load(ordering: .acquiring)
    return UnsafeMutableRawPointer(bitPattern: chunk).map { $0 + offset % chunkByteCount }
  }

  /// Maps the chunk of a page unless it is mapped already, and returns the page's address.
  func mapChunk(of number: PageNumber) throws(TreeRingError) -> UnsafeMutableRawPointer {
    if let address = address(of: number) { return address }
    let index = Int(PageFileLayout.offset(of: number)) / chunkByteCount
    try mappings.withLock { (mappings) throws(TreeRingError) in
      if table[index].load(ordering: .relaxed) != 0 { return }
      let mapping = try file.map(
        at: UInt64(index) * UInt64(chunkByteCount), count: chunkByteCount)
      mappings.append(mapping)
      table[index].store(UInt(bitPattern: mapping.bytes.baseAddress), ordering: .releasing)
    }
    guard let address = address(of: number) else {
      preconditionFailure("a chunk is mapped nowhere")
    }
    return address
  }

  /// Whether an address lies in a mapped chunk. Takes the lock; for tests. O(chunks).
  func contains(_ address: UnsafeRawPointer) -> Bool {
    let address = UInt(bitPattern: address)
    return mappings.withLock { mappings in
      mappings.contains { mapping in
        let start = UInt(bitPattern: mapping.bytes.baseAddress)
        return address >= start && address - start < UInt(chunkByteCount)
      }
    }
  }

  /// The address space of the mappings, in bytes.
  var byteCount: UInt64 { mappings.withLock { UInt64($0.count) } * UInt64(chunkByteCount) }
}
