// Runs a share of the trials on damaged stores, in a separate process that a signal may end.
//
//     Crasher damage-worker FIRST END STEP SEED FOLDER
//
// Prints "t N" before trial N, "wrong N TEXT" for each wrong answer, "hang N" if one takes too
// long, and "done" at the end. Before each trial the damaged store is in FOLDER/store, and a
// description of the damage in FOLDER/label.

import Foundation
import TestSupport
import TreeRing
import TreeRingLog
import TreeRingPlatform

enum DamageWorker {
  /// The time limit of a trial in seconds.
  private static let timeLimit = 20
  /// The limit of address space for a trial in bytes: a length from a file must not size memory.
  private static let spaceLimit: UInt = 4 << 30

  private static let current = Atomic<UInt64>(.max)

  static func run(_ arguments: [String]) -> Never {
    let numbers = arguments.prefix(4).compactMap { UInt64($0) }
    guard numbers.count == 4, arguments.count == 5, numbers[2] > 0 else {
      say("error usage")
      exit(64)
    }
    var limit = rlimit(rlim_cur: rlim_t(spaceLimit), rlim_max: rlim_t(spaceLimit))
    _ = setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
    var noCore = rlimit(rlim_cur: 0, rlim_max: 0)
    _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &noCore)
    Thread(block: watch).start()
    do {
      let samples = try DamageSample.all()
      for trial in stride(from: numbers[0], to: numbers[1], by: Int(numbers[2])) {
        try run(trial, seed: numbers[3], samples, arguments[4])
      }
    } catch {
      say("error \(error)")
      exit(1)
    }
    say("done")
    exit(0)
  }

  private static func run(
    _ number: UInt64, seed: UInt64, _ samples: [DamageSample], _ folder: String
  ) throws {
    var trial = DamageTrial(samples, seed: seed, number: number)
    try write(trial, to: folder)
    say("t \(number)")
    current.store(number, ordering: .releasing)
    trial.runInMemory()
    if number % 8 == 0 { trial.run(in: folder + "/copy") }
    var problems = trial.problems
    if number % 64 == 1 { problems += DamagedTool.problems(with: folder, timeLimit: timeLimit) }
    current.store(.max, ordering: .releasing)
    for problem in problems {
      let line = problem.replacing("\n", with: " ").prefix(600)
      say("wrong \(number) \(trial.label): \(line)")
    }
  }

  /// Writes the damaged store to the folder, where it remains if the trial ends the process.
  private static func write(_ trial: DamageTrial, to folder: String) throws {
    try? FileManager.default.removeItem(atPath: folder)
    for name in ["store", "copy"] {
      try FileManager.default.createDirectory(
        atPath: "\(folder)/\(name)/log", withIntermediateDirectories: true)
      for (file, bytes) in trial.damage.files {
        try Data(bytes).write(to: URL(filePath: "\(folder)/\(name)/\(file)"))
      }
    }
    try Data(trial.label.utf8).write(to: URL(filePath: folder + "/label"))
  }

  /// Ends the process if a trial takes too long.
  @Sendable private static func watch() {
    var (last, seconds) = (UInt64.max, 0)
    while true {
      sleep(1)
      let now = current.load(ordering: .acquiring)
      seconds = now == last && now != .max ? seconds + 1 : 0
      last = now
      // The tool has a separate limit for each of its commands.
      guard seconds > timeLimit * 3 else { continue }
      say("hang \(now)")
      _exit(3)
    }
  }

  static func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }
}

/// Runs the tool on a damaged store.
enum DamagedTool {
  private static let commands = [
    ["verify"], ["verify", "--deep"], ["log"], ["scan"], ["stats"], ["frames"], ["tags"],
    ["salvage", "OUT/salvaged"], ["backup", "OUT/backup"],
  ]

  /// The problems: commands that a signal ended, or that took too long.
  static func problems(with folder: String, timeLimit: Int) -> [String] {
    let tool = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
      .appending(path: "treering")
    guard FileManager.default.isExecutableFile(atPath: tool.path) else { return [] }
    var problems: [String] = []
    for command in commands {
      let process = Process()
      process.executableURL = tool
      let rest = command.dropFirst().map { $0.replacing("OUT", with: folder) }
      process.arguments = [command[0], folder + "/store"] + rest
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      let ended = DispatchSemaphore(value: 0)
      process.terminationHandler = { _ in ended.signal() }
      do { try process.run() } catch { return ["\(error)"] }
      if ended.wait(timeout: .now() + .seconds(timeLimit)) == .timedOut {
        kill(process.processIdentifier, SIGKILL)
        problems.append("treering \(command.joined(separator: " ")) takes too long")
        process.waitUntilExit()
      } else if process.terminationReason == .uncaughtSignal {
        problems.append(
          "treering \(command.joined(separator: " ")): signal \(process.terminationStatus)")
      }
    }
    return problems
  }
}
