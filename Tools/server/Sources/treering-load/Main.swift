// `treering-load`: measures live windows. Each figure of docs/server.md names its command.

import Foundation

@main
struct Main {
  static let help = """
    treering-load windows                      CPU of one changed row in windows of three sizes
    treering-load serve RATE SECONDS [--naive] serves a store and writes commits; prints a URL
                                               first, and the writer's latencies at the end
    treering-load read URL WINDOWS SECONDS     reads as many windows; prints how late changes come
    treering-load network RATE SECONDS WINDOWS the last two beside each other, with TreeRing's
                                               server and with a naive one
    treering-load idle URL READERS PID         connects readers that stay idle; prints the memory of
                                               the process PID for each
    treering-load resume COMMITS               windows that resume after as many commits
    treering-load test SERVER [--short]        the load test of a server's program: thousands of
                                               readers, hostile ones too, and kills
    treering-load write STORE RATE BASE        the writer of the load test
    """

  static func main() async {
    var arguments = CommandLine.arguments.dropFirst()
    let command = arguments.popFirst()
    let rest = Array(arguments)
    do {
      switch (command, rest.count) {
      case ("windows", 0): try WindowCost.run()
      case ("serve", 2), ("serve", 3):
        try await WriterLoad.run(
          rate: Int(rest[0]) ?? 0, seconds: Int(rest[1]) ?? 1, isNaive: rest.last == "--naive")
      case ("network", 3):
        try NetworkLoad.run(
          rate: Int(rest[0]) ?? 0, seconds: Int(rest[1]) ?? 1, windows: Int(rest[2]) ?? 1)
      case ("read", 3):
        try await ReaderLoad.read(rest[0], windows: Int(rest[1]) ?? 1, seconds: Int(rest[2]) ?? 1)
      case ("idle", 3):
        try await ReaderLoad.idle(rest[0], readers: Int(rest[1]) ?? 1, process: rest[2])
      case ("resume", 1): try ResumeCost.run(commits: Int(rest[0]) ?? 1)
      case ("test", 1): try await LoadTest.run(server: rest[0], LoadTestSizes())
      case ("test", 2) where rest[1] == "--short": try await LoadTest.run(server: rest[0], .short)
      case ("write", 3):
        try WriterLoad.follow(rest[0], rate: Int(rest[1]) ?? 1, base: UInt64(rest[2]) ?? 0)
      default: print(help)
      }
    } catch {
      FileHandle.standardError.write(Data("treering-load: \(error)\n".utf8))
      exit(1)
    }
  }
}

/// Values at shares of a sample.
struct Quantiles {
  private let sorted: [Double]

  init(_ values: [Double]) { sorted = values.sorted() }

  func callAsFunction(_ share: Double) -> Double {
    sorted.isEmpty ? .nan : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
  }

  var text: String {
    String(
      format: "p50 %.3f, p90 %.3f, p99 %.3f, max %.3f ms (%d values)", self(0.5), self(0.9),
      self(0.99), self(1), sorted.count)
  }
}
