// docs/pages.md is the page file's format: its byte maps equal those of PageFileLayout.swift.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("The page file as documented") struct PageFileFormatTests {
  /// The rows of the table after a heading: offset, type, field.
  static func table(_ heading: String) throws -> [String] {
    let document = try PageImageTests.document()
    let lines = document.split(separator: "\n", omittingEmptySubsequences: false)
    let start = try #require(lines.firstIndex(of: "### \(heading)"), "no heading \(heading)")
    var rows: [String] = []
    for line in lines[(start + 1)...] {
      if line.hasPrefix("#") { break }
      let cells = line.split(separator: "|").map { cell in
        String(cell.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
      }
      if cells.count > 2, let offset = Int(cells[0]) {
        rows.append("\(offset) \(cells[1]) \(cells[2])")
      }
    }
    return rows
  }

  @Test("The meta's byte map is that of the code")
  func meta() throws {
    typealias M = PageFileLayout.Meta
    #expect(
      try Self.table("Meta") == [
        "\(M.magicOffset) u64 magic", "\(M.formatVersionOffset) u32 format version",
        "\(M.checksumOffset) u32 checksum", "\(M.pageByteCountOffset) u32 page size",
        "\(M.pageBoundOffset) u32 page bound", "\(M.storeIDOffset) u64 store id",
        "\(M.sequenceOffset) u64 sequence", "\(M.livePageCountOffset) u64 live pages",
        "\(M.segmentOffset) u64 segment", "\(M.saltOffset) u64 salt",
        "\(M.logOffsetOffset) u64 log offset", "\(M.commitOffset) u64 commit",
        "\(M.timestampOffset) i64 timestamp", "\(M.generationOffset) u32 generation",
        "\(M.chainOffset) u32 chain", "\(M.identityOffset) u32 identity",
        "\(M.freePageOffset) u32 free map page", "\(M.freeBirthOffset) u64 free map birth",
        "\(M.freeByteCountOffset) u64 free map bytes", "\(M.rootsBirthOffset) u64 roots birth",
        "\(M.rootsByteCountOffset) u64 roots bytes", "\(M.rootsPageOffset) u32 roots page",
      ])
    let document = try PageImageTests.document()
    let magic = "`0x\(String(M.magic, radix: 16, uppercase: true))`"
    #expect(document.contains(magic), "\(magic)")
    #expect(document.contains("Zeros from byte \(M.endOffset) on"))
    #expect(M.formatVersion == 1 && PageFileLayout.List.formatVersion == 1)
    let name = withUnsafeBytes(of: M.magic.littleEndian) { String(decoding: $0, as: UTF8.self) }
    #expect(document.contains("\"\(name)\""), "\(name)")
  }

  @Test("The list page's byte map is that of the code")
  func listPage() throws {
    typealias L = PageFileLayout.List
    #expect(
      try Self.table("List page") == [
        "\(L.checksumOffset) u32 checksum", "\(L.formatVersionOffset) u8 format version",
        "\(L.zeroOffset) 3 bytes zero", "\(L.numberOffset) u32 number",
        "\(L.nextOffset) u32 next", "\(L.birthOffset) u64 birth",
        "\(L.payloadByteCountOffset) u16 payload length", "\(L.kindOffset) u16 kind",
        "\(L.positionOffset) u32 position", "\(L.nextBirthOffset) u64 next birth",
        "\(L.payloadOffset)  payload",
      ])
    #expect(L.maxPayloadByteCount == 4_056 && L.kind == 1)
  }

  @Test("Slots, limits and the bytes of the lists are as documented")
  func rest() throws {
    #expect(PageFileLayout.offset(of: 1) == 8_192 && PageFileLayout.offset(of: 7) == 4_096 * 8)
    #expect(PageFileLayout.maxPageNumber == (1 << 31) - 1)
    #expect(PageFileLayout.minGrowth == 256 << 10 && PageFileLayout.maxGrowth == 64 << 20)
    #expect(FreeMap.encode([1 << 5, 1, 0]) == [32, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])
    #expect(
      DeadList.encode([RetiredPage(number: 0x0102_0304, birth: 5)])
        == [4, 3, 2, 1, 5, 0, 0, 0, 0, 0, 0, 0])
    var roots = Roots()
    roots.commit = 300
    roots.timestamp = Timestamp(microseconds: 1)
    roots.operationCount = 4
    roots.payloadByteCount = 5
    roots.rows = TreeRoot(page: 6, birth: 7, count: 8)
    var index = IndexRoots(number: 9)
    index.places = TreeRoot(page: 10, birth: 11, count: 12)
    index.undecodable = 13
    roots.indexes.set(index)
    let dead = BlobReference(page: 14, birth: 15, byteCount: 16)
    let commit: Bytes = [0xAC, 0x02]
    let head = [1, 1] + commit + [1, 0, 0, 0, 0, 0, 0, 0, 4, 5] + [6, 7, 8, 0, 0, 0, 0, 0, 0]
    #expect(
      RetainedRoot.encode([RetainedRoot(roots: roots, deadLists: [dead])])
        == head + [1, 9, 0, 0, 0, 10, 11, 12, 13] + [1, 14, 15, 16])
  }
}
