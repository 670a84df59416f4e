// Page files as inputs: whole ones, and their parts. Every decoder returns an answer or throws
// `corruption`. Accepted input is encoded again, and the decoder must accept the result.
//
// Of the first byte, bit 2 is set. Bits 3 and 4 choose: 0 a page file, 1 a meta, 2 a list of roots,
// 3 a free map and a list of dead pages. Bit 0 repairs checksums and page numbers first.

import Foundation
internal import TreeRing
internal import TreeRingLog

private let pageSize = PageLayout.pageByteCount

/// Decodes an input as the kind that its first byte states.
func tryPages(_ input: [UInt8]) {
  var bytes = Array(input.dropFirst())
  let repairs = input[0] & 1 != 0
  switch input[0] >> 3 & 3 {
  case 0:
    if repairs { ChecksumRepair.repairPages(&bytes) }
    tryFile(bytes)
  case 1:
    bytes =
      Array(bytes.prefix(pageSize)) + Array(repeating: 0, count: max(0, pageSize - bytes.count))
    if repairs { ChecksumRepair.repairSlot(0, in: &bytes) }
    expecting {
      let meta = try bytes.withUnsafeBytes { try Meta.decode($0) }
      precondition(meta.encode() == bytes, "a meta is not what it was read from")
    }
  case 2:
    expecting {
      let once = RetainedRoot.encode(try RetainedRoot.decode(bytes))
      let twice = RetainedRoot.encode(try RetainedRoot.decode(once))
      precondition(once == twice, "roots change when read")
    }
  default:
    expecting {
      let words = try FreeMap.decode(bytes, below: 5_000)
      let again = try FreeMap.decode(FreeMap.encode(words), below: 5_000)
      precondition(again == Array(words.prefix(again.count)), "free pages change when read")
    }
    expecting {
      let pages = try DeadList.decode(bytes)
      precondition(DeadList.encode(pages) == bytes, "dead pages change when read")
    }
  }
}

/// Opens a page file and reads every page that its metas reach, and every other page.
private func tryFile(_ bytes: [UInt8]) {
  let disk = MemoryFileSystem()
  disk.setContents(of: "pages", to: bytes)
  expecting {
    let file = try PageFile.open(
      "pages", fileSystem: disk, mode: .readOnly, chunkByteCount: 256 << 10)
    for meta in try file.metas().valid {
      expecting { _ = try FreeMap.decode(file.readBlob(meta.free), below: meta.pageBound) }
      expecting {
        for root in try RetainedRoot.decode(file.readBlob(meta.roots)) {
          for list in root.deadLists {
            expecting { _ = try DeadList.decode(file.readBlob(list)) }
            expecting { _ = try file.pages(of: list) }
          }
          for tree in [root.roots.rows, root.roots.tombstones, root.roots.catalog]
          where tree.page > 0 {
            expecting { _ = try file.fetch(tree.page, birth: tree.birth) }
          }
        }
      }
    }
    for slot in 2..<max(3, bytes.count / pageSize + 1) {
      let start = slot * pageSize + PageLayout.birthOffset
      guard start + 8 <= bytes.count else { break }
      let word = (0..<8).reduce(0) { $0 | UInt64(bytes[start + $1]) << (8 * UInt64($1)) }
      let birth = PageBirth(rawValue: word)
      expecting {
        let page = Page(bytes: try file.fetch(PageNumber(slot - 1), birth: birth))
        _ = page.entryCount
        precondition(page.layoutFlaw() == nil, "a fetched page is sound")
      }
    }
  }
}

/// Runs a decoder that may throw `corruption` and nothing else.
private func expecting(_ body: () throws -> Void) {
  do {
    try body()
  } catch let error as TreeRingError {
    precondition(error.code == .corruption, "\(error)")
  } catch {
    preconditionFailure("an untyped error: \(error)")
  }
}

/// Writes a sound page file and its parts to begin from.
func writePageFiles(_ folder: String) {
  do {
    let disk = MemoryFileSystem()
    let file = try PageFile.open("pages", fileSystem: disk, mode: .create)
    let pages = PageStore(cellCapacity: 8)
    var roots = Roots()
    roots.commit = 2
    for commit: CommitNumber in 1...2 {
      let editor = PageEditor(pages: pages, epoch: commit)
      for key in 0..<UInt8(20) where commit == 1 || key % 7 == 0 {
        [key, 1, 2].withUnsafeBytes { key in _ = editor.put(&roots.rows, key: key, value: key) }
      }
      _ = editor.finish()
    }
    roots.indexes.set(IndexRoots(number: 1))
    var reached: [(number: PageNumber, page: Page)] = []
    Tree(roots.rows, pages: pages).forEachPage { reached.append(($0.number, $0)) }
    try file.write(reached.sorted { $0.number < $1.number })
    var next = pages.pageNumberBound
    func number() -> PageNumber {
      defer { next += 1 }
      return next
    }
    let words = (0..<600).map { UInt64($0) }
    let dead = DeadList.encode([RetiredPage(number: 1, birth: 1), RetiredPage(number: 2, birth: 1)])
    let list = [
      RetainedRoot(
        roots: roots, deadLists: [try file.writeBlob(dead, birth: 2, numbers: number)])
    ]
    let meta = Meta(
      storeID: 7, sequence: 1,
      position: LogPosition(
        segment: 1, generation: 0, salt: 8, offset: 88, chain: 9, commit: 2,
        timestamp: Timestamp(microseconds: 10), identity: 11),
      pageBound: 600 * 64,
      free: try file.writeBlob(FreeMap.encode(words), birth: 2, numbers: number),
      roots: try file.writeBlob(RetainedRoot.encode(list), birth: 2, numbers: number),
      livePageCount: 9)
    try file.writeMeta(meta)
    let whole = disk.contents(of: "pages") ?? []
    for (name, kind, bytes) in [
      ("file", 0, whole), ("meta", 1, meta.encode()), ("roots", 2, RetainedRoot.encode(list)),
      ("lists", 3, dead + FreeMap.encode([2, 4])),
    ] as [(String, UInt8, [UInt8])] {
      for repairs in [0, 1] as [UInt8] {
        let path = "\(folder)/pages-\(name)-\(repairs)"
        let input = Data([4 | kind << 3 | repairs] + bytes)
        guard FileManager.default.createFile(atPath: path, contents: input) else {
          preconditionFailure("cannot write \(path)")
        }
      }
    }
  } catch { preconditionFailure("\(error)") }
}
