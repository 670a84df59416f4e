// An engine that does nothing, so that a line's time under it is the benchmark's own.

internal import BenchmarkResults

/// Accepts and discards rows, and returns fixed ones. Its results are not checked.
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
