// The shared state of subjects: sizes, engines, folders, cached data sets and loaded stores.

internal import BenchmarkHarness
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
  private let base: String
  private var folderCount = 0

  init(
    size: Size, runs: Int, engines: [any Engine.Type], report: Report, flights: String?,
    base: String
  ) {
    self.size = size
    self.runs = runs
    self.engines = engines
    self.report = report
    self.flights = flights
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
    _ type: any Engine.Type, isDurable: Bool, data: Dataset
  ) throws -> (engine: any Engine, folder: String) {
    let folder = try folder()
    return (try type.init(EngineOptions(folder: folder, isDurable: isDurable), data: data), folder)
  }

  /// A non-durable store of every engine with all rows, loaded in random order; created once.
  func loadedStores() throws -> [(engine: any Engine, folder: String)] {
    if let loaded { return loaded }
    let stores = try engines.map { type in
      let store = try open(type, isDurable: false, data: rows)
      try Self.loadInRandomOrder(store.engine, rows)
      return store
    }
    loaded = stores
    return stores
  }
  private var loaded: [(engine: any Engine, folder: String)]?

  /// Writes all rows in random order in batches of 1,000, then syncs once.
  static func loadInRandomOrder(_ engine: any Engine, _ data: Dataset) throws {
    let session = try engine.session()
    let order = Array(0..<data.count)
    for start in stride(from: 0, to: order.count, by: 1000) {
      try session.put(order[start..<min(start + 1000, order.count)], version: 0)
    }
    try engine.sync()
  }

  func closeAll() throws {
    for store in loaded ?? [] { try store.engine.close() }
    loaded = nil
  }
}

extension Engine {
  /// The name of this engine.
  var title: String { Self.name }
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
