// A real process on a real disk, killed in the middle of its work, again and again; and system calls of
// real processes that fail.

import Foundation
import TestSupport
import Testing
import TreeRing
import TreeRingLog

/// What a Crasher has said.
private struct Acknowledged {
  /// The newest commit that returned, of any durability. The system lives on, so all must be there.
  var newest: UInt64 = 0
  var count = 0
  var error: String?

  mutating func note(_ line: String) {
    let words = line.split(separator: " ")
    guard words.count == 2 else { return }
    if words[0] == "error" { error = String(words[1]) }
    if words[0] == "F" || words[0] == "N", let number = UInt64(words[1]) {
      newest = max(newest, number)
      count += 1
    }
  }
}

@Suite("Processes that die") struct KillTests {
  private static func check(_ path: String, _ acknowledged: UInt64, _ label: String) throws {
    let store = try Store(at: path, options: CrashScript.options)
    let newest = store.newestCommit
    #expect(newest >= acknowledged, "\(label): \(newest) of \(acknowledged) acknowledged commits")
    #expect(try CrashScript.flaw(in: store.snapshot()) == nil, "\(label)")
    for commit in [newest / 2, newest - min(newest, 7)] where commit > 0 {
      let snapshot = try store.snapshot(at: .commit(commit))
      #expect(try CrashScript.flaw(in: snapshot) == nil, "\(label), at \(commit)")
    }
    #expect(try store.checkInvariants() == [], "\(label)")
    try store.close()
    #expect(verifyLog(directory: path + "/log", fileSystem: PosixFileSystem()) == [], "\(label)")
  }

  @Test("A writer killed at a random time, again and again, loses nothing it has acknowledged")
  func kill() throws {
    let environment = ProcessInfo.processInfo.environment
    let rounds = Int(environment["TREERING_KILLS"] ?? "") ?? 12
    let folder = try TemporaryFolder()
    var random = SystemRandomNumberGenerator()
    var total = 0
    var path = ""
    for round in 0..<rounds {
      // A fresh store now and then, so that its making is interrupted too.
      if round % 6 == 0 { path = folder.path + "/\(round)" }
      let seed = UInt64.random(in: 0...UInt64.max, using: &random)
      let child = try Child("Crasher", [path, "\(1 + round % 3)", "\(seed)", "400"])
      var acknowledged = Acknowledged()
      try child.process.run()
      let fate = child.process.processIdentifier
      // Some die while they open, the others in the midst of commits.
      let patience = round % 4 == 0 ? 0 : Int.random(in: 1...120, using: &random)
      if patience == 0 {
        usleep(UInt32.random(in: 0...30_000, using: &random))
      } else {
        while acknowledged.count < patience, let line = child.line() { acknowledged.note(line) }
        usleep(UInt32.random(in: 0...3_000, using: &random))
      }
      Foundation.kill(fate, SIGKILL)
      while let line = child.line() { acknowledged.note(line) }
      child.process.waitUntilExit()
      #expect(acknowledged.error == nil, "round \(round)")
      total += acknowledged.count
      try Self.check(path, acknowledged.newest, "round \(round), seed \(seed)")
    }
    print("kill -9: \(rounds) processes killed, \(total) acknowledged commits compared")
  }

  @Test(
    "Rule 11, across processes: while a writer lives its store is locked; when it is killed, not")
  func locked() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/s"
    let child = try Child("Crasher", [path, "1", "1", "100000"])
    try child.process.run()
    while let line = child.line(), !line.hasPrefix("F") {}
    do {
      _ = try Store(at: path, options: CrashScript.options)
      Issue.record("two processes write to one store")
    } catch let error as TreeRingError { #expect(error.code == .locked) }
    Foundation.kill(child.process.processIdentifier, SIGKILL)
    child.process.waitUntilExit()
    try Self.check(path, 1, "after the lock")
  }

  // MARK: - System calls that fail

  /// Whether processes can be traced here; says why not.
  private static let canTrace: Bool = {
    let probe = try? TemporaryFolder.run(
      "strace", ["-qq", "-o", "/dev/null", "-e", "inject=fdatasync:error=EIO:when=1", "true"])
    if probe?.0 == 0 { return true }
    print("Skipping injected system call failures: strace is missing or may not trace here.")
    return false
  }()

  private static func strace(_ injection: String) -> [String] {
    ["/usr/bin/strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=" + injection]
  }

  @Test(
    "A system call that fails under a writer ends it with a typed error and no broken promise",
    arguments: [
      "fdatasync:error=EIO:when=%", "fdatasync:error=EIO:when=%+",
      "pwrite64:error=EIO:when=%", "pwrite64:error=ENOSPC:when=%+", "fsync:error=EIO:when=%",
      "ftruncate:error=EIO:when=%", "fallocate:error=ENOSPC:when=%+", "rename:error=EIO:when=%",
    ])
  func injected(_ pattern: String) throws {
    guard Self.canTrace else { return }
    for number in [1, 2, 3, 7, 20] {
      let folder = try TemporaryFolder()
      let path = folder.path + "/s"
      let injection = pattern.replacing("%", with: "\(number)")
      let child = try Child(
        "Crasher", [path, "2", "\(number)", "60"], through: Self.strace(injection))
      var acknowledged = Acknowledged()
      try child.process.run()
      while let line = child.line() { acknowledged.note(line) }
      child.process.waitUntilExit()
      if let error = acknowledged.error {
        let expected = ["io", "noSpace", "unknown", "poisoned"]
        #expect(expected.contains(error), "\(injection): \(error)")
      }
      try Self.check(path, acknowledged.newest, injection)
    }
  }

  @Test(
    "The tool whose system calls fail exits with 74, and --resume brings the import to its end",
    arguments: [
      "fdatasync:error=EIO:when=%", "pwrite64:error=ENOSPC:when=%+", "pwrite64:error=EIO:when=%",
      "openat:error=EIO:when=%+",
    ])
  func importing(_ pattern: String) throws {
    guard Self.canTrace else { return }
    let folder = try TemporaryFolder()
    let lines = (1...12).map { #"{"ops":[["put","b","k\#($0)",\#($0)]]}"# + "\n" }
    let input = folder.path + "/input.jsonl"
    try Data(lines.joined().utf8).write(to: URL(filePath: input))
    var failures = 0
    for number in [1, 2, 4, 8, 16, 32, 64] {
      let path = folder.path + "/s\(number)"
      let injection = pattern.replacing("%", with: "\(number)")
      let arguments = ["import", path, input, "--durability", "full"]
      let child = try Child("treering", arguments, through: Self.strace(injection))
      try child.process.run()
      while child.line() != nil {}
      child.process.waitUntilExit()
      let status = child.process.terminationStatus
      if pattern.hasPrefix("openat") {
        // Programs do not start without their libraries, either.
        #expect(status != 70 && child.process.terminationReason == .exit, "\(injection): \(status)")
      } else {
        // 73: the store could not even be made.
        #expect([0, 73, 74].contains(status), "\(injection): \(status)")
      }
      failures += status == 0 ? 0 : 1
      let again = try Child("treering", arguments + ["--resume"])
      try again.process.run()
      while again.line() != nil {}
      again.process.waitUntilExit()
      #expect(again.process.terminationStatus == 0, "\(injection)")
      let store = try Store(at: path)
      #expect(store.newestCommit == 12, "\(injection)")
      #expect(try store.snapshot().count(in: "b") == 12, "\(injection)")
      #expect(try store.checkInvariants() == [], "\(injection)")
      try store.close()
    }
    #expect(failures > 0)
  }
}
