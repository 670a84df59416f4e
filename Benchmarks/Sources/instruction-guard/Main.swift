// Counts the instructions of the benchmark's hot paths under valgrind, and compares them with the
// recorded counts. Instructions, unlike times, hardly depend on the machine or on its load.

internal import Foundation

/// The recorded counts.
struct Record: Codable {
  /// The compiler of the counted program.
  var compiler: String
  /// The instructions of one operation, by the processor's architecture and by hot path.
  var counts: [String: [String: Double]]
}

/// A problem with a message.
struct Failure: Error, CustomStringConvertible {
  let description: String
}

@main
struct InstructionGuard {
  static let usage = "USAGE: instruction-guard BENCHMARK RECORD COMPILER [--record [NAME…]]"
  /// The part of a recorded count by which a new count may differ.
  static let slack = 0.1

  static func main() {
    let arguments = CommandLine.arguments.dropFirst()
    let given = Array(arguments.prefix(3))
    let rest = arguments.dropFirst(3)
    guard given.count == 3, rest.isEmpty || rest.first == "--record" else {
      print(usage)
      exit(2)
    }
    do {
      let guards = InstructionGuard(
        benchmark: given[0], file: URL(filePath: given[1]), compiler: given[2])
      exit(try rest.isEmpty ? guards.compare() : guards.record(Array(rest.dropFirst())))
    } catch {
      FileHandle.standardError.write(Data("instructions: \(error)\n".utf8))
      exit(1)
    }
  }

  let benchmark: String
  let file: URL
  let compiler: String
  private var architecture: String {
    #if arch(x86_64)
      "x86_64"
    #elseif arch(arm64)
      "aarch64"
    #else
      "another"
    #endif
  }

  private func recorded() throws -> Record {
    guard FileManager.default.fileExists(atPath: file.path) else {
      return Record(compiler: compiler, counts: [:])
    }
    return try JSONDecoder().decode(Record.self, from: Data(contentsOf: file))
  }

  /// Records the counts of some paths, or anew those of all if no name is given. A path that is
  /// gone loses its count.
  private func record(_ names: [String]) throws -> Int32 {
    var record = try recorded()
    let paths = try hotPaths()
    var counts = names.isEmpty ? [:] : record.counts[architecture] ?? [:]
    if let name = names.first(where: { !paths.contains($0) && counts[$0] == nil }) {
      throw Failure(
        description: "no hot path is called “\(name)”; there are: "
          + paths.joined(separator: ", "))
    }
    guard names.isEmpty || counts.isEmpty || record.compiler == compiler else {
      throw Failure(
        description: "the other paths were recorded with \(record.compiler), not \(compiler): "
          + "record all")
    }
    for name in names { counts[name] = nil }
    counts.merge(try count(paths.filter { names.isEmpty || names.contains($0) })) { $1 }
    record.compiler = compiler
    record.counts[architecture] = counts
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try (encoder.encode(record) + Data("\n".utf8)).write(to: file, options: .atomic)
    print("Recorded in \(file.lastPathComponent).")
    return 0
  }

  private func compare() throws -> Int32 {
    let record = try recorded()
    guard let expected = record.counts[architecture] else {
      print("No counts are recorded for \(architecture): Tools/instructions --record")
      return 0
    }
    let counts = try count(hotPaths(), beside: expected)
    var different: [String] = []
    for path in Set(counts.keys).union(expected.keys).sorted() {
      guard let count = counts[path], let known = expected[path] else {
        print("instructions: \(path) is \(counts[path] == nil ? "gone" : "new")")
        different.append(path)
        continue
      }
      let factor = count / known
      if abs(factor - 1) <= Self.slack { continue }
      different.append(path)
      print(
        "instructions: \(path) takes \(Self.text(count)) an operation instead of "
          + "\(Self.text(known)), \(Self.percent(factor)) — "
          + (factor > 1 ? "slower" : "faster: record it, so that the gain is kept"))
    }
    if different.isEmpty { return 0 }
    if compiler != record.compiler {
      print("The compiler is \(compiler); the counts were recorded with \(record.compiler).")
    }
    let names = different.map { "'\($0)'" }.joined(separator: " ")
    print("If the change is intended: Tools/instructions --record \(names)")
    print("Then commit \(file.lastPathComponent).")
    return 1
  }

  private func hotPaths() throws -> [String] {
    try output(of: [benchmark, "--hot-paths"]).split(separator: "\n").map(String.init)
  }

  /// The instructions of one operation of hot paths.
  private func count(
    _ names: [String], beside expected: [String: Double] = [:]
  ) throws -> [String: Double] {
    var counts: [String: Double] = [:]
    for name in names {
      let count = try count(of: name)
      counts[name] = count
      let change = expected[name].map { ", \(Self.percent(count / $0))" } ?? ""
      print("\(name): \(Self.text(count)) instructions\(change)")
      fflush(nil)
    }
    return counts
  }

  private func count(of path: String) throws -> Double {
    let file = FileManager.default.temporaryDirectory.appending(path: "callgrind-\(UUID())")
    defer { try? FileManager.default.removeItem(at: file) }
    let text = try output(of: [
      "valgrind", "--tool=callgrind", "--toggle-collect=benchmark_measured",
      "--callgrind-out-file=\(file.path)", benchmark, "--hot-path", path,
    ])
    let profile = try Profile(String(contentsOf: file, encoding: .utf8))
    let count = profile.countWithoutTableSearches
    guard count > 0, let operations = number(after: "operations: ", in: text), operations > 0
    else { throw Failure(description: "\(path) was not counted:\n\(text)") }
    return (Double(count) / operations).rounded()
  }

  private func number(after label: String, in text: String) -> Double? {
    guard let range = text.range(of: label) else { return nil }
    return Double(text[range.upperBound...].prefix { $0.isNumber })
  }

  /// All output of a program, which must end with status 0.
  private func output(of words: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = words
    // Hash tables then have the same order in every run.
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["SWIFT_DETERMINISTIC_HASHING": "1"]) { $1 }
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    let text = String(decoding: data, as: UTF8.self)
    guard process.terminationStatus == 0 else {
      throw Failure(description: "\(words.joined(separator: " ")) failed:\n\(text)")
    }
    return text
  }

  private static func text(_ count: Double) -> String {
    Int(count).formatted(.number.locale(Locale(identifier: "en")))
  }

  private static func percent(_ factor: Double) -> String {
    String(format: "%+.1f %%", (factor - 1) * 100)
  }
}
