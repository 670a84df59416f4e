// An engine that does nothing, so that a line's time with it is that of the loop without an engine.
//
// For each operation it does what the loop asks of every engine, with data at hand: it fetches the
// key and the value that are written and reads the first bytes of both; it digests a key for each
// get, in place of the value; it adds one row to the result of a scan. It neither finds, copies nor
// orders anything, and keeps the scanned row in the processor's cache. So the figure is the least
// that the loop costs: what an engine's own work makes of it, such as cache misses, is not in it.

internal import BenchmarkResults

/// Discards rows, and returns digests of keys. Its results are not checked.
public final class NoEngine: Engine {
  public static let name = EngineName.none
  fileprivate let data: Dataset

  public init(_ options: EngineOptions, data: Dataset) throws { self.data = data }
  public func session() throws -> any EngineSession { NoSession(data) }
  public func sync() throws {}
  public func settle() throws {}
  public func close() throws {}
}

/// A session that touches keys and values as every engine must, and no more.
private final class NoSession: EngineSession {
  private let data: Dataset
  private var prepared: [[UInt8]] = []
  /// A sum of all that was written, so that the compiler keeps the work.
  private var written: UInt64 = 0

  init(_ data: Dataset) { self.data = data }

  func put(_ rows: ArraySlice<Int>, version: Int) throws {
    for row in rows {
      written &+= data.keys[row].withUnsafeBytes { digestOf($0) }
      written &+= data.value(row, version: version).withUnsafeBytes { digestOf($0) }
    }
  }

  func prepare(_ rows: [Int]) { prepared = data.copies(ofKeys: rows) }

  func getPrepared() throws -> UInt64 {
    prepared.reduce(0) { sum, key in sum &+ key.withUnsafeBytes { digestOf($0) } }
  }

  func getNow(_ row: Int) throws -> UInt64 { data.keys[row].withUnsafeBytes { digestOf($0) } }

  func scan() throws -> Scan {
    var scan = Scan()
    let value = data.value(0)
    data.keys.first?.withUnsafeBytes { key in
      value.withUnsafeBytes { value in
        for _ in 0..<data.count { scan.add(key: key, value: value) }
      }
    }
    return scan
  }
}
