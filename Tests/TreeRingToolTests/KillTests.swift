// A real process on a real disk, killed repeatedly in the middle of its work; and failing system
// calls of real processes.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

/// The acknowledgements that a Crasher printed.
private struct Acknowledged {
  /// The newest commit that returned, of any durability. The system does not fail, so all commits
  /// must remain.
  var newest: UInt64 = 0
  var count = 0
  /// The number of commits in the backup; 0 if there is none yet.
  var backup: UInt64 = 0
  /// The commits whose secrets are erased.
  var erased: Set<UInt64> = []
  var compactions = 0
  var upkeeps: Int { erased.count + compactions }
  var error: String?

  mutating func note(_ line: String) {
    let words = line.split(separator: " ")
    guard words.count == 2 else { return }
    if words[0] == "error" { error = String(words[1]) }
    guard let number = UInt64(words[1]) else { return }
    switch words[0] {
    case "F", "N":
      newest = max(newest, number)
      count += 1
    case "B": backup = max(backup, number)
    case "E": erased.insert(number)
    case "C": compactions += 1
    default: break
    }
  }
}

extension FileManager {
  /// The paths of all files below a folder.
  fileprivate static func files(below folder: String) -> [String] {
    let names = FileManager.default.subpaths(atPath: folder) ?? []
    return names.map { "\(folder)/\($0)" }.filter { path in
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        && !isFolder.boolValue
    }
  }
}

@Suite("Processes that die") struct KillTests {
  private static func check(_ path: String, _ said: Acknowledged, _ label: String) throws {
    let acknowledged = said.newest
    let store = try Store(at: path, options: CrashScript.options)
    let newest = store.newestCommit
    #expect(newest >= acknowledged, "\(label): \(newest) of \(acknowledged) acknowledged commits")
    #expect(try CrashScript.flaw(in: store.snapshot()) == nil, "\(label)")
    for commit in [newest / 2, newest - min(newest, 7)] where commit >= max(1, store.horizon) {
      let snapshot = try store.snapshot(at: .commit(commit))
      #expect(try CrashScript.flaw(in: snapshot) == nil, "\(label), at \(commit)")
    }
    #expect(try store.checkInvariants() == [], "\(label)")
    try store.close()
    let files = PosixFileSystem()
    let findings = verifyLog(directory: path + "/log", fileSystem: files)
    #expect(findings == [], "\(label)")
    let pageFindings = try verifyPageFile(path + "/pages", fileSystem: files)
    #expect(pageFindings == [], "\(label)")
    try checkErased(path, said, label)
    try checkBackup(path + ".backup", said, label)
  }

  /// Checks that no file of the store contains an erased secret.
  private static func checkErased(_ path: String, _ said: Acknowledged, _ label: String) throws {
    guard !said.erased.isEmpty else { return }
    for file in FileManager.files(below: path) {
      let bytes = try Data(contentsOf: URL(filePath: file))
      for number in said.erased {
        let secret = Data(CrashScript.secret(of: number))
        #expect(bytes.range(of: secret) == nil, "\(label): \(file) holds secret \(number)")
      }
    }
  }

  /// Checks that the backup is whole, and the last one acknowledged or a newer one.
  private static func checkBackup(_ path: String, _ said: Acknowledged, _ label: String) throws {
    guard FileManager.default.fileExists(atPath: path + "/log") else {
      #expect(said.backup == 0, "\(label): the backup is gone")
      return
    }
    var options = CrashScript.options
    options.mode = .readOnly
    do {
      let copy = try Store(at: path, options: options)
      #expect(copy.newestCommit >= said.backup, "\(label): the backup lacks commits")
      #expect(try CrashScript.flaw(in: copy.snapshot()) == nil, "\(label), in the backup")
      try copy.close()
    } catch let error as TreeRingError
      where said.backup == 0 && [.notFound, .corruption, .unfinishedCopy].contains(error.code)
    {
      // An unfinished first backup does not open.
    }
  }

