// The file that checkpoints go to: a row of pages behind two metas. It is disposable: all it holds can be
// had again from the log. What it must not do is to show anything else than what was written, so
//
// - a page is checked in full when it is fetched: checksum, kind, number, the birth that its parent
//   states, layout. It is read through the file, where a failing device is an error; only after that
//   is it looked at through the mapping.
// - a length read from the file is bounded by the file's size before it sizes anything.
// - nobody but the caller knows which pages may be overwritten, and when the file is synced: write
//   pages, sync, write the meta, sync.
//
// One writer; any number of readers, from any thread. The file grows ahead of what is written, so that
// a sync has no new size to record, and never shrinks while open: mappings would lose their ground.

internal import Synchronization
package import TreeRingLog

/// An open page file.
package final class PageFile: Sendable {
  /// How the file is opened.
  package enum Mode: Hashable, Sendable {
    /// A new file; `alreadyExists` if there is one.
    case create
    case readWrite
    case readOnly
  }

  /// The end of every message about damage.
  static let remedy = """
    Nothing is lost: remove the file and open the store again, and the page file is rebuilt from \
    the log.
    """

  package let path: String
  let file: any File
  let map: PageFileMap
  /// Up to where room is reserved, in bytes; at least what has been written.
  let reserved: Mutex<UInt64>
  /// Why a sync has failed. Held throughout a sync.
  private let syncFailure = Mutex<TreeRingError?>(nil)
  /// Up to where room may be reserved ahead of what is needed, in bytes.
  let reserveLimit = Atomic<UInt64>(.max)

  private init(
    path: String, file: any File, size: UInt64, chunkByteCount: Int
  ) {
    self.path = path
    self.file = file
    map = PageFileMap(file, chunkByteCount: chunkByteCount)
    reserved = Mutex(size)
  }

  /// Opens or makes a page file. Nothing in it is looked at yet. Making its name durable is the caller's.
  /// - Parameter chunkByteCount: how much is mapped at a time, a multiple of the system's page size.
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

  /// The metas that may be believed, newest first, and what is wrong with the others. A slot never
  /// written is no flaw. Two good ones are those of the two newest checkpoints.
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
            "a meta speaks of \(blob.byteCount) bytes, the file has \(size)", at: offset)
        }
        valid.append(meta)
      } catch {
        guard [.corruption, .io].contains(error.code) else { throw error }
        flaws.append("Slot \(slot) of \(path): \(error.message)")
      }
    }
    return (valid.sorted { $0.sequence > $1.sequence }, flaws)
  }

  /// Brings a page of a tree from the file and checks it. O(page).
  /// - Parameter birth: what the entry that names the page states.
  /// - Returns: its place in the mapping, valid as long as this object.
  package func fetch(
    _ number: PageNumber, birth: PageBirth
  ) throws(TreeRingError) -> UnsafeMutableRawPointer {
    let image = PageBuffer()
    try read(number, into: image)
    if let flaw = PageImage.flaw(
      in: UnsafeRawBufferPointer(image.bytes), number: number, birth: birth)
    {
      throw damaged("page \(number) is not what was written: \(flaw)", page: number)
    }
    return try map.mapChunk(of: number)
  }

  /// Which of some neighbouring places hold no page of a tree born after a commit. A place that cannot
  /// be read counts as one that does. O(places).
  package func places(
    _ range: Range<PageNumber>, withoutPagesBornAfter commit: CommitNumber
  ) -> [PageNumber] {
    let images = PageBuffer(pageCount: range.count)
    let start = PageFileLayout.offset(of: range.lowerBound)
    guard (try? file.read(into: images.bytes, at: start)) != nil else { return [] }
    guard let first = images.bytes.baseAddress else { return [] }
    return range.filter { number in
      let index = Int(number - range.lowerBound)
      let page = Page(bytes: first + index * PageLayout.pageByteCount)
      // Pages of blobs have births of their own, which no other page has.
      return !page.isOfTree || page.number != number || page.birth.commit <= commit
    }
  }

  /// Whether an error says that part of this file is lost: it is not what was written, or the device still
  /// cannot read it. Only making the file anew helps then.
  package func isDamaged(_ error: TreeRingError) -> Bool {
    guard error.file == path else { return false }
    if error.code == .corruption { return true }
    guard error.code == .io, let offset = error.offset else { return false }
    let image = PageBuffer()
    let start = offset - offset % UInt64(PageLayout.pageByteCount)
    return (try? file.read(into: image.bytes, at: start)) == nil
  }

  /// Whether an address lies in the mapping.
  package func isMapped(_ address: UnsafeRawPointer) -> Bool { map.contains(address) }

  /// Address space taken by mappings, in bytes; how much of it is in memory is the kernel's business.
  package var mappedByteCount: UInt64 { map.byteCount }

  /// Makes everything written so far durable. After a failure nothing is known about what was written
  /// since the sync before, and every later call fails: the system tells of it once only, to whoever asks first.
  package func sync() throws(TreeRingError) {
    let failure = syncFailure.withLock { failure -> TreeRingError? in
      if failure != nil { return failure }
      do throws(TreeRingError) {
        try file.sync(.full)
      } catch {
        failure = error
        // Even if the device was only full: what was written is lost, so room alone does not help.
        if error.code == .noSpace { failure?.code = .io }
      }
      return failure
    }
    if let failure { throw failure }
  }

  /// The file's size, room reserved ahead included, in bytes.
  package func size() throws(TreeRingError) -> UInt64 { try file.size() }

  /// Closes the file. Pages fetched before stay in the mapping until this object goes.
  package func close() { file.close() }

  /// Reads a page's slot.
  func read(_ number: PageNumber, into image: borrowing PageBuffer) throws(TreeRingError) {
    guard number > 0, number <= PageFileLayout.maxPageNumber else {
      throw damaged("there can be no page \(number)", page: number)
    }
    let count = try file.read(into: image.bytes, at: PageFileLayout.offset(of: number))
    guard count == PageLayout.pageByteCount else {
      throw damaged("the file ends before page \(number)", page: number)
    }
  }

  func damaged(_ flaw: String, page number: PageNumber) -> TreeRingError {
    damaged(flaw, at: PageFileLayout.offset(of: number))
  }

  private func damaged(_ flaw: String, at offset: UInt64) -> TreeRingError {
    TreeRingError(
      .corruption, "The page file is damaged: \(flaw). \(Self.remedy)", file: path, offset: offset)
  }
}

/// Pages of zeroed memory, aligned as pages are.
struct PageBuffer: ~Copyable {
  let bytes: UnsafeMutableRawBufferPointer

  init(pageCount: Int = 1) {
    bytes = .allocate(
      byteCount: pageCount * PageLayout.pageByteCount, alignment: PageLayout.pageByteCount)
    clear()
  }

  deinit { bytes.deallocate() }

  func clear() { bytes.initializeMemory(as: UInt8.self, repeating: 0) }
}
