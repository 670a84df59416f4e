// A store whose folder or LOCK file disappears while it is open, or whose path leads to something
// else.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("A store whose folder or lock file is replaced", .serialized) struct ReplacedFolderTests {
  private static func open(_ path: String, _ mode: StoreMode = .create) throws -> Store {
    try Store(
      at: path,
      options: StoreOptions(
        mode: mode, memoryBudget: 8 << 20, segmentSize: 4096, logger: quietLogger))
  }

  enum Loss: CaseIterable { case removed, replaced, moved, folderReplaced }

  private static func lose(_ path: String, _ loss: Loss) throws {
    let files = FileManager.default
    switch loss {
    case .removed: try files.removeItem(atPath: path + "/LOCK")
    case .replaced:
      try files.removeItem(atPath: path + "/LOCK")
      try Data().write(to: URL(filePath: path + "/LOCK"))
    case .moved: try files.moveItem(atPath: path, toPath: path + ".moved")
    case .folderReplaced:
      try files.moveItem(atPath: path, toPath: path + ".moved")
      try files.copyItem(atPath: path + ".moved", toPath: path)
    }
  }

  @Test(
    "Once LOCK or the folder is removed or replaced, no commit is acknowledged",
    arguments: Loss.allCases)
  func poisoned(loss: Loss) throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/s"
    let store = try Self.open(path)
    try store.put([1], for: "a")
    try Self.lose(path, loss)
    usleep(5_000)
    let found = error { try store.put([2], for: "a") }
    #expect([.unknown, .poisoned].contains(found?.code), "\(String(describing: found))")
    #expect(code { try store.put([3], for: "a") } == .poisoned)
    #expect(code { try store.compact() } != nil)
    #expect(try store.snapshot().get("a", in: blobs)?.count == 1)
    #expect(code { try store.close() } != nil)
    guard loss != .moved else { return }
    let next = try Self.open(path)
    #expect(try next.snapshot().get("a", in: blobs) != nil)
    try next.put([4], for: "a")
    try next.close()
  }

  @Test(
    "No segment is begun in another store's folder", arguments: [Loss.moved, .folderReplaced])
  func segmentChange(loss: Loss) throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/s"
    let store = try Self.open(path)
    try Self.lose(path, loss)
    if loss == .moved { try Self.open(path).close() }
    let before = try FileManager.default.contentsOfDirectory(atPath: path + "/log")
    // Large rows, so that the second one needs another segment.
    for _ in 0..<2 {
      _ = try? store.put((0..<6_000).map { _ in UInt8.random(in: 0...255) }, for: "a")
    }
    #expect(code { try store.put([3], for: "a") } == .poisoned)
    #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/log") == before)
    try? store.close()
  }

  @Test("After LOCK was removed, no second writer can open the store that the first has open")
  func secondWriter() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/s"
    let store = try Self.open(path)
    try store.put([1], for: "a")
    try FileManager.default.removeItem(atPath: path + "/LOCK")
    for mode in [StoreMode.create, .readWrite] {
      let found = error { try Self.open(path, mode) }
      #expect(found?.code == .locked && found?.file == path + "/LOCK")
    }
    #expect(code { try BaseWriter(folder: path, fileSystem: PosixFileSystem()) } == .locked)
    if let other = try TemporaryFolder.run("flock", ["-n", path, "true"]) { #expect(other.0 != 0) }
    try? store.close()
    try Self.open(path).close()
  }

  @Test("A relative path keeps its meaning when the working folder changes")
  func workingFolder() throws {
    let files = FileManager.default
    let folder = try TemporaryFolder()
    let (before, other) = (files.currentDirectoryPath, folder.path + "/other")
    try files.createDirectory(atPath: other, withIntermediateDirectories: true)
    defer { #expect(chdir(before) == 0) }
    #expect(chdir(folder.path) == 0)
    let store = try Self.open("s")
    try store.put([1], for: "a")
    let reader = try Self.open("s", .readOnly)
    #expect(chdir(other) == 0)
    // Another store under the same name.
    let decoy = try Self.open("s")
    try decoy.put([9], for: "z")
    for number in UInt8(2)...9 {
      try store.put([number] + (0..<3_000).map { _ in UInt8.random(in: 0...255) }, for: "a")
    }
    try store.checkpoint()
    try store.compact(to: .before(5))
    #expect(store.log.segments.count > 2)
    let start = ContinuousClock.now
    while reader.newestCommit < store.newestCommit, .now - start < .seconds(20) { usleep(1_000) }
    #expect(try reader.snapshot().get("a", in: blobs)?.first == 9)
    try store.backUp(to: "b")
    #expect(files.fileExists(atPath: other + "/b/log"))
    for open in [store, reader, decoy] { try open.close() }
    #expect(try files.contentsOfDirectory(atPath: other + "/s/log").count == 1)
    #expect(chdir(folder.path) == 0)
    let again = try Self.open("s", .readWrite)
    #expect(try again.snapshot().get("a", in: blobs)?.first == 9)
    try again.close()
  }

  #if os(Linux)
    @Test(
      "A store can be opened again although a copy of its lock's descriptor lives on in a child")
    func forked() throws {
      let folder = try TemporaryFolder()
      let path = folder.path + "/s"
      let store = try Self.open(path)
      // The state of a child between fork and exec: the same open files.
      var copies: [Int32] = []
      for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
        guard let number = Int32(name),
          let target = try? FileManager.default.destinationOfSymbolicLink(
            atPath: "/proc/self/fd/\(name)"),
          target.hasPrefix(path)
        else { continue }
        copies.append(dup(number))
      }
      defer { for copy in copies { close(copy) } }
      #expect(copies.count >= 3)
      try store.close()
      try Self.open(path, .readWrite).close()
    }
  #endif

  @Test("A second thread that closes a store returns when the store is closed")
  func closedTwice() throws {
    for _ in 0..<20 {
      let folder = try TemporaryFolder()
      let store = try Self.open(folder.path + "/s")
      for number in UInt8(0)..<20 { try store.put([number], for: "a") }
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        do {
          try store.close()
          // The first process opens it; the others find it open.
          let found = error { try Self.open(folder.path + "/s", .readWrite).close() }
          #expect(found == nil || found?.code == .locked)
        } catch { Issue.record("\(error)") }
      }
      try Self.open(folder.path + "/s", .readWrite).close()
    }
  }
}
