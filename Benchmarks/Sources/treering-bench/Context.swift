// The shared state of subjects: sizes, engines, folders, cached data sets and loaded stores.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import Foundation

/// The size of the measurements.
enum Size: String, CaseIterable {
  /// Under a minute; checks results and yields no reliable figures.
  case small
  /// The sizes of published figures.
  case full
}

/// The environment of a subject.
final class Context {
  let size: Size
  let runs: Int
  let engines: [any Engine.Type]
  let report: Report
  /// The file of flights to import; nil if none was given.
  let flights: String?
  /// The most rows of lines that show the growth with the number of rows.
  let largest: Int
  private let base: String
  private var folderCount = 0

  init(
    size: Size, runs: Int, engines: [any Engine.Type], report: Report, flights: String?,
    largest: Int, base: String
  ) {
    self.size = size
    self.runs = runs
    self.engines = engines
    self.report = report
    self.flights = flights
    self.largest = largest
    self.base = base
  }

  /// One of two values, by size.
  func pick<Value>(small: Value, full: Value) -> Value { size == .small ? small : full }

  private(set) lazy var rows = Dataset(count: pick(small: 20_000, full: 1_000_000), kind: .v100)
  private(set) lazy var sortedRows = Dataset(sorting: rows)
  private(set) lazy var jsonRows = Dataset(keysOf: rows, kind: .json)

  /// A new empty folder.
  func folder() throws -> String {
    folderCount += 1
    let path = "\(base)/\(folderCount)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  func remove(_ folder: String) throws { try FileManager.default.removeItem(atPath: folder) }

  /// An engine in a new folder.
  func open(
    _ type: any Engine.Type, isDurable: Bool, data: Dataset, cacheByteCount: Int? = nil
  ) throws -> OpenEngine {
    let folder = try folder()
    let options = EngineOptions(
      folder: folder, isDurable: isDurable, cacheByteCount: cacheByteCount)
    let engine = try type.init(options, data: data)
    engine.makeKeys()
    return OpenEngine(engine: engine, folder: folder)
  }

  /// Measures some lines: in each run all engines one after the other, each with a new store, which
  /// is removed afterwards. The runs of an engine write the same rows.
  /// - Parameter limit: an engine without results, whose figure limits the others'.
  func eachRun(
    of lines: [Measurement], isDurable: Bool, data: Dataset, cacheByteCount: Int? = nil,
    limit: (any Engine.Type)? = nil, before: () throws -> Void = {},
    measure: (_ store: OpenEngine) throws -> Void
  ) throws {
    for _ in 0..<runs {
      try before()
      for type in engines + (limit.map { [$0] } ?? []) {
        try attempt(type.name, lines) {
          let store = try open(
            type, isDurable: isDurable, data: data, cacheByteCount: cacheByteCount)
          defer { try? remove(store.folder) }
          try measure(store)
          try store.engine.close()
        }
      }
    }
  }

  /// Runs an engine's part of some lines, unless it has failed in one of them.
  ///
  /// If a peer throws, its cells of these lines are lost, and the others go on. A wrong result and
  /// an error of TreeRing end the program.
  func attempt(_ engine: String, _ lines: [Measurement], _ body: () throws -> Void) throws {
    if lines.contains(where: { $0.line.failures[engine] != nil }) { return }
    do {
      try body()
    } catch  where !(error is WrongResult) && engine != EngineName.own {
      for line in lines {
        line.fail(engine, "\(error)")
        FileHandle.standardError.write(Data("\(line.line.name): \(engine) failed: \(error)\n".utf8))
      }
    }
  }

  /// Writes all rows in random order, and for figures ends the background work that follows: each
  /// engine reads directly after its load, and some would compact beside it.
  func loadForReading(_ engine: any Engine) throws {
    try Self.loadInRandomOrder(engine, rows)
    if size == .full { try engine.settle() }
  }

  /// Writes all rows in random order in batches of 1,000, then syncs once.
  static func loadInRandomOrder(_ engine: any Engine, _ data: Dataset) throws {
    let session = try engine.session()
    let order = Array(0..<data.count)
    for start in stride(from: 0, to: order.count, by: 1000) {
      try session.put(order[start..<min(start + 1000, order.count)], version: 0)
    }
    try engine.sync()
  }
}

/// An engine in a folder.
struct OpenEngine {
  let engine: any Engine
  let folder: String
  /// The engine's name in reports.
  var title: String { engine.title }
}

extension Engine {
  /// The name of this engine.
  var title: String { Self.name }
  /// The digest of all rows with their number.
  func contents() throws -> UInt64 {
    let scan = try session().scan()
    return scan.digest &+ UInt64(scan.count)
  }
}

/// The disk space of a folder's files, in bytes.
func diskByteCount(_ folder: String) -> Int {
  guard let paths = FileManager.default.enumerator(atPath: folder) else { return 0 }
  var sum = 0
  for case let path as String in paths {
    var status = stat()
    if lstat("\(folder)/\(path)", &status) == 0, status.st_mode & S_IFMT == S_IFREG {
      sum += Int(status.st_blocks) * 512
    }
  }
  return sum
}

/// The disk space of one file or folder of a store, in bytes; 0 if it is missing.
func diskByteCount(of name: String, in folder: String) -> Int {
  let path = "\(folder)/\(name)"
  var status = stat()
  guard lstat(path, &status) == 0 else { return 0 }
  if status.st_mode & S_IFMT == S_IFREG { return Int(status.st_blocks) * 512 }
  return diskByteCount(path)
}

/// Waits until an open store has given the room of its free pages back to the device.
func waitUntilReleased(_ folder: String) {
  var last = -1
  while true {
    let now = diskByteCount(folder)
    if now == last { return }
    last = now
    Thread.sleep(forTimeInterval: 2.5)
  }
}
