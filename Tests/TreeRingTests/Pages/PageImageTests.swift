import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("Pages as bytes") struct PageImageTests {
  /// The text of docs/pages.md, found relative to this file.
  static func document() throws -> String {
    var folder = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { folder.deleteLastPathComponent() }
    return try String(
      contentsOf: folder.appendingPathComponent("docs/pages.md"), encoding: .utf8)
  }

  /// The image of the only page of a tree with these entries.
  static func image(epoch: CommitNumber, _ entries: [(Bytes, Bytes)]) -> (Bytes, TreeRoot) {
    let pages = PageStore()
    let editor = PageEditor(pages: pages, epoch: epoch)
    var root = TreeRoot.empty
    for (key, value) in entries { editor.put(&root, key, value) }
    var image = Bytes(repeating: 0xff, count: PageLayout.pageByteCount)
    image.withUnsafeMutableBytes { PageImage.write(pages.page(root.page), to: $0) }
    return (image, root)
  }

  static func flaw(_ image: Bytes, _ root: TreeRoot) -> String? {
    image.withUnsafeBytes { PageImage.flaw(in: $0, number: root.page, birth: root.birth) }
  }

  @Test("The documented offsets are those of the code")
  func documentedOffsets() throws {
    let document = try Self.document()
    for (offset, field) in [
      (PageLayout.checksumOffset, "u32 | checksum"),
      (PageLayout.formatVersionOffset, "u8 | format version"),
      (PageLayout.levelOffset, "u8 | level"),
      (PageLayout.cellCountOffset, "u16 | cell count"),
      (PageLayout.numberOffset, "u32 | number"),
      (PageLayout.prefixLengthOffset, "u16 | prefix length"),
      (PageLayout.heapStartOffset, "u16 | heap start"),
      (PageLayout.birthOffset, "u64 | birth"),
      (PageLayout.deadByteCountOffset, "u16 | dead bytes"),
      (PageLayout.kindOffset, "u16 | kind"),
      (PageLayout.ownerOffset, "u32 | owner"),
    ] {
      #expect(document.contains("| \(offset) | \(field) |"), "\(field)")
    }
    #expect(document.contains("at most 1,984 bytes") && PageLayout.maxCellByteCount == 1984)
  }

  @Test("The documented example is what the code writes")
  func documentedExample() throws {
    let (image, root) = Self.image(
      epoch: 7, [(Bytes("apple".utf8), [0x31]), (Bytes("apricot".utf8), [0x32, 0x32])])
    #expect(Self.flaw(image, root) == nil)
    let document = try Self.document()
    let digits = Array("0123456789abcdef")
    for start in stride(from: 0, to: PageLayout.pageByteCount, by: 16) {
      let line = image[start..<(start + 16)]
      if line.allSatisfy({ $0 == 0 }) { continue }
      let text = line.map { "\(digits[Int($0 >> 4)])\(digits[Int($0 & 15)])" }
      let address = String(start, radix: 16)
      let shown =
        String(repeating: "0", count: 4 - address.count) + address + "  "
        + text[..<8].joined(separator: " ") + "  " + text[8...].joined(separator: " ")
      let isShown = document.contains(shown)
      #expect(isShown, "\(shown)")
    }
  }

  @Test("A flipped bit anywhere is detected")
  func flippedBits() {
    let (image, root) = Self.image(
      epoch: 7, (0..<50).map { (Bytes("key\($0)".utf8), Bytes("value\($0)".utf8)) })
    #expect(Self.flaw(image, root) == nil)
    for offset in image.indices {
      var damaged = image
      damaged[offset] ^= 1 << (offset % 8)
      #expect(Self.flaw(damaged, root) != nil, "byte \(offset)")
    }
  }

  @Test("A page other than the requested one is detected")
  func wrongPage() {
    let (image, root) = Self.image(epoch: 7, [([1], [2])])
    var other = root
    other.page += 1
    #expect(Self.flaw(image, other)?.contains("it is page") == true)
    other = root
    other.birth = 8
    #expect(Self.flaw(image, other)?.contains("it was born") == true)
    #expect(Self.flaw(Array(image.dropLast()), root)?.contains("bytes long") == true)
  }

  @Test("An image holds nothing of what the memory of its page held before")
  func usedMemory() {
    let pages = PageStore()
    let secret = Bytes("the content of a page that has been freed".utf8)
    for round in 0..<2 {
      let editor = PageEditor(pages: pages, epoch: CommitNumber(round + 1))
      var root = TreeRoot.empty
      for number in 0..<900 {
        let key = Bytes("\(number * 7 % 900)".utf8)
        editor.put(&root, key, round == 0 ? secret + secret : Bytes("\(number)".utf8))
      }
      #expect(Tree(root, pages: pages).count == 900)
      if round == 0 {
        // Its frames serve the next tree.
        editor.discard()
        continue
      }
      // Removals and shorter values move the bounds of the gap.
      for number in 0..<300 { _ = editor.remove(&root, Bytes("\(number * 3)".utf8)) }
      for number in 0..<900 where number % 3 == 1 { editor.put(&root, Bytes("\(number)".utf8), []) }
      var image = Bytes(repeating: 0xff, count: PageLayout.pageByteCount)
      var levels: Set<Int> = []
      Tree(root, pages: pages).forEachPage { page in
        levels.insert(page.level)
        image.withUnsafeMutableBytes { PageImage.write(page, to: $0) }
        let flaw = image.withUnsafeBytes {
          PageImage.flaw(in: $0, number: page.number, birth: page.birth)
        }
        #expect(flaw == nil)
        #expect(image.firstRange(of: secret.prefix(8)) == nil)
      }
      #expect(levels.count > 1)
      editor.discard()
    }
  }

  @Test("Pages with false cells are detected before the cells are read", arguments: 0..<8)
  func lies(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let pages = PageStore()
    let editor = PageEditor(pages: pages, epoch: 7)
    var root = TreeRoot.empty
    for number in 0..<400 {
      editor.put(&root, Bytes("key\(number)".utf8), Bytes("v\(number)".utf8))
    }
    let tree = Tree(root, pages: pages)
    tree.forEachPage { page in
      #expect(page.layoutFlaw() == nil)
      // Reading stays inside the page, whatever the bytes; the checks find most damage.
      for _ in 0..<40 {
        let bytes = UnsafeMutableRawBufferPointer.allocate(
          byteCount: PageLayout.pageByteCount, alignment: 8)
        defer { bytes.deallocate() }
        bytes.copyMemory(
          from: UnsafeRawBufferPointer(start: page.bytes, count: PageLayout.pageByteCount))
        bytes[Int.random(in: 4..<400, using: &random)] = UInt8.random(in: 0...255, using: &random)
        _ = Page(bytes: bytes.baseAddress ?? page.bytes).layoutFlaw()
      }
    }
    editor.discard()
  }

  @Test("The pages born after a commit are those made by later commits", arguments: [4, Int.max])
  func bornAfter(capacity: Int) {
    let pages = PageStore(cellCapacity: capacity)
    var root = TreeRoot.empty
    var made: [CommitNumber: Set<PageNumber>] = [:]
    for commit: CommitNumber in 1...6 {
      let editor = PageEditor(pages: pages, epoch: commit)
      for number in 0..<(600 / Int(commit)) {
        editor.put(&root, Bytes("\(number * 13 % 997)".utf8), [UInt8(commit)])
      }
      made[commit] = Set(editor.finish().allocated)
    }
    let reachable = TreeChecker.reachablePages(root, pages: pages)
    for commit: CommitNumber in 0...6 {
      var found: Set<PageNumber> = []
      Tree(root, pages: pages).forEachPage(bornAfter: StateID(commit)) { page in
        #expect(found.insert(page.number).inserted)
      }
      let young = made.filter { $0.key > commit }.reduce(into: Set()) { $0.formUnion($1.value) }
      #expect(found == young.intersection(reachable), "after \(commit)")
    }
  }
}
