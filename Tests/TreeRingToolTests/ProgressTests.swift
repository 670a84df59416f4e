// Long work reports its progress.

import ArgumentParser
import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog
@testable import treering

@Suite("Progress", .leavesSoundStores) struct ProgressTests {
  /// The progress reported while `body` ran: the names of the bars, and the last amount of each.
  private static func updates(_ body: () throws -> Void) rethrows -> [String: UInt64] {
    let most = Mutex<[String: UInt64]>([:])
    try ProgressBar.$whenUpdated.withValue({ what, done in
      most.withLock { $0[what] = max($0[what] ?? 0, done) }
    }) { try body() }
    return most.withLock { $0 }
  }

  private static func makeStore(at path: String) throws {
    let store = try Store(at: path, options: StoreOptions(durability: .unsynced))
    for number in 0..<1_000 {
      try store.write { try $0.put([7], for: Key("\(number)"), in: .bytes("b")) }
    }
    try store.checkpoint()
    try store.close()
  }

  @Test(
    "Replaying a log without a page file shows how many commits are done",
    arguments: [true, false])
  func opening(forReading: Bool) throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/s.ring"
    try Self.makeStore(at: path)
    try FileManager.default.removeItem(atPath: path + "/pages")
    let updates = try Self.updates {
      try StoreAccess.open(path, forReading ? .readOnly : .readWrite).close()
    }
    #expect(updates.keys.contains("Opening"))
    // A reader gets reports at intervals, a writer at each checkpoint.
    if forReading { #expect(updates["Opening"] ?? 0 > 500) }
  }

  @Test("A check of files reports its progress in the log and in the page file")
  func checking() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/s.ring"
    try Self.makeStore(at: path)
    let output = try WrittenOutput(in: folder)
    let command = try VerifyCommand.parse([path])
    func size(_ name: String) throws -> UInt64 {
      let attributes = try FileManager.default.attributesOfItem(atPath: name)
      return try #require(attributes[.size] as? UInt64)
    }
    let segment = try #require(FileManager.default.contentsOfDirectory(atPath: path + "/log").first)
    let log = try size("\(path)/log/\(segment)")
    let updates = try Self.updates { try command.run(output.output) }
    let done = try #require(updates["Checking"])
    let pages = try size(path + "/pages")
    #expect(done > log && done <= log + pages)
    #expect(try output.take() == "The store is sound; its last commit is 1000.\n")
  }

  @Test("Reverting reports the number of operations")
  func reverting() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/s.ring"
    try Self.makeStore(at: path)
    let output = try WrittenOutput(in: folder)
    let command = try RevertCommand.parse([path, "--to", "400"])
    let updates = try Self.updates { try command.run(output.output) }
    #expect(updates["Reverting"] == 600)
    #expect(try output.take() == "Wrote 600 operations in commit 1001.\n")
  }
}
