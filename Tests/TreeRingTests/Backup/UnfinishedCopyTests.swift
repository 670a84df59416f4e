// Unfinished copies of a store: every opener refuses them, and the same operation completes them.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Unfinished copies") struct UnfinishedCopyTests {
  /// An operation that makes the store "out" from "store".
  enum Work: String, CaseIterable {
    case backup, linkedBackup, restore, salvage

    func run(on disk: any FileSystem) throws {
      var options = StoreOptions(segmentSize: 2_000, logger: quietLogger)
      options.pageCellCapacity = 4
      switch self {
      case .backup, .linkedBackup:
        _ = try CommitLog.backUp(
          of: "store", to: "out", fileSystem: disk, mayLink: self == .linkedBackup)
      case .restore: try Store.restore(from: "store", to: "out", on: disk)
      case .salvage: try Store.salvage(from: "store", to: "out", on: disk, options: options)
      }
    }
  }

  private static func makeStore(_ disk: SimulatedFileSystem) throws {
    let store = try Store(
      path: "store", fileSystem: disk,
      options: StoreOptions(segmentSize: 2_000, logger: quietLogger))
    for number in UInt8(1)...20 {
      try store.put([UInt8](repeating: number, count: 300), for: "a")
    }
    try store.close()
  }

  private static func open(_ disk: any FileSystem, _ mode: StoreMode) throws -> Store {
    try Store(path: "out", fileSystem: disk, options: StoreOptions(mode: mode, logger: quietLogger))
  }

  /// Throws unless every opener refuses the copy, or the copy is whole.
  private static func check(_ disk: SimulatedFileSystem, _ context: String) throws {
    var codes: Set<TreeRingError.Code?> = []
    for mode in [StoreMode.readOnly, .readWrite, .create] {
      // The next opening starts from the same disk, without the changes of this one.
      let found = disk.afterKill()
      codes.insert(
        code {
          let store = try open(found, mode)
          #expect(store.newestCommit == 20 || mode == .create, "\(context)")
          if mode == .create, store.newestCommit != 20 {
            #expect(
              store.newestCommit == 0
                && !disk.paths.contains { $0.hasPrefix("out/") && $0.hasSuffix(".lz4") })
          }
          try store.close()
        })
    }
    if codes.contains(.unfinishedCopy) { #expect(codes == [.unfinishedCopy], "\(context)") }
    #expect(codes.isSubset(of: [nil, .unfinishedCopy, .notFound]), "\(context): \(codes)")
    if disk.paths.contains(where: { $0.hasPrefix("out/") && $0.hasSuffix(".lz4") }) {
      #expect(codes == [nil] || codes == [.unfinishedCopy], "\(context): \(codes)")
    }
  }

  @Test(
    "A copy that ends at any call is refused or whole, and repeating the work completes it",
    arguments: Work.allCases)
  func ended(work: Work) throws {
    let first = SimulatedFileSystem(seed: 1)
    try Self.makeStore(first)
    var call = 1
    while true {
      let disk = first.afterKill()
      disk.crash(after: call)
      let isDone = code { try work.run(on: disk) } == nil
      for (index, found) in [disk.afterKill(), disk.afterCrash(seed: UInt64(call))].enumerated() {
        let context = "\(work), call \(call), \(index == 0 ? "killed" : "power lost")"
        try Self.check(found, context)
        if isDone { continue }
        // A backup that ended just before is refreshed; the other operations report that the copy
        // is complete.
        let again = code { try work.run(on: found) }
        #expect(again == nil || again == .alreadyExists && work != .backup, "\(context)")
        let whole = try Self.open(found, .readWrite)
        #expect(whole.newestCommit == 20, "\(context)")
        #expect(try whole.snapshot().get("a", in: blobs)?.first == 20, "\(context)")
        try whole.close()
        #expect(!found.paths.contains("out/UNFINISHED"), "\(context)")
      }
      if isDone { break }
      call += work == .salvage ? 7 : 1
    }
    #expect(call > 20)
  }

  @Test("After a failed call, repeating the work completes the copy", arguments: Work.allCases)
  func failed(work: Work) throws {
    let first = SimulatedFileSystem(seed: 2)
    try Self.makeStore(first)
    for call in stride(from: 1, to: 400, by: work == .salvage ? 13 : 3) {
      let disk = first.afterKill()
      disk.fail(after: call, with: call % 2 == 0 ? .noSpace : .inputOutput)
      let isDone = code { try work.run(on: disk) } == nil
      if !isDone { try Self.check(disk.afterKill(), "\(work), call \(call)") }
      let found = disk.afterKill()
      let again = code { try work.run(on: found) }
      #expect(again == nil || again == .alreadyExists, "\(work), call \(call)")
      let whole = try Self.open(found, .readWrite)
      #expect(whole.newestCommit == 20)
      try whole.close()
      if isDone, disk.faultCount == 0 { break }
    }
  }

  @Test("Only work of the same kind can continue an unfinished copy, and only one at a time")
  func kinds() throws {
    let disk = MemoryFileSystem()
    let store = try Store(path: "store", fileSystem: disk, options: StoreOptions())
    try store.put([1], for: "a")
    try store.close()
    let mark = try UnfinishedCopy.begin(.salvage, in: "out", fileSystem: disk)
    #expect(code { try Store.salvage(from: "store", to: "out", on: disk) } == .locked)
    mark.release()
    #expect(code { try Store.restore(from: "store", to: "out", on: disk) } == .alreadyExists)
    #expect(
      code { try CommitLog.backUp(of: "store", to: "out", fileSystem: disk, mayLink: true) }
        == .alreadyExists)
    for body: () throws -> Void in [
      { _ = try Self.open(disk, .create) },
      { _ = try CommitLog.backUp(of: "out", to: "other", fileSystem: disk, mayLink: true) },
      { _ = try Store.salvage(from: "out", to: "other", on: disk) },
      { _ = try BaseWriter(folder: "out", fileSystem: disk) },
      { _ = try StoreFilesCheck(of: "out", fileSystem: disk) },
    ] {
      #expect(code(of: body) == .unfinishedCopy)
    }
    try Store.salvage(from: "store", to: "out", on: disk)
    #expect(try Self.open(disk, .readWrite).snapshot().get("a", in: blobs) == [1])
  }

  @Test("A foreign file named UNFINISHED does not make a store an unfinished copy")
  func otherFile() throws {
    let disk = MemoryFileSystem()
    let store = try Self.open(disk, .create)
    try store.put([1], for: "a")
    try store.close()
    disk.setContents(of: "out/UNFINISHED", to: Array("Symphony No. 8".utf8))
    let again = try Self.open(disk, .readWrite)
    #expect(try again.snapshot().get("a", in: blobs) == [1])
    try again.close()
    #expect(code { try Store.restore(from: "out", to: "out", on: disk) } == .alreadyExists)
    #expect(disk.contents(of: "out/UNFINISHED") == Array("Symphony No. 8".utf8))
  }
}
