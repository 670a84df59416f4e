// Damages sound stores in many ways and checks the engine's behaviour on each.
//
//     Crasher damage COUNT [SEED [FIRST]]
//
// The trials run in separate processes, one for each processor. A trial that a signal ends or that
// hangs counts as a failure; another process continues the rest of its share. The store of a
// failure is kept in .build-damage/failures/SEED-TRIAL. `damage 1 SEED TRIAL` repeats a trial. The
// program ends with status 1 if there is a failure.

import Foundation
import TestSupport
import TreeRingPlatform

final class DamageRun: Sendable {
  private struct Tally {
    var stores: UInt64 = 0
    var wrong: Set<UInt64> = []
    var signals = 0
    var hangs = 0
  }
  private let tally = Mutex(Tally())
  private let seed: UInt64
  private let scratch: String
  private let failures = ".build-damage/failures"

  static func run(_ arguments: [String]) -> Never {
    let numbers = arguments.compactMap { UInt64($0) }
    guard numbers.count == arguments.count, (1...3).contains(numbers.count) else {
      DamageWorker.say("usage: Crasher damage COUNT [SEED [FIRST]]")
      exit(64)
    }
    let run = DamageRun(seed: numbers.count > 1 ? numbers[1] : 1)
    exit(run.go(first: numbers.count > 2 ? numbers[2] : 0, count: numbers[0]))
  }

  private init(seed: UInt64) {
    self.seed = seed
    // A folder in memory, if the system has one: half of the tested calls sync.
    let shared = "/dev/shm"
    let isThere = FileManager.default.isWritableFile(atPath: shared)
    scratch =
      (isThere ? shared : FileManager.default.temporaryDirectory.path)
      + "/treering-damage-\(getpid())"
  }

  private func go(first: UInt64, count: UInt64) -> Int32 {
    let start = Date()
    let processes = min(Int(count), max(1, ProcessInfo.processInfo.activeProcessorCount))
    onThreads(processes) { [self] worker in
      var next = first + UInt64(worker)
      while let trial = share(next, first + count, UInt64(processes), worker) {
        next = trial + UInt64(processes)
      }
    }
    try? FileManager.default.removeItem(atPath: scratch)
    let tally = tally.withLock { $0 }
    let seconds = Int(Date().timeIntervalSince(start))
    DamageWorker.say(
      "damage: \(tally.stores) stores, \(tally.wrong.count) wrong, \(tally.signals) signals, "
        + "\(tally.hangs) hangs, in \(seconds) s")
    let isWell = tally.wrong.isEmpty && tally.signals == 0 && tally.hangs == 0
    return isWell && tally.stores == count ? 0 : 1
  }

  /// Runs a process from a trial on; returns the trial that ended it, or nil if it completed.
  private func share(_ first: UInt64, _ end: UInt64, _ step: UInt64, _ worker: Int) -> UInt64? {
    guard first < end else { return nil }
    let folder = "\(scratch)/\(worker)"
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let process = Process()
    process.executableURL = URL(filePath: CommandLine.arguments[0])
    process.arguments = ["damage-worker"] + [first, end, step, seed].map(String.init) + [folder]
    // The backtrace of a signal is kept beside the store of the failure.
    process.environment = [
      "SWIFT_BACKTRACE":
        "enable=yes,interactive=no,color=no,threads=all,output-to=\(folder)/backtrace"
    ]
    let output = Pipe()
    process.standardOutput = output
    do { try process.run() } catch {
      DamageWorker.say("damage: \(error)")
      return nil
    }
    var (trial, isDone, rest) = (UInt64?.none, false, Data())
    while true {
      let piece = output.fileHandleForReading.availableData
      if piece.isEmpty { break }
      rest += piece
      while let end = rest.firstIndex(of: 10) {
        let line = String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
        rest = Data(rest[(end + 1)...])
        take(line, &trial, &isDone, folder)
      }
    }
    process.waitUntilExit()
    if isDone { return nil }
    guard let trial else {
      DamageWorker.say("damage: a worker ended with \(process.terminationStatus)")
      return nil
    }
    if process.terminationReason == .uncaughtSignal {
      tally.withLock { $0.signals += 1 }
      let label = (try? String(contentsOfFile: folder + "/label", encoding: .utf8)) ?? ""
      DamageWorker.say("signal \(process.terminationStatus) in trial \(trial): \(label)")
      keep(trial, folder)
    }
    return trial
  }

  private func take(
    _ line: String, _ trial: inout UInt64?, _ isDone: inout Bool, _ folder: String
  ) {
    let words = line.split(separator: " ", maxSplits: 2)
    switch words.first {
    case "t":
      trial = UInt64(words[1])
      let stores = tally.withLock { tally in
        tally.stores += 1
        return tally.stores
      }
      if stores % 10_000 == 0 { DamageWorker.say("damage: \(stores) stores") }
    case "wrong":
      let number = UInt64(words[1]) ?? 0
      let isNew = tally.withLock { $0.wrong.insert(number).inserted }
      DamageWorker.say(line)
      if isNew, trial == number { keep(number, folder) }
    case "hang":
      tally.withLock { $0.hangs += 1 }
      DamageWorker.say("hang in trial \(words[1])")
      keep(UInt64(words[1]) ?? 0, folder)
    case "done": isDone = true
    default: DamageWorker.say(line)
    }
  }

  /// Copies the store of a failure to the folder of failures.
  private func keep(_ trial: UInt64, _ folder: String) {
    let target = "\(failures)/\(seed)-\(trial)"
    try? FileManager.default.createDirectory(atPath: failures, withIntermediateDirectories: true)
    try? FileManager.default.removeItem(atPath: target)
    try? FileManager.default.copyItem(atPath: folder, toPath: target)
  }
}
