// What every engine under comparison can do. Rows are named by their number in a data set, so that
// the loop over many rows is the engine's own and no call is made through a protocol per row.

/// How an engine is opened.
public struct EngineOptions: Sendable {
  /// The folder it may use.
  public var folder: String
  /// Whether a returned commit has been synced.
  public var isDurable: Bool
  public init(folder: String, isDurable: Bool) {
    self.folder = folder
    self.isDurable = isDurable
  }
}

/// A key-value store under comparison.
public protocol Engine: Sendable {
  /// Its name in reports.
  static var name: String { get }
  init(_ options: EngineOptions, data: Dataset) throws
  /// What one thread works with. Threads do not share a session.
  func session() throws -> any EngineSession
  /// Makes everything written durable.
  func sync() throws
  /// Lets background work finish and files shrink, as before a long quiet time.
  func settle() throws
  /// Closes it. The folder stays.
  func close() throws
}

/// One thread's access to an engine.
public protocol EngineSession: AnyObject {
  /// Writes rows in one commit.
  func put(_ rows: ArraySlice<Int>, version: Int) throws
  /// Writes rows in key order, in whatever way the engine loads fastest.
  func load(_ rows: [Int]) throws
  /// Makes keys of their own for rows that are about to be read, side by side in memory, so that
  /// finding a key does not cost more than finding its row.
  func prepare(_ rows: [Int])
  /// Reads the rows prepared in one view and returns the sum of their digests.
  func getPrepared() throws -> UInt64
  /// Reads one row as it is now, in a new view.
  func getNow(_ row: Int) throws -> UInt64
  /// Reads every row in key order and returns the digest of it all.
  func scan() throws -> Scan
}

/// What a scan found.
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

/// A value's digest, as cheap as can be: its first eight bytes and its length.
@inline(__always)
public func digestOf(_ value: UnsafeRawBufferPointer) -> UInt64 {
  value.loadUnaligned(as: UInt64.self) &+ UInt64(value.count) &* 0x9E37_79B9_7F4A_7C15
}