  @Test("A writer killed at random times loses no acknowledged commit")
  func kill() throws {
    let environment = ProcessInfo.processInfo.environment
    let rounds = Int(environment["TREERING_KILLS"] ?? "") ?? 12
    let folder = try TemporaryFolder()
    var random = SystemRandomNumberGenerator()
    var (total, upkeeps) = (0, 0)
    var path = ""
    var said = Acknowledged()
    for round in 0..<rounds {
      // A new store every few rounds, so that kills also hit its creation.
      if round % 6 == 0 {
        path = folder.path + "/\(round)"
        said = Acknowledged()
      }
      let seed = UInt64.random(in: 0...UInt64.max, using: &random)
      let upkeep = round % 2 == 1 ? ["upkeep"] : []
      // The first round with upkeep runs until some upkeep is done, even on a slow machine.
      let livesOn = round == 1
      let count = livesOn ? "1000000" : "400"
      let child = try Child("Crasher", [path, "\(1 + round % 3)", "\(seed)", count] + upkeep)
      let before = said.count
      try child.process.run()
      let fate = child.process.processIdentifier
      // Some are killed while they open, the others in the middle of commits.
      let patience = round % 4 == 0 ? 0 : Int.random(in: 1...120, using: &random)
      if patience == 0 {
        usleep(UInt32.random(in: 0...30_000, using: &random))
      } else {
        while said.count - before < patience || livesOn && said.upkeeps == 0,
          let line = child.line()
        { said.note(line) }
        usleep(UInt32.random(in: 0...3_000, using: &random))
      }
      Foundation.kill(fate, SIGKILL)
      while let line = child.line() { said.note(line) }
      child.process.waitUntilExit()
      #expect(said.error == nil, "round \(round)")
      total += said.count - before
      try Self.check(path, said, "round \(round), seed \(seed)")
      upkeeps += upkeep.isEmpty ? 0 : said.upkeeps
    }
    print("kill -9: \(rounds) processes killed, \(total) acknowledged commits compared")
    #expect(rounds < 12 || upkeeps > 0, "nothing was erased or compacted")
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
    try Self.check(path, Acknowledged(newest: 1), "after the lock")
  }

  // MARK: - Failing system calls

  /// The path of strace; nil, with a printed reason, if processes cannot be traced here.
  private static let tracer: String? = {
    let path = TemporaryFolder.path(of: "strace")
    let probe = try? TemporaryFolder.run(
      "strace", ["-qq", "-o", "/dev/null", "-e", "inject=fdatasync:error=EIO:when=1", "true"])
    if probe?.0 == 0 { return path }
    print("SKIPPED: injected system call failures; strace is missing or may not trace here.")
    return nil
  }()

  private static func strace(_ injection: String) throws -> [String] {
    [try #require(tracer), "-f", "-qq", "-o", "/dev/null", "-e", "inject=" + injection]
  }

  @Test(
    "A system call that fails under a writer ends it with a typed error and no broken promise",
    .enabled(if: tracer != nil, "strace is missing or may not trace here"),
    arguments: [
      "fdatasync:error=EIO:when=%", "fdatasync:error=EIO:when=%+",
      "pwrite64:error=EIO:when=%", "pwrite64:error=ENOSPC:when=%+", "fsync:error=EIO:when=%",
      "ftruncate:error=EIO:when=%", "fallocate:error=ENOSPC:when=%+", "rename:error=EIO:when=%",
      "unlink:error=EIO:when=%",
    ])
  func injected(_ pattern: String) throws {
    for number in [1, 2, 3, 7, 20] {
      let folder = try TemporaryFolder()
      let path = folder.path + "/s"
      let injection = pattern.replacing("%", with: "\(number)")
      let child = try Child(
        "Crasher", [path, "2", "\(number)", "60", "upkeep"], through: Self.strace(injection))
      var acknowledged = Acknowledged()
      try child.process.run()
      while let line = child.line() { acknowledged.note(line) }
      child.process.waitUntilExit()
      if let error = acknowledged.error {
        let expected = ["io", "noSpace", "unknown", "poisoned"]
        #expect(expected.contains(error), "\(injection): \(error)")
      }
      try Self.check(path, acknowledged, injection)
    }
  }

  @Test(
    "The tool whose system calls fail exits with 74, and --resume brings the import to its end",
    .enabled(if: tracer != nil, "strace is missing or may not trace here"),
    arguments: [
      "fdatasync:error=EIO:when=%", "pwrite64:error=ENOSPC:when=%+", "pwrite64:error=EIO:when=%",
      "openat:error=EIO:when=%+",
    ])
  func importing(_ pattern: String) throws {
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
        // The failing call may also prevent the loading of libraries.
        #expect(status != 70 && child.process.terminationReason == .exit, "\(injection): \(status)")
      } else {
        // 73: the store could not be created.
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
