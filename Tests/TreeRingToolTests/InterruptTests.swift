// Ctrl-C during commands that write a copy of a store.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Ctrl-C", .leavesSoundStores) struct InterruptTests {
  private let folder: TemporaryFolder
  private var path: String { folder.path + "/s.ring" }
  private var scratch: String { folder.path + "/scratch" }
  private static let commitCount = 3_000

  init() throws {
    folder = try TemporaryFolder()
    let store = try Store(
      at: path, options: StoreOptions(durability: .unsynced, logger: quietLogger))
    for number in 0..<Self.commitCount {
      try store.write { try $0.put([7], for: Key("\(number)"), in: .bytes("b")) }
    }
    try store.close()
    try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
  }

  /// Interrupts a command as soon as `isBegun` returns true. If the command has already ended, it
  /// is started again.
  private func interrupt(_ arguments: [String], when isBegun: () -> Bool) throws {
    for _ in 0..<50 {
      let child = try Child("treering", arguments)
      var environment = ProcessInfo.processInfo.environment
      environment["TMPDIR"] = scratch
      child.process.environment = environment
      try child.process.run()
      while child.process.isRunning, !isBegun() { usleep(1_000) }
      child.process.interrupt()
      child.process.waitUntilExit()
      #expect(child.process.terminationReason == .exit)
      #expect(try FileManager.default.contentsOfDirectory(atPath: scratch) == [])
      if child.process.terminationStatus != 0 {
        #expect(child.process.terminationStatus == 130)
        return
      }
      try? FileManager.default.removeItem(atPath: folder.path + "/new")
    }
    Issue.record("\(arguments) cannot be interrupted")
  }

  @Test(
    "A comparison or a measurement that is interrupted leaves nothing behind",
    arguments: [["verify", "--deep"], ["replay"], ["bench"]])
  func comparing(_ command: [String]) throws {
    try interrupt(command + [path]) {
      (try? FileManager.default.contentsOfDirectory(atPath: scratch))?.isEmpty == false
    }
  }

  @Test("An interrupted replay into a new store leaves no store, and succeeds when run again")
  func replaying() throws {
    let new = folder.path + "/new"
    try interrupt(["replay", path, "--into", new]) {
      FileManager.default.fileExists(atPath: new + "/log")
    }
    let options = StoreOptions(mode: .readWrite, logger: quietLogger)
    do {
      _ = try Store(at: new, options: options)
      Issue.record("half a store was opened")
    } catch let error as TreeRingError { #expect(error.code == .unfinishedCopy) }
    let again = try Child("treering", ["replay", path, "--into", new])
    try again.process.run()
    again.process.waitUntilExit()
    #expect(again.process.terminationStatus == 0)
    let store = try Store(at: new, options: options)
    #expect(store.newestCommit == CommitNumber(Self.commitCount))
    #expect(try store.checkInvariants() == [])
    try store.close()
  }
}
