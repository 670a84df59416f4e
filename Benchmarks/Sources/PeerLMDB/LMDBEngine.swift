// LMDB, configured as its documentation advises: a large map, one write transaction per commit, a
// renewed read transaction per view, MDB_APPEND for loads in key order. Without durability it runs
// with MDB_NOSYNC.

public import BenchmarkHarness
internal import CLMDB
internal import Foundation

// The pointer is a handle that every thread may use.
public final class LMDBEngine: Engine, @unchecked Sendable {
  public static let name = "LMDB"
  fileprivate let environment: OpaquePointer
  fileprivate let table: MDB_dbi
  fileprivate let data: Dataset

  public init(_ options: EngineOptions, data: Dataset) throws {
    var environment: OpaquePointer?
    try check(mdb_env_create(&environment))
    guard let environment else { throw BenchmarkError("LMDB gave no environment") }
    try check(mdb_env_set_mapsize(environment, 16 << 30))
    try check(mdb_env_set_maxreaders(environment, 200))
    let flags = UInt32(MDB_NOTLS) | (options.isDurable ? 0 : UInt32(MDB_NOSYNC))
    try check(mdb_env_open(environment, options.folder, flags, 0o600))
    var transaction: OpaquePointer?
    var table: MDB_dbi = 0
    try check(mdb_txn_begin(environment, nil, 0, &transaction))
    try check(mdb_dbi_open(transaction, nil, UInt32(MDB_CREATE), &table))
    try check(mdb_txn_commit(transaction))
    self.environment = environment
    self.table = table
    self.data = data
  }

  public func session() throws -> any EngineSession { try LMDBSession(self) }
  public func sync() throws { try check(mdb_env_sync(environment, 1)) }
  public func settle() throws { try sync() }
  public func close() throws { mdb_env_close(environment) }
}

private func check(_ code: Int32) throws {
  guard code != 0 else { return }
  let message = "LMDB: \(String(cString: mdb_strerror(code)))"
  switch code {
  // The map and a transaction's list of pages may be full because readers hold space.
  case MDB_MAP_FULL, MDB_TXN_FULL, MDB_READERS_FULL, EAGAIN, EBUSY: throw EngineBusy(message)
  case MDB_NOTFOUND: throw WrongResult("LMDB: no row")
  default: throw BenchmarkError(message)
  }
}

final class LMDBSession: EngineSession {
  private let engine: LMDBEngine
  private var reader: OpaquePointer?
  private var prepared: [[UInt8]] = []

  init(_ engine: LMDBEngine) throws {
    self.engine = engine
    try check(mdb_txn_begin(engine.environment, nil, UInt32(MDB_RDONLY), &reader))
    mdb_txn_reset(reader)
  }

  deinit { mdb_txn_abort(reader) }

  func put(_ rows: ArraySlice<Int>, version: Int) throws {
    try whileBusy { try write(rows, version: version, flags: 0) }
  }

  func load(_ rows: [Int]) throws {
    try whileBusy { try write(rows[...], version: 0, flags: UInt32(MDB_APPEND)) }
  }

  private func write(_ rows: ArraySlice<Int>, version: Int, flags: UInt32) throws {
    var transaction: OpaquePointer?
    try check(mdb_txn_begin(engine.environment, nil, 0, &transaction))
    for row in rows {
      let code = withItem(engine.data.keys[row]) { key in
        withItem(engine.data.value(row, version: version)) { value in
          mdb_put(transaction, engine.table, &key, &value, flags)
        }
      }
      if code != 0 { mdb_txn_abort(transaction) }
      try check(code)
    }
    try check(mdb_txn_commit(transaction))
  }

  func prepare(_ rows: [Int]) { prepared = engine.data.copies(ofKeys: rows) }

  func getPrepared() throws -> UInt64 {
    try check(mdb_txn_renew(reader))
    defer { mdb_txn_reset(reader) }
    var sum: UInt64 = 0
    for key in prepared { sum &+= try read(key) }
    return sum
  }

  func getNow(_ row: Int) throws -> UInt64 {
    try check(mdb_txn_renew(reader))
    defer { mdb_txn_reset(reader) }
    return try read(engine.data.keys[row])
  }

  @inline(__always)
  private func read(_ key: [UInt8]) throws -> UInt64 {
    var value = MDB_val()
    try check(
      withItem(key) { mdb_get(reader, engine.table, &$0, &value) })
    return digestOf(UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
  }

  func scan() throws -> Scan {
    try check(mdb_txn_renew(reader))
    defer { mdb_txn_reset(reader) }
    var cursor: OpaquePointer?
    try check(mdb_cursor_open(reader, engine.table, &cursor))
    defer { mdb_cursor_close(cursor) }
    var scan = Scan()
    var key = MDB_val()
    var value = MDB_val()
    while mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0 {
      scan.add(
        key: UnsafeRawBufferPointer(start: key.mv_data, count: key.mv_size),
        value: UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
    }
    return scan
  }
}

@inline(__always)
private func withItem<R>(_ bytes: [UInt8], _ body: (inout MDB_val) -> R) -> R {
  bytes.withUnsafeBytes { bytes in
    var item = MDB_val(
      mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    return body(&item)
  }
}
