// Runs scripts with expected output against the built tool.
//
// A script is a text file. A line that begins with `$ ` is a command for bash; lines after it that
// begin with `> ` continue it. Its expected output follows, up to the next empty line: standard
// output as it is, standard error with `! ` in front, and `[exit N]` unless N is 0. Lines that
// begin with `#` are remarks. `treering` is the tool just built, `$FIXTURES` the folder of
// fixtures, and each script starts in an empty folder. Words replace times, rates and current
// dates.
//
// With TREERING_RECORD=1 in the environment, the scripts are rewritten with the current output.
// Each script that changes fails once, so that a change of the tool's answers is visible.

import Foundation
import Testing

struct GoldenScript {
  private struct Entry {
    var remarks: [String] = []
    var command: [String] = []
    var expected: [String] = []
  }

  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
  private let name: String
  private let file: URL

  init(_ name: String) {
    self.name = name
    file = Self.folder.appending(path: "Scripts/\(name).txt")
  }

  static var all: [String] {
    let names =
      (try? FileManager.default.contentsOfDirectory(
        atPath: folder.appending(path: "Scripts").path)) ?? []
    return names.filter { $0.hasSuffix(".txt") }.map { String($0.dropLast(4)) }.sorted()
  }

  /// The folder of the built tool, which is that of the tests.
  static var products: URL? {
    let candidates =
      [Bundle.main.executableURL?.deletingLastPathComponent()]
      + Bundle.allBundles.map { $0.bundleURL.deletingLastPathComponent() }
    return candidates.compactMap { $0 }.first {
      FileManager.default.isExecutableFile(atPath: $0.appending(path: "treering").path)
    }
  }

  /// Scripts that leave damaged stores, or folders that are no stores.
  private static let damaging: Set<String> = ["backup", "compacted", "damage"]
  /// A script that prints the stores in the folder that are not sound.
  private static let verifying = #"""
    for log in */log; do
      [ ! -d "$log" ] || said="$(treering verify --deep "${log%/log}" 2>&1)" || echo "$log: $said"
    done
    """#

  /// Runs every command and compares its output.
  func run() throws {
    let text = try String(contentsOf: file, encoding: .utf8)
    let entries = Self.entries(of: text)
    let work = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: work) }
    var recorded: [String] = []
    for entry in entries {
      let command = entry.command.joined(separator: "\n")
      let printed = command.isEmpty ? [] : try Self.execute(command, in: work)
      recorded += entry.remarks
      for (index, line) in entry.command.enumerated() {
        recorded.append((index == 0 ? "$ " : "> ") + line)
      }
      recorded += printed + [""]
      if ProcessInfo.processInfo.environment["TREERING_RECORD"] == nil {
        let note: Comment = "\(name): \(command)"
        #expect(printed == entry.expected, note)
      }
    }
    let unsound = try Self.execute(Self.verifying, in: work)
    #expect(unsound == [] || Self.damaging.contains(name), "\(name) leaves damage")
    let result = recorded.joined(separator: "\n")
    if ProcessInfo.processInfo.environment["TREERING_RECORD"] != nil, result != text {
      try result.write(to: file, atomically: true, encoding: .utf8)
      Issue.record("\(name) was recorded anew. Read the difference, then run without recording.")
    }
  }

  private static func entries(of text: String) -> [Entry] {
    var entries: [Entry] = []
    var entry = Entry()
    for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
      if line.isEmpty {
        if !entry.command.isEmpty || !entry.remarks.isEmpty { entries.append(entry) }
        entry = Entry()
      } else if line.hasPrefix("$ "), entry.command.isEmpty {
        entry.command.append(String(line.dropFirst(2)))
      } else if line.hasPrefix("> "), entry.expected.isEmpty {
        entry.command.append(String(line.dropFirst(2)))
      } else if line.hasPrefix("#"), entry.command.isEmpty {
        entry.remarks.append(line)
      } else {
        entry.expected.append(line)
      }
    }
    return entries
  }

  /// Runs a command in bash and returns the lines of its output, with words for times and rates.
  private static func execute(_ command: String, in work: URL) throws -> [String] {
    let products = try #require(products, "the tool must have been built")
    let process = Process()
    process.executableURL = URL(filePath: "/bin/bash")
    process.arguments = ["-c", command]
    process.currentDirectoryURL = work
    var environment = ProcessInfo.processInfo.environment
    environment["PATH"] = products.path + ":" + (environment["PATH"] ?? "/usr/bin:/bin")
    environment["FIXTURES"] = folder.deletingLastPathComponent().appending(path: "Fixtures").path
    process.environment = environment
    let output = work.appending(path: ".stdout")
    let errors = work.appending(path: ".stderr")
    for file in [output, errors] { try Data().write(to: file) }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: output)
    process.standardError = try FileHandle(forWritingTo: errors)
    try process.run()
    process.waitUntilExit()
    var lines = try Self.lines(output) + Self.lines(errors).map { "! " + $0 }
    if process.terminationStatus != 0 { lines.append("[exit \(process.terminationStatus)]") }
    return lines.map { steady($0) }
  }

  private static func lines(_ file: URL) throws -> [String] {
    let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    if lines.last == "" { lines.removeLast() }
    // An empty line would end the expected output.
    return lines.map { $0.isEmpty ? "·" : $0 }
  }

  private static func steady(_ line: String) -> String {
    line.replacing(#/\d+\.\d+ s\b/#, with: "SOME s")
      .replacing(#/\d+ commits\/s/#, with: "SOME commits/s")
      .replacing(#/"seconds":[\d.]+/#, with: "\"seconds\":SOME")
      .replacing(#/20[2-9]\d-\d\d-\d\dT[\d:.]+Z\ */#, with: "NOW ")
      .replacing(#/^commit  at\ +/#, with: "commit  at  ")
      .replacing(#/"checksum":"[0-9a-f]{8}"/#, with: "\"checksum\":\"SOME\"")
      .replacing(#/\b[0-9a-f]{8}  (commit|mark|segment|directory)/#, with: { "SOME  \($0.1)" })
  }
}
