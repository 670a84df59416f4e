// A log without anything else, so that a line's rate with it is the limit of any engine that stores
// its rows in such a log, whatever the rest of its work.
//
// A commit's keys and values, each after its length, become one LZ4 frame, or stay as they are if
// that is shorter. One write call adds them, and a durable commit syncs. The file of durable
// commits has its room beforehand, with zeros written and synced, so that a sync concerns data
// alone; single commits without a sync are faster where the file grows. There is no checksum, no
// order, no search for old rows. One thread does it all: an engine whose other threads compress may
// pass a limit that LZ4 sets.

internal import BenchmarkResults
internal import CBenchmarkClock
internal import CLZ4Frame
internal import Foundation

/// Appends rows to a log that nobody can read. Its results are not checked.
public final class LogAlone: Engine {
  public static let name = EngineName.log
  fileprivate let data: Dataset
  fileprivate let file: FileHandle
  fileprivate let isDurable: Bool

  public init(_ options: EngineOptions, data: Dataset) throws {
    self.data = data
    isDurable = options.isDurable
    let path = options.folder + "/log"
    let descriptor = benchmark_open_zeros(path, isDurable ? data.logicalByteCount : 0)
    guard descriptor >= 0 else { throw BenchmarkError("\(path) cannot be made") }
    file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  }

  /// A session for the only thread that writes.
  public func session() throws -> any EngineSession { LogSession(self) }
  public func sync() throws {
    guard benchmark_sync(file.fileDescriptor) == 0 else {
      throw BenchmarkError("the log could not be synced")
    }
  }
  public func settle() throws {}
  public func close() throws { try file.close() }
}

private final class LogSession: EngineSession {
  private let log: LogAlone
  private var rows: [UInt8] = []
  private var frame: [UInt8] = []

  init(_ log: LogAlone) { self.log = log }

  func put(_ rows: ArraySlice<Int>, version: Int) throws {
    self.rows.removeAll(keepingCapacity: true)
    for row in rows {
      append(log.data.keys[row])
      append(log.data.value(row, version: version))
    }
    try write()
  }

  private func append(_ bytes: [UInt8]) {
    withUnsafeBytes(of: UInt16(truncatingIfNeeded: bytes.count)) { rows.append(contentsOf: $0) }
    rows.append(contentsOf: bytes)
  }

  private func write() throws {
    let limit = LZ4F_compressFrameBound(rows.count, nil)
    if frame.count < limit { frame = [UInt8](repeating: 0, count: limit) }
    let size = LZ4F_compressFrame(&frame, limit, rows, rows.count, nil)
    guard LZ4F_isError(size) == 0 else { throw BenchmarkError("LZ4 could not compress") }
    try append(size < rows.count ? frame[..<size] : rows[...])
    if log.isDurable { try log.sync() }
  }

  private func append(_ bytes: ArraySlice<UInt8>) throws {
    let written = bytes.withUnsafeBytes { bytes in
      Foundation.write(log.file.fileDescriptor, bytes.baseAddress, bytes.count)
    }
    guard written == bytes.count else { throw BenchmarkError("the log could not be written") }
  }

  func prepare(_ rows: [Int]) {}
  func getPrepared() throws -> UInt64 { 0 }
  func getNow(_ row: Int) throws -> UInt64 { 0 }
  func scan() throws -> Scan { Scan() }
}
