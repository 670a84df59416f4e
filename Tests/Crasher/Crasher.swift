// Writes commits to a store until it is killed, and prints the acknowledged ones.
//
//     Crasher STORE THREADS SEED LIMIT [upkeep]
//
// It ends by itself after LIMIT commits of each thread. With `upkeep` one more thread repeatedly
// compacts the store, erases rows of it and backs it up to STORE.backup.
//
// Prints "open N" when the store is open, where N is the newest commit found. Prints "F N" or "N N"
// after each commit that returned, with full durability or none. Prints "B N" when a backup holds N
// commits, "E N" when the row that commit N put into the bucket of secrets is erased, and "C N"
// when history has been compacted to N. CrashScript defines the contents of the commits. So a
// reader of this output knows what the store must contain after any end of the process. An error is
// printed as "error CODE" and ends the program with status 1.

import Foundation
import TestSupport
import TreeRing
import TreeRingLog
import TreeRingPlatform

@main
struct Crasher {
  static func main() {
    let arguments = CommandLine.arguments
    switch arguments.dropFirst().first {
    case "damage": DamageRun.run(Array(arguments.dropFirst(2)))
    case "damage-worker": DamageWorker.run(Array(arguments.dropFirst(2)))
    default: break
    }
    let doesUpkeep = arguments.count == 6 && arguments[5] == "upkeep"
    guard arguments.count == 5 || doesUpkeep, let threads = Int(arguments[2]),
      let seed = UInt64(arguments[3]),
      let limit = Int(arguments[4])
    else {
      say("error usage")
      exit(64)
    }
    do {
      let store = try Store(at: arguments[1], options: CrashScript.options)
      say("open \(store.newestCommit)")
      let writing = Atomic<Int>(threads)
      onThreads(threads + (doesUpkeep ? 1 : 0)) { thread in
        if thread < threads {
          run(store, SeededGenerator(seed: seed &+ UInt64(thread)), limit)
          writing.subtract(1, ordering: .releasing)
        } else {
          while writing.load(ordering: .acquiring) > 0 { keepUp(store, at: arguments[1]) }
        }
      }
    } catch {
      end(error)
    }
  }

  private static func run(_ store: Store, _ generator: SeededGenerator, _ limit: Int) {
    var random = generator
    for _ in 0..<limit {
      let isFull = Bool.random(using: &random)
      do {
        let commit = try store.write(durability: isFull ? .full : Durability.unsynced) {
          try CrashScript.perform($0)
        }.commit
        say("\(isFull ? "F" : "N") \(commit)")
      } catch {
        end(error)
      }
    }
  }

  /// Makes one round of upkeep beside the commits.
  private static func keepUp(_ store: Store, at path: String) {
    do {
      let newest = store.newestCommit
      try store.backUp(to: path + ".backup")
      say("B \(newest)")
      if let last = CrashScript.lastSecret(by: newest), let key = CrashScript.secretKey(of: last) {
        try store.erase(key, in: CrashScript.secrets.name)
        say("E \(last)")
      }
      let report = try store.compact(to: .keeping(.last(commits: 100)))
      say("C \(report.horizon)")
    } catch {
      end(error)
    }
  }

  /// Prints one line with one call, so that lines of several threads do not mix.
  private static func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }

  private static func end(_ error: any Error) -> Never {
    say("error \((error as? TreeRingError)?.code.description ?? "\(error)")")
    // Exits at once, because other threads are still running.
    _exit(1)
  }
}
