// The common part of the page file's tests: trees with known pages and images, files of each kind,
// and changes of bytes behind the file's back.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

/// A page and its image when it was written.
struct WrittenPage {
  var number: PageNumber
  var birth: PageBirth
  var image: Bytes
}

/// A tree that is edited commit by commit, and the images of its pages.
final class PageMaker {
  let pages = PageStore(cellCapacity: 8)
  private(set) var root = TreeRoot.empty
  private var commit: CommitNumber = 0
  private var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// Makes one more commit of some random puts and removals. Returns the replaced pages.
  func edit(_ count: Int) -> [RetiredPage] {
    commit += 1
    let editor = PageEditor(pages: pages, epoch: commit)
    for _ in 0..<count {
      let key = Bytes("key \(Int.random(in: 0..<200, using: &random))".utf8)
      if Int.random(in: 0..<4, using: &random) == 0 {
        editor.remove(&root, key)
      } else {
        editor.put(&root, key, Bytes(repeating: UInt8(truncatingIfNeeded: commit), count: 9))
      }
    }
    return editor.finish().retired
  }

  /// The pages of the tree that were born after a commit, ascending by number.
  func born(after commit: CommitNumber) -> [(number: PageNumber, page: Page)] {
    var found: [(number: PageNumber, page: Page)] = []
    Tree(root, pages: pages).forEachPage(bornAfter: StateID(commit)) {
      found.append(($0.number, $0))
    }
    return found.sorted { $0.number < $1.number }
  }

  /// Every page of the tree with its image.
  var written: [WrittenPage] {
    var found: [WrittenPage] = []
    Tree(root, pages: pages).forEachPage { page in
      var image = Bytes(repeating: 0, count: PageLayout.pageByteCount)
      image.withUnsafeMutableBytes { PageImage.write(page, to: $0) }
      found.append(WrittenPage(number: page.number, birth: page.birth, image: image))
    }
    return found
  }
}

extension PageFile {
  /// Writes one page.
  func write(_ number: PageNumber, _ page: Page) throws(TreeRingError) {
    try write(CollectionOfOne((number: number, page: page)))
  }

  /// Fetches a page and returns the bytes found in the mapping.
  func image(_ number: PageNumber, birth: PageBirth) throws -> Bytes {
    let address = try fetch(number, birth: birth)
    #expect(isMapped(address))
    return Bytes(UnsafeRawBufferPointer(start: address, count: PageLayout.pageByteCount))
  }

  /// Fetches pages and compares them with their images.
  func expect(_ pages: [WrittenPage], _ note: String) throws {
    for page in pages {
      let image = try image(page.number, birth: page.birth)
      #expect(image == page.image, "page \(page.number), \(note)")
    }
  }
}

/// Expects a corruption error that states the file, the offset and the remedy.
func expectDamage(_ note: String, at offset: UInt64? = nil, _ body: () throws -> Void) {
  do {
    try body()
    Issue.record("damage was not noticed: \(note)")
  } catch let error as TreeRingError {
    #expect(error.code == .corruption, "\(note): \(error)")
    #expect(error.message.contains("rebuilt from the log"), "\(note): \(error)")
    if let offset { #expect(error.offset == offset && error.file == "pages", "\(note): \(error)") }
  } catch { Issue.record("\(note): \(error)") }
}

extension FileSystem {
  /// Writes to a file behind the page file's back.
  func overwrite(_ path: String, _ bytes: Bytes, at offset: UInt64) throws {
    let file = try open(path, .readWrite)
    try bytes.withUnsafeBytes { try file.write($0, at: offset) }
    file.close()
  }

  func bytes(_ path: String, at offset: UInt64, count: Int) throws -> Bytes {
    let file = try open(path, .readOnly)
    defer { file.close() }
    var bytes = Bytes(repeating: 0, count: count)
    let done = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
    return Bytes(bytes[..<done])
  }
}

extension Meta {
  /// A meta with a value in every field.
  static func example(sequence: UInt64) -> Meta {
    Meta(
      storeID: 0x0123_4567_89AB_CDEF, sequence: sequence,
      position: LogPosition(
        segment: 900, generation: 2, salt: 0xFEDC_BA98_7654_3210, offset: 70_000,
        chain: 0xDEAD_BEEF, commit: 1_000 + sequence,
        timestamp: Timestamp(microseconds: 1_700_000_000_000_000), identity: 0xCAFE_F00D),
      pageBound: 500, free: BlobReference(page: 7, birth: 1_000, byteCount: 56),
      roots: BlobReference(page: 8, birth: 1_000, byteCount: 9_000), livePageCount: 321)
  }
}

/// A leaf with one entry, in memory of its own that the caller frees.
func leafPage(_ number: PageNumber, birth: CommitNumber) throws -> (Page, Bytes) {
  let maker = PageStore()
  let editor = PageEditor(pages: maker, epoch: birth)
  var root = TreeRoot.empty
  editor.put(&root, Bytes("key".utf8), Bytes("value \(birth)".utf8))
  let memory = UnsafeMutableRawBufferPointer.allocate(
    byteCount: PageLayout.pageByteCount, alignment: 4096)
  PageImage.write(maker.page(root.page), to: memory)
  memory.storeBytes(of: number, toByteOffset: PageLayout.numberOffset, as: UInt32.self)
  let page = Page(bytes: try #require(memory.baseAddress))
  var image = Bytes(repeating: 0, count: PageLayout.pageByteCount)
  image.withUnsafeMutableBytes { PageImage.write(page, to: $0) }
  return (page, image)
}
