// Writes commits to a replica, which leads, until it is killed, and prints the acknowledged ones.
//
//     ReplicaWriter FOLDER STREAM LIFE THREADS SERVERS MONITORS
//
// SERVERS and MONITORS are addresses, separated by commas. Thread T has the number LIFE * 1,000
// + T. Its commits have the notes "NUMBER ROUND", with rounds from 1 on, and put the round into a
// row of the bucket "notes". The program prints "NUMBER ROUND" after each commit that returned, by
// one call of the system, so its end takes back none. If another replica leads, it prints "fenced"
// and ends with status 0; after any other error it prints "error CODE" and ends with status 1.

import Foundation
import Logging
import TreeRing
import TreeRingNATS
import TreeRingReplication

@main
struct ReplicaWriter {
  static func main() {
    let arguments = CommandLine.arguments
    guard arguments.count == 7, let life = Int(arguments[3]), let threads = Int(arguments[4]) else {
      say("error usage")
      exit(64)
    }
    do {
      var log = JetStreamOptions(
        urls: addresses(arguments[5]), stream: arguments[2], monitorURLs: addresses(arguments[6]))
      log.logger.logLevel = .critical
      var options = ReplicaOptions(name: "writer \(life)")
      options.store.logger.logLevel = .critical
      let replica = try Replica(at: arguments[1], of: JetStreamLog(log), options: options)
      try replica.lead()
      for thread in 0..<threads {
        Thread.detachNewThread { run(replica.store, number: life * 1_000 + thread) }
      }
    } catch {
      end(error)
    }
    while true { sleep(1_000) }
  }

  private static func addresses(_ text: String) -> [String] {
    text.split(separator: ",").map(String.init)
  }

  private static func run(_ store: Store, number: Int) {
    let notes = Bucket<Int>("notes")
    var round = 0
    while true {
      round += 1
      do {
        try store.write { tx in
          tx.note = "\(number) \(round)"
          try tx.put(round, for: Key("\(number)"), in: notes)
        }
        say("\(number) \(round)")
      } catch {
        end(error)
      }
    }
  }

  /// Ends the program because of the first error that any thread meets.
  private static func end(_ error: any Error) -> Never {
    let code = (error as? TreeRingError)?.code
    say(code == .notLeader ? "fenced" : "error \(code.map { "\($0)" } ?? "\(error)")")
    _exit(code == .notLeader ? 0 : 1)
  }

  private static func say(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    _ = write(1, bytes, bytes.count)
  }
}
