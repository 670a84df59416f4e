// Whole stores as inputs: the only segment of a log, and its page file. Opening trusts a page file
// that fits the log, so reads and writes of rows find the faults in its pages, lists and metas.
//
// The first byte is 0x60; its bit 0 repairs all checksums, and the positions that the metas state.
// The next four bytes are the length of the log. The log and the page file follow.

import Foundation
internal import TreeRing
internal import TreeRingLog

let storeMode: UInt8 = 0x60
private let headByteCount = 5

/// Opens a store, reads all its newest and earlier contents, and writes to it.
func tryStore(_ input: [UInt8]) {
  guard input.count > headByteCount else { return }
  let length = Int(ChecksumRepair.number(4, at: 1, in: input))
  let end = headByteCount + min(length, input.count - headByteCount)
  var (log, pages) = (Array(input[headByteCount..<end]), Array(input[end...]))
  if input[0] & 1 != 0 {
    ChecksumRepair.repairSegment(&log)
    ChecksumRepair.repairPages(&pages)
    ChecksumRepair.repairPositions(in: &pages, of: log)
  }
  for mode in [StoreMode.readOnly, .readWrite] {
    let disk = MemoryFileSystem()
    try? disk.makeDirectory("store")
    try? disk.makeDirectory("store/log")
    disk.setContents(of: "store/log/\(segmentName)", to: log)
    disk.setContents(of: "store/pages", to: pages)
    expectingTyped {
      let store = try Store(path: "store", fileSystem: disk, options: options(mode))
      defer { try? store.close() }
      use(store)
      guard mode == .readWrite else { return }
      let commit = try store.write { try $0.put([1, 2, 3], for: "after", in: rows) }.commit
      expectingTyped { try store.checkpoint() }
      use(store)
      try store.close()
      let again = try Store(path: "store", fileSystem: disk, options: options(.readOnly))
      defer { try? again.close() }
      precondition(again.newestCommit == commit, "a commit was lost")
    }
  }
}

/// Reads rows, indexes and histories. A fault in one of them does not stop the reads of the others.
private func use(_ store: Store) {
  for number in Set([store.newestCommit, store.newestCommit / 2, 1]) {
    expectingTyped {
      let snapshot = try store.snapshot(at: .commit(number))
      for (bucket, _) in try snapshot.buckets() {
        expectingTyped { try snapshot.forEachRow(in: bucket) { _ in true } }
      }
      for index in snapshot.indexes {
        expectingTyped {
          let index = try snapshot.index(index.name)
          for group in try index.groups() { _ = try index.rows(in: group) }
        }
      }
      _ = try snapshot.tags()
    }
  }
  expectingTyped { _ = try store.history(of: "k1", in: rows.name) }
  expectingTyped { _ = try store.statistics() }
}

private let rows = Bucket<[UInt8]>.bytes("rows")

private func options(_ mode: StoreMode) -> StoreOptions {
  var options = StoreOptions(mode: mode, memoryBudget: 4 << 20)
  options.logger.logLevel = .critical
  options.pageCellCapacity = 6
  return options
}

private func expectingTyped(_ body: () throws -> Void) {
  do {
    try body()
  } catch let error as TreeRingError {
    precondition(error.code != .unknown && error.code != .poisoned, "\(error)")
  } catch {
    preconditionFailure("an untyped error: \(error)")
  }
}

/// Writes a sound store to begin from.
func writeStores(_ folder: String) {
  do {
    let disk = MemoryFileSystem()
    let store = try Store(path: "store", fileSystem: disk, options: options(.create))
    try store.define(
      "byGroup", FieldIndex(bucket: "rows", group: "g", order: [.init("n", descending: true)]))
    for number in 0..<18 {
      try store.write { tx in
        let object = #"{"g":"g\(number % 3)","n":\(number)}"#
        try tx.put(Array(object.utf8), for: Key("k\(number % 11)"), in: rows)
        if number % 5 == 4 { try tx.delete(Key("k\(number % 4)"), in: rows.name) }
        if number % 6 == 3 { try tx.tag("t\(number)", commit: tx.commit) }
      }
      if number % 7 == 6 { try store.checkpoint() }
    }
    try store.close()
    let log = disk.contents(of: "store/log/\(segmentName)") ?? []
    var pages = disk.contents(of: "store/pages") ?? []
    // Without the space that the file has reserved.
    let end = (pages.lastIndex { $0 != 0 } ?? 0) / PageLayout.pageByteCount + 1
    pages.removeLast(max(0, pages.count - end * PageLayout.pageByteCount))
    for repairs in [0, 1] as [UInt8] {
      var head = [storeMode | repairs, 0, 0, 0, 0]
      ChecksumRepair.put(UInt64(log.count), 4, at: 1, in: &head)
      let path = "\(folder)/store-\(repairs)"
      guard FileManager.default.createFile(atPath: path, contents: Data(head + log + pages)) else {
        preconditionFailure("cannot write \(path)")
      }
    }
    print("store input: \(log.count) + \(pages.count) bytes")
  } catch { preconditionFailure("\(error)") }
}
