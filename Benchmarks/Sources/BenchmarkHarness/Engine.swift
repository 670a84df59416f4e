// The interface of the engines under comparison. Rows are identified by their number in a data set.
// So an engine runs the loop over many rows itself, without a protocol call per row.

/// The options for opening an engine.
public struct EngineOptions: Sendable {
  /// The folder that the engine may use.
  public var folder: String
  /// Whether a commit is synced before it returns.
  public var isDurable: Bool
  /// The size of the cache in bytes; nil for the size that lines without a limit use.
  public var cacheByteCount: Int?
  public init(folder: String, isDurable: Bool, cacheByteCount: Int? = nil) {
    self.folder = folder
    self.isDurable = isDurable
    self.cacheByteCount = cacheByteCount
  }
}

/// A key-value store under comparison.
public protocol Engine: Sendable {
  /// Its name in reports.
  static var name: String { get }
  init(_ options: EngineOptions, data: Dataset) throws
  /// Makes the keys of all rows in the engine's own form, which no line measures.
  func makeKeys()
  /// Returns a session for one thread. Threads do not share a session.
  func session() throws -> any EngineSession
  /// Makes everything written durable.
  func sync() throws
  /// Completes background work and lets files shrink, as a long idle time would.
  func settle() throws
  /// Closes the engine, whose sessions must be gone. The folder stays.
  func close() throws
}

/// One thread's access to an engine.
public protocol EngineSession: AnyObject {
  /// Writes rows in one commit.
  func put(_ rows: ArraySlice<Int>, version: Int) throws
  /// Writes rows in key order, by single puts in the engine's fastest way.
  func load(_ rows: [Int]) throws
  /// Writes rows in key order, by a call for sorted rows if the engine has one.
  func loadSorted(_ rows: [Int]) throws
  /// Copies the keys of rows that are to be read, adjacent in memory, so that fetching a key does
  /// not cost more than finding its row.
  func prepare(_ rows: [Int])
  /// Reads the prepared rows in one view and returns the sum of their digests.
  func getPrepared() throws -> UInt64
  /// Reads the current version of one row in a new view.
  func getNow(_ row: Int) throws -> UInt64
  /// Reads every row in key order and returns the digest of all rows.
  func scan() throws -> Scan
}

extension Engine {
  public func makeKeys() {}
}

extension EngineSession {
  /// Commits of ten thousand rows.
  public func load(_ rows: [Int]) throws {
    for start in stride(from: 0, to: rows.count, by: 10_000) {
      try put(rows[start..<min(start + 10_000, rows.count)], version: 0)
    }
  }

  public func loadSorted(_ rows: [Int]) throws { try load(rows) }
}

/// The result of a scan.
public struct Scan: Hashable, Sendable {
  public var count = 0
  public var digest: UInt64 = 0

  public init() {}

  @inline(__always)
  public mutating func add(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    count &+= 1
    add(key: key.loadUnaligned(as: UInt64.self), value: digestOf(value))
  }

  @inline(__always)
  public mutating func add(key: UInt64, value: UInt64) {
    digest = (digest &+ (key ^ value)) &* 0x9E37_79B9_7F4A_7C15
  }
}

/// A cheap digest of a value: its first eight bytes and its length.
@inline(__always)
public func digestOf(_ value: UnsafeRawBufferPointer) -> UInt64 {
  value.loadUnaligned(as: UInt64.self) &+ UInt64(value.count) &* 0x9E37_79B9_7F4A_7C15
}
