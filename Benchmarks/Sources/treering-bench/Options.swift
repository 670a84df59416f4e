// The command line of the benchmarks.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import Foundation

/// The options of the command line.
struct Options {
  var size = Size.small
  var runs = 5
  var flights: String? = Options.fixture
  var folder = FileManager.default.temporaryDirectory.path
  var printsJSON = false
  var largest = 1_000_000
  /// The file that lines are merged into; nil for none.
  var into: String?
  /// The facts of this sitting.
  var sitting: Sitting = [:]
  /// Names of the engines to measure, in lower case; empty for all.
  var engines: [String] = []
  /// The hot path to run alone; nil to run subjects.
  var hotPath: String?
  var filters: [String] = []
  /// Whether filters are whole names.
  var isExact = false

  /// The week of flights in the package; nil if it is missing.
  private static var fixture: String? {
    let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let path = package.appending(path: "Tests/Fixtures/flights-2013-week1.jsonl.lz4").path
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }

  /// Parses the arguments. Returns false if there is nothing more to do.
  mutating func parse(_ arguments: [String]) throws -> Bool {
    var rest = arguments[...]
    func value(of option: String) throws -> String {
      guard let value = rest.popFirst() else { throw BenchmarkError("\(option) needs a value") }
      return value
    }
    while let argument = rest.popFirst() {
      switch argument {
      case "--help", "-h":
        print(TreeRingBench.usage)
        return false
      case "--list":
        for subject in TreeRingBench.subjects { print(subject.name) }
        return false
      case "--json": printsJSON = true
      case "--hot-path": hotPath = try value(of: argument)
      case "--hot-paths":
        for path in HotPath.all { print(path.name) }
        return false
      case "--exact": isExact = true
      case "--size":
        guard let size = Size(rawValue: try value(of: argument)) else {
          throw BenchmarkError("--size is small or full")
        }
        self.size = size
      case "--runs":
        guard let runs = Int(try value(of: argument)), runs > 0 else {
          throw BenchmarkError("--runs needs a number above 0")
        }
        self.runs = runs
      case "--engines":
        engines = try value(of: argument).lowercased().split(separator: ",").map(String.init)
      case "--largest":
        guard let largest = Int(try value(of: argument)), largest > 0 else {
          throw BenchmarkError("--largest needs a number of rows above 0")
        }
        self.largest = largest
      case "--into": into = try value(of: argument)
      case "--fact":
        let parts = try value(of: argument).split(separator: "=", maxSplits: 1)
        guard parts.count == 2 else { throw BenchmarkError("--fact needs NAME=VALUE") }
        sitting[String(parts[0])] = String(parts[1])
      case "--flights": flights = try value(of: argument)
      case "--folder": folder = try value(of: argument)
      default:
        guard !argument.hasPrefix("-") else {
          throw BenchmarkError("unknown option \(argument)\n\n\(TreeRingBench.usage)")
        }
        filters.append(argument)
      }
    }
    return true
  }
}
