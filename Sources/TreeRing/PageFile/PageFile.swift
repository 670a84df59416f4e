// The file that checkpoints write: a row of pages behind two metas. It is disposable: the log can
// rebuild all of it. But a read must never return other content than was written, so:
//
// - A fetch checks a page in full: checksum, kind, number, the birth that its parent states,
//   layout. It reads the page through the file, where a failing device is an error. Only then is
//   the page read through the mapping.
// - A length read from the file is bounded by the file's size before it sizes anything.
// - The caller decides which pages may be overwritten and when the file is synced: write pages,
//   sync, write the meta, sync.
//
// One writer; any number of readers, from any thread. The file grows ahead of the writes, so that a
// sync has no new size to record. It never shrinks while open: mappings would lose their backing.

package import TreeRingLog
internal import TreeRingPlatform

/// An open page file.
package final class PageFile: Sendable {
  /// The way the file is opened.
  package enum Mode: Hashable, Sendable {
    /// Creates a new file; throws `alreadyExists` if there is one.
    case create
    case readWrite
    case readOnly
  }

  /// The end of every message about damage: the effect on the data, and the next step.
  static let remedy = """
    Nothing is lost: remove the file and open the store again, and the page file is rebuilt from \
    the log.
    """

  package let path: String
  let file: any File
  let map: PageFileMap
  /// The room of the file, in bytes.
  struct Room: Sendable {
    /// The end of the room that the device has reserved.
    var reserved: UInt64
    /// The end of the room that writes have asked for before they began; not above `reserved`,
    /// unless the system cannot reserve.
    var needed: UInt64
  }
  let room: Mutex<Room>
  /// The error of the first failed sync. Held throughout a sync.
  private let syncFailure = Mutex<TreeRingError?>(nil)
  /// The numbers of the pages whose room was given back to the device and that were not written
  /// since.
  let holes = Mutex(BitSet())
  /// The limit of room reserved ahead, in bytes.
  let reserveLimit = Atomic<UInt64>(.max)

  private init(
    path: String, file: any File, size: UInt64, chunkByteCount: Int
  ) {
    self.path = path
    self.file = file
    map = PageFileMap(file, chunkByteCount: chunkByteCount)
    room = Mutex(Room(reserved: size, needed: size))
  }

  /// Opens or creates a page file, without reading any of it. The caller makes its name durable.
  /// - Parameter chunkByteCount: The size of one mapping in bytes, a multiple of the system's page
  ///   size.
  package static func open(
    _ path: String, fileSystem: any FileSystem, mode: Mode, chunkByteCount: Int = 64 << 20
  ) throws(TreeRingError) -> PageFile {
    let openMode: OpenMode =
      switch mode {
      case .create: .createNew
      case .readWrite: .readWrite
      case .readOnly: .readOnly
      }
    let file = try fileSystem.open(path, openMode)
    return PageFile(
      path: path, file: file, size: try file.size(), chunkByteCount: chunkByteCount)
  }

  /// Whether a file begins as a page file does. Reads the two metas only.
  static func hasMagic(
    _ path: String, fileSystem: any FileSystem
  ) throws(TreeRingError) -> Bool {
    let file = try fileSystem.open(path, .readOnly)
    defer { file.close() }
    let image = PageBuffer()
    for slot in 0..<2 {
      let offset = UInt64(slot * PageLayout.pageByteCount)
      guard try file.read(into: image.bytes, at: offset) == PageLayout.pageByteCount else { break }
      if Meta.hasMagic(UnsafeRawBufferPointer(image.bytes)) { return true }
    }
    return false
  }

  /// The valid metas, newest first, and the flaws of the others. A slot never written is no flaw.
  /// If two are valid, they belong to the two newest checkpoints.
  package func metas() throws(TreeRingError) -> (valid: [Meta], flaws: [String]) {
    var valid: [Meta] = []
    var flaws: [String] = []
    let size = try file.size()
    for slot in 0..<2 {
      let image = PageBuffer()
      let offset = UInt64(slot * PageLayout.pageByteCount)
      do throws(TreeRingError) {
        let count = try file.read(into: image.bytes, at: offset)
        if UnsafeRawBufferPointer(image.bytes).isZero(from: 0) { continue }
        guard count == PageLayout.pageByteCount else {
          throw damaged("the file ends inside a meta", at: offset)
        }
        let meta = try Meta.decode(UnsafeRawBufferPointer(image.bytes), slot: slot)
        for blob in [meta.free, meta.roots] where blob.byteCount > size {
          throw damaged(
            "a meta refers to \(blob.byteCount) bytes, but the file has \(size)", at: offset)
        }
        valid.append(meta)
      } catch {
        guard [.corruption, .io].contains(error.code) else { throw error }
        flaws.append("Slot \(slot) of \(path): \(error.message)")
      }
    }
    return (valid.sorted { $0.sequence > $1.sequence }, flaws)
  }

  /// One above the highest page number of which the file holds any byte. Reading the last page
  /// fails if the file holds only a part of it; once the file grows, zeros make such a part a whole
  /// page again.
  package func pageBound() throws(TreeRingError) -> PageNumber {
    let pageByteCount = UInt64(PageLayout.pageByteCount)
    let (whole, part) = try file.size().quotientAndRemainder(dividingBy: pageByteCount)
    let slots = whole + (part == 0 ? 0 : 1)
    let bound = slots.subtractingReportingOverflow(PageFileLayout.firstPageSlot - 1)
    if bound.overflow { return 1 }
    return max(1, PageNumber(min(bound.partialValue, UInt64(PageFileLayout.maxPageNumber) + 1)))
  }

  /// Reads a page of a tree from the file and checks it. O(page).
  /// - Parameter birth: The birth that the referring entry states.
  /// - Returns: Its address in the mapping, valid as long as this object.
  package func fetch(
    _ number: PageNumber, birth: PageBirth
  ) throws(TreeRingError) -> UnsafeMutableRawPointer {
    let image = PageBuffer(isCleared: false)
    try read(number, birth: birth, into: image.bytes)
    return try map.mapChunk(of: number)
  }

  /// Reads a page of a tree from the file and checks it. O(page).
  /// - Parameters:
  ///   - birth: The birth that the referring entry states.
  ///   - bytes: Memory for a page, aligned to 8.
  func read(
    _ number: PageNumber, birth: PageBirth, into bytes: UnsafeMutableRawBufferPointer
  ) throws(TreeRingError) {
    try read(number, into: bytes)
    if let flaw = PageImage.flaw(
      in: UnsafeRawBufferPointer(bytes), number: number, birth: birth)
    {
      throw damaged("page \(number) is not what was written: \(flaw)", page: number)
    }
  }

  /// The numbers of a range whose slots hold no page of a tree that was born after a state. A slot
  /// that cannot be read is left out. O(slots).
  func reusableSlots(
    in range: Range<PageNumber>, withoutPagesBornAfter state: StateID
  ) -> [PageNumber] {
    let images = PageBuffer(pageCount: range.count)
    let start = PageFileLayout.offset(of: range.lowerBound)
    guard (try? file.read(into: images.bytes, at: start)) != nil else { return [] }
    guard let first = images.bytes.baseAddress else { return [] }
    return range.filter { number in
      let index = Int(number - range.lowerBound)
      let page = Page(bytes: first + index * PageLayout.pageByteCount)
      // Pages of blobs have births of their own, which no other page has.
      return !page.isOfTree || page.number != number || page.birth.state <= state
    }
  }

  /// Whether an error means that part of this file is lost: it is not as it was written, or the
  /// device still cannot read it. Then the file must be rebuilt.
  package func isDamaged(_ error: TreeRingError) -> Bool {
    guard error.file == path else { return false }
    if error.code == .corruption { return true }
    guard error.code == .io, let offset = error.offset else { return false }
    let image = PageBuffer()
    let start = offset - offset % UInt64(PageLayout.pageByteCount)
    return (try? file.read(into: image.bytes, at: start)) == nil
  }

  /// Whether an address lies in the mapping.
  func isMapped(_ address: UnsafeRawPointer) -> Bool { map.contains(address) }

  /// The address space of the mappings, in bytes. The kernel decides how much of it is in memory.
  var mappedByteCount: UInt64 { map.byteCount }

  /// Makes everything written so far durable. After a failure the state of all writes since the
  /// previous sync is unknown, and every later call fails: the system reports such a failure only
  /// once, to the first caller.
  package func sync() throws(TreeRingError) {
    let failure = syncFailure.withLock { failure -> TreeRingError? in
      if failure != nil { return failure }
      do throws(TreeRingError) {
        try file.sync(.full)
      } catch {
        failure = error
        // Holds for a full device too: the writes are lost, so room alone does not help.
        if error.code == .noSpace { failure?.code = .io }
      }
      return failure
    }
    if let failure { throw failure }
  }

  /// The file's size, room reserved ahead included, in bytes.
  package func size() throws(TreeRingError) -> UInt64 { try file.size() }

  /// Gives the room of free pages back to the device. They may be written again.
  /// - Parameter numbers: ascending; nobody reads or writes these pages during the call.
  /// - Returns: false if the file system cannot do that.
  func release(_ numbers: [PageNumber]) throws(TreeRingError) -> Bool {
    var start = 0
    while start < numbers.count {
      var end = start + 1
      while end < numbers.count, numbers[end] == numbers[end - 1] + 1 { end += 1 }
      let count = UInt64(end - start) * UInt64(PageLayout.pageByteCount)
      guard try file.release(count, at: PageFileLayout.offset(of: numbers[start])) else {
        return false
      }
      holes.withLock { $0.set(Int(numbers[start])..<Int(numbers[start]) + end - start) }
      start = end
    }
    return true
  }

  /// Closes the file. Fetched pages stay in the mapping until this object is deallocated.
  package func close() { file.close() }

  /// Reads a page's slot.
  func read(
    _ number: PageNumber, into bytes: UnsafeMutableRawBufferPointer
  ) throws(TreeRingError) {
    guard number > 0, number <= PageFileLayout.maxPageNumber else {
      throw damaged("there can be no page \(number)", page: number)
    }
    let count = try file.read(into: bytes, at: PageFileLayout.offset(of: number))
    guard count == PageLayout.pageByteCount else {
      throw damaged("the file ends before page \(number)", page: number)
    }
  }

  /// A supply that fetches the pages of this file.
  func makeSupply() -> PageSupply {
    PageSupply(
      damage: { self.damaged("page \($1) is not what was written: \($0)", page: $1) },
      read: { (number, birth, bytes) throws(TreeRingError) in
        try self.read(number, birth: birth, into: UnsafeMutableRawBufferPointer(page: bytes))
      }
    ) { (number, birth) throws(TreeRingError) in try self.fetch(number, birth: birth) }
  }

  func damaged(_ flaw: String, page number: PageNumber) -> TreeRingError {
    damaged(flaw, at: PageFileLayout.offset(of: number))
  }

  private func damaged(_ flaw: String, at offset: UInt64) -> TreeRingError {
    TreeRingError(
      .corruption, "The page file is damaged: \(flaw). \(Self.remedy)", file: path, offset: offset)
  }
}

extension UnsafeMutableRawBufferPointer {
  /// The bytes of a page.
  init(page: UnsafeMutableRawPointer) {
    self.init(start: page, count: PageLayout.pageByteCount)
  }
}

/// Memory for pages, with their alignment.
struct PageBuffer: ~Copyable {
  let bytes: UnsafeMutableRawBufferPointer

  /// - Parameter isCleared: Whether all bytes are zero; otherwise they are undefined.
  init(pageCount: Int = 1, isCleared: Bool = true) {
    bytes = .allocate(
      byteCount: pageCount * PageLayout.pageByteCount, alignment: PageLayout.pageByteCount)
    if isCleared { clear() }
  }

  deinit { bytes.deallocate() }

  func clear() { bytes.initializeMemory(as: UInt8.self, repeating: 0) }
}
