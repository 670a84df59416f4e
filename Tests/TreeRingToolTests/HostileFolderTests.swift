// The tool beside objects that are not files, with too few descriptors or too little memory, and
// killed in the middle of a copy.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("The tool in hostile surroundings") struct HostileFolderTests {
  /// Runs the tool in a shell, after a preparation.
  /// - Returns: the exit code; 124 after the time limit, over 128 if a signal ended the tool, as
  ///   five seconds after the limit.
  private static func run(
    _ arguments: [String], after preparation: String = ":", seconds: Int = 60
  ) throws -> (code: Int32, output: String) {
    let products = try #require(GoldenScript.products, "the tool must have been built")
    let process = Process()
    process.executableURL = URL(filePath: "/bin/bash")
    let tool = products.appending(path: "treering").path
    process.arguments =
      [
        "-c",
        "\(preparation); SWIFT_BACKTRACE=enable=no exec timeout -k 5 \(seconds) \"$0\" \"$@\"",
        tool,
      ]
      + arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let signal = process.terminationReason == .uncaughtSignal ? 128 : 0 as Int32
    return (process.terminationStatus + signal, String(decoding: text, as: UTF8.self))
  }

  private static func makeStore(_ path: String, commits: Int = 20) throws {
    let store = try Store(at: path)
    for number in 0..<commits {
      try store.write {
        try $0.put(Array("{\"n\":\(number)}".utf8), for: Key("k\(number % 7)"), in: .bytes("b"))
      }
    }
    try store.checkpoint()
    try store.close()
  }

  private static let segment = "log/00000000000000000001.0.lz4"

  /// One command of every kind, on the store "s" in a folder.
  private static func commands(_ folder: String) -> [[String]] {
    let store = folder + "/s"
    return [
      ["verify", store], ["verify", "--deep", store], ["export", store], ["log", store],
      ["get", store, "b", "k1"], ["stats", store], ["salvage", store, folder + "/salvaged"],
      ["backup", store, folder + "/backup"], ["put", store, "b", "k", "1"], ["replay", store],
      ["restore", store, folder + "/restored"], ["compact", store, "--keep-last", "5"],
    ]
  }

  @Test(
    "A FIFO or a symbolic link in the place of a file ends each command with an error, at once",
    arguments: ["mkfifo", "ln -s /nowhere", "ln -s /dev/zero", "mkdir"])
  func impostors(make: String) throws {
    for name in [Self.segment, "pages", "LOCK"] {
      let folder = try TemporaryFolder()
      try Self.makeStore(folder.path + "/s")
      let path = "\(folder.path)/s/\(name)"
      try FileManager.default.removeItem(atPath: path)
      _ = try TemporaryFolder.run("bash", ["-c", "\(make) '\(path)'"])
      for command in Self.commands(folder.path) {
        let found = try Self.run(command)
        let context: Comment = "\(name), \(make), \(command[0]): \(found)"
        // Copies need no page file.
        let mayWork = name == "pages" && ["salvage", "backup", "restore"].contains(command[0])
        #expect([1, 74].contains(found.code) || mayWork && found.code == 0, context)
        if name == Self.segment, !["verify", "salvage"].contains(command[0]) {
          #expect(found.code == 74, context)
        }
      }
    }
  }

  @Test("With too few descriptors every command ends normally or with an error, not by a signal")
  func descriptors() throws {
    let folder = try TemporaryFolder()
    for limit in [4, 6, 8, 10, 12] {
      for (index, command) in Self.commands(folder.path + "/\(limit)").enumerated() {
        try FileManager.default.createDirectory(
          atPath: "\(folder.path)/\(limit)", withIntermediateDirectories: true)
        if index == 0 { try Self.makeStore("\(folder.path)/\(limit)/s") }
        let found = try Self.run(command, after: "ulimit -n \(limit)")
        // 127: the program could not be loaded with so few descriptors.
        #expect(
          [0, 73, 74, 127].contains(found.code),
          "\(limit), \(command.joined(separator: " ")): \(found)")
      }
      let sound = try Self.run(["verify", "\(folder.path)/\(limit)/s"])
      #expect(sound.code == 0, "\(limit): \(sound)")
    }
  }

  @Test("A lack of memory is not reported as damage")
  func memory() throws {
    let folder = try TemporaryFolder()
    try Self.makeStore(folder.path + "/s", commits: 2_000)
    for limit in stride(from: 100_000, through: 260_000, by: 20_000) {
      // Without memory for a thread, dispatch queues wait for memory, and block signals meanwhile.
      let found = try Self.run(
        ["verify", folder.path + "/s"], after: "ulimit -v \(limit)", seconds: 5)
      #expect(found.code != 1, "\(limit): \(found)")
      #expect(!found.output.contains("damage"), "\(limit): \(found)")
    }
    #expect(try Self.run(["verify", folder.path + "/s"]).code == 0)
  }

  @Test("A log without a segment is no store: exit code 66, and an import makes one")
  func withoutSegment() throws {
    for leftover in [nil, "00000000000000000001.0.lz4.tmp", "00000000000000000001.1.lz4.tmp"] {
      let folder = try TemporaryFolder()
      try FileManager.default.createDirectory(
        atPath: folder.path + "/s/log", withIntermediateDirectories: true)
      for file in ["s/LOCK", leftover.map { "s/log/" + $0 }] {
        if let file { try Data().write(to: URL(filePath: "\(folder.path)/\(file)")) }
      }
      for command in Self.commands(folder.path) where command[0] != "restore" {
        let found = try Self.run(command)
        #expect(found.code == 66, "\(command[0]): \(found)")
      }
      let lines =
        "{\"base\":3,\"at\":\"2024-01-01T00:00:00Z\",\"ops\":[[\"put\",\"b\",\"k\",1],[1,1]]}\n"
      let input = folder.path + "/input"
      try Data(lines.utf8).write(to: URL(filePath: input))
      let found = try Self.run(["import", folder.path + "/s", input, "--resume"])
      #expect(found.code == 0, "\(found)")
      #expect(try Self.run(["get", folder.path + "/s", "b", "k"]).code == 0)
    }
  }

  @Test("A store that cannot be reached is not taken for an absent one: exit code 74, the reason")
  func unreachable() throws {
    let folder = try TemporaryFolder()
    let (path, input) = (folder.path + "/s", folder.path + "/input")
    try Data("{\"ops\":[[\"put\",\"b\",\"k\",1]]}\n".utf8).write(to: URL(filePath: input))
    func check(_ number: Int32) throws {
      let reason = String(cString: strerror(number))
      for command in Self.commands(folder.path) + [["import", path, input]] {
        let found = try Self.run(command)
        #expect(found.code == 74, "\(command[0]): \(found)")
        #expect(
          found.output.contains("Cannot inspect \(path)/log: \(reason)."),
          "\(command[0]): \(found)")
      }
    }
    // A link to itself, which root cannot follow either.
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
    try check(ELOOP)
    try FileManager.default.removeItem(atPath: path)
    // A folder that only root may enter.
    try Self.makeStore(path)
    try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: path)
    defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path) }
    if (try? FileManager.default.contentsOfDirectory(atPath: path)) == nil { try check(EACCES) }
  }

  @Test(
    "A killed restore, salvage, replay or backup is not taken for whole, and works the second time",
    arguments: ["restore", "salvage", "replay", "backup"])
  func killedCopies(command: String) throws {
    let folder = try TemporaryFolder()
    let (source, target) = (folder.path + "/s", folder.path + "/t")
    try Self.makeStore(source, commits: 3_000)
    let arguments =
      command == "replay" ? ["replay", source, "--into", target] : [command, source, target]
    var unfinished = 0
    // From the moment the copy begins, in milliseconds.
    for delay in 0..<40 {
      try? FileManager.default.removeItem(atPath: target)
      let tool = try Child("treering", arguments)
      try tool.process.run()
      while !FileManager.default.fileExists(atPath: target), tool.process.isRunning { usleep(100) }
      usleep(UInt32(delay * 1000))
      kill(tool.process.processIdentifier, SIGKILL)
      tool.process.waitUntilExit()
      let found = try Self.run(["verify", target])
      if found.code == 0 { continue }
      #expect([66, 74].contains(found.code), "\(delay): \(found)")
      if found.code == 74 {
        unfinished += 1
        #expect(found.output.contains("unfinished"), "\(found)")
        #expect(try Self.run(["put", target, "b", "k", "1"]).code == 74)
      }
      let again = try Self.run(arguments)
      #expect(again.code == 0, "\(delay): \(again)")
      #expect(try Self.run(["log", target, "--reverse", "--limit", "1"]).output.contains("3000"))
      if unfinished > 2 { break }
    }
    #expect(unfinished > 0)
  }

  @Test("The next comparison removes the temporary copy of a killed one")
  func killedComparison() throws {
    let folder = try TemporaryFolder()
    try Self.makeStore(folder.path + "/s", commits: 4_000)
    let temporary = folder.path + "/tmp"
    try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: true)
    func left() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: temporary)
    }
    for command in [["verify", "--deep"], ["replay"]] {
      let tool = try Child("treering", command + [folder.path + "/s"])
      tool.process.environment = ["TMPDIR": temporary]
      try tool.process.run()
      while try left().isEmpty, tool.process.isRunning { usleep(500) }
      usleep(20_000)
      kill(tool.process.processIdentifier, SIGKILL)
      tool.process.waitUntilExit()
      #expect(try left().count == 1)
      let next = try Self.run(
        command + [folder.path + "/s"], after: "export TMPDIR='\(temporary)'")
      #expect(next.code == 0, "\(next)")
      #expect(try left() == [])
    }
  }

  #if os(Linux)
    @Test("A waiting follower takes less than a hundredth of the processor")
    func idleFollower() throws {
      let folder = try TemporaryFolder()
      let store = try Store(at: folder.path + "/s")
      try store.write { try $0.put([1], for: "k", in: .bytes("b")) }
      let watcher = try Child("treering", ["watch", folder.path + "/s", "--from", "1", "--json"])
      try watcher.process.run()
      #expect(watcher.line()?.hasPrefix("{\"commit\":1,") == true)
      func ticks() throws -> Int {
        let stat = try String(
          contentsOfFile: "/proc/\(watcher.process.processIdentifier)/stat", encoding: .utf8)
        let fields = stat.split(separator: " ")
        return (Int(fields[13]) ?? 0) + (Int(fields[14]) ?? 0)
      }
      let before = try ticks()
      sleep(3)
      // A tick is a hundredth of a second.
      #expect(try ticks() - before <= 3)
      for number in 2...5 {
        let written = ContinuousClock.now
        try store.write { try $0.put([1], for: "k", in: .bytes("b")) }
        #expect(watcher.line()?.hasPrefix("{\"commit\":\(number),") == true)
        #expect(.now - written < .seconds(2))
      }
      watcher.process.interrupt()
      watcher.process.waitUntilExit()
      try store.close()
    }
  #endif
}
