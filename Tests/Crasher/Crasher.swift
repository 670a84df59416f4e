// Writes commits to a store until it is killed, and says which ones have been acknowledged.
//
//     Crasher STORE THREADS SEED LIMIT
//
// It ends by itself after LIMIT commits of each thread.
//
// Prints "open N" when the store is open, where N is the newest commit found, and "F N" or "N N" after
// each commit that returned, with full durability or none. What the commits hold is in CrashScript, so
// whoever reads this output can tell what must be found in the store after the end, however it came.
// An error is printed as "error CODE" and ends the program with status 1.

import Dispatch
import Foundation
import TestSupport
import TreeRing
import TreeRingLog

@main
struct Crasher {
  static func main() {
    let arguments = CommandLine.arguments
    guard arguments.count == 5, let threads = Int(arguments[2]), let seed = UInt64(arguments[3]),
      let limit = Int(arguments[4])
    else {
      say("error usage")
      exit(64)
    }
    do {
      let store = try Store(at: arguments[1], options: CrashScript.options)
      say("open \(store.newestCommit)")
      DispatchQueue.concurrentPerform(iterations: threads) { thread in
        run(store, SeededGenerator(seed: seed &+ UInt64(thread)), limit)
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
        let commit = try store.write(durability: isFull ? .full : Durability.none) {
          try CrashScript.perform($0)
        }.commit
        say("\(isFull ? "F" : "N") \(commit)")
      } catch {
        end(error)
      }
    }
  }

  /// One line, written with one call, so that lines of several threads do not mix.
  private static func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }

  private static func end(_ error: any Error) -> Never {
    say("error \((error as? TreeRingError)?.code.description ?? "\(error)")")
    // Other threads are in the middle of things; nothing is to be cleaned up after them.
    _exit(1)
  }
}
