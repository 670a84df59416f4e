// SQLite in WAL mode, configured as its documentation advises: a WITHOUT ROWID table, prepared
// statements, a mapped file, a large cache, one connection per thread. Durable means
// synchronous=FULL, otherwise OFF.

public import BenchmarkHarness
internal import CSQLite

public final class SQLiteEngine: Engine {
  public static let name = "SQLite"
  private let path: String
  private let isDurable: Bool
  private let cacheByteCount: Int
  private let data: Dataset

  public init(_ options: EngineOptions, data: Dataset) throws {
    path = options.folder + "/rows.sqlite"
    isDurable = options.isDurable
    cacheByteCount = options.cacheByteCount ?? 512 << 20
    self.data = data
    let connection = try connection(isDurable: isDurable)
    try connection.run("CREATE TABLE IF NOT EXISTS rows (k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID")
  }

  public func session() throws -> any EngineSession {
    try SQLiteSession(connection(isDurable: isDurable), data: data)
  }

  private func connection(isDurable: Bool) throws -> SQLiteConnection {
    try SQLiteConnection(path, isDurable: isDurable, cacheByteCount: cacheByteCount)
  }

  public func sync() throws {
    try connection(isDurable: true).run("PRAGMA wal_checkpoint(FULL)")
  }

  public func settle() throws {
    try connection(isDurable: true).run("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  public func close() throws {}
}

/// Throws the error that a result code stands for; returns if it stands for none.
private func checkSQLite(_ code: Int32, _ what: String) throws {
  guard code != SQLITE_OK else { return }
  let message = "SQLite: \(what): \(String(cString: sqlite3_errstr(code)))"
  switch code & 0xff {
  case SQLITE_BUSY, SQLITE_LOCKED: throw EngineBusy(message)
  default: throw BenchmarkError(message)
  }
}

/// An open connection.
final class SQLiteConnection {
  private var handle: OpaquePointer?

  init(_ path: String, isDurable: Bool, cacheByteCount: Int) throws {
    guard sqlite3_open(path, &handle) == SQLITE_OK else {
      throw BenchmarkError("SQLite cannot open \(path)")
    }
    sqlite3_busy_timeout(handle, 60_000)
    for pragma in [
      "journal_mode=WAL", "synchronous=\(isDurable ? "FULL" : "OFF")",
      "cache_size=-\(cacheByteCount / 1024)", "mmap_size=8589934592", "temp_store=MEMORY",
    ] { try run("PRAGMA \(pragma)") }
  }

  deinit { sqlite3_close_v2(handle) }

  func run(_ text: String) throws {
    try whileBusy { try checkSQLite(sqlite3_exec(handle, text, nil, nil, nil), text) }
  }

  func prepare(_ text: String) throws -> OpaquePointer {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, text, -1, &statement, nil) == SQLITE_OK, let statement else {
      throw BenchmarkError("SQLite does not understand \(text)")
    }
    return statement
  }
}

final class SQLiteSession: EngineSession {
  private let connection: SQLiteConnection
  private let data: Dataset
  private var prepared: [[UInt8]] = []
  private let insert, select, all, begin, beginReading, commit: OpaquePointer

  init(_ connection: SQLiteConnection, data: Dataset) throws {
    self.connection = connection
    self.data = data
    insert = try connection.prepare("INSERT OR REPLACE INTO rows VALUES (?, ?)")
    select = try connection.prepare("SELECT v FROM rows WHERE k = ?")
    all = try connection.prepare("SELECT k, v FROM rows ORDER BY k")
    begin = try connection.prepare("BEGIN IMMEDIATE")
    beginReading = try connection.prepare("BEGIN")
    commit = try connection.prepare("COMMIT")
  }

  deinit {
    for statement in [insert, select, all, begin, beginReading, commit] {
      sqlite3_finalize(statement)
    }
  }

  private func step(_ statement: OpaquePointer, _ what: String) throws {
    let code = sqlite3_step(statement)
    sqlite3_reset(statement)
    if code != SQLITE_DONE { try checkSQLite(code, what) }
  }

  func put(_ rows: ArraySlice<Int>, version: Int) throws {
    try whileBusy {
      try step(begin, "begin")
      do {
        try insertRows(rows, version: version)
        try step(commit, "commit")
      } catch {
        try? connection.run("ROLLBACK")
        throw error
      }
    }
  }

  private func insertRows(_ rows: ArraySlice<Int>, version: Int) throws {
    for row in rows {
      let value = data.value(row, version: version)
      try data.keys[row].withUnsafeBytes { key in
        try value.withUnsafeBytes { value in
          sqlite3_bind_blob(insert, 1, key.baseAddress, Int32(key.count), nil)
          sqlite3_bind_blob(insert, 2, value.baseAddress, Int32(value.count), nil)
          try step(insert, "insert")
        }
      }
    }
  }

  func load(_ rows: [Int]) throws { try put(rows[...], version: 0) }

  func prepare(_ rows: [Int]) { prepared = data.copies(ofKeys: rows) }

  func getPrepared() throws -> UInt64 {
    try step(beginReading, "begin")
    var sum: UInt64 = 0
    for key in prepared { sum &+= try read(key) }
    try step(commit, "commit")
    return sum
  }

  func getNow(_ row: Int) throws -> UInt64 { try read(data.keys[row]) }

  private func read(_ key: [UInt8]) throws -> UInt64 {
    try key.withUnsafeBytes { key in
      sqlite3_bind_blob(select, 1, key.baseAddress, Int32(key.count), nil)
      defer { sqlite3_reset(select) }
      let code = sqlite3_step(select)
      if code == SQLITE_DONE { throw WrongResult("SQLite: no row") }
      if code != SQLITE_ROW { try checkSQLite(code, "select") }
      return digestOf(column(select, 0))
    }
  }

  func scan() throws -> Scan {
    var scan = Scan()
    while sqlite3_step(all) == SQLITE_ROW { scan.add(key: column(all, 0), value: column(all, 1)) }
    sqlite3_reset(all)
    return scan
  }

  private func column(_ statement: OpaquePointer, _ index: Int32) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: sqlite3_column_blob(statement, index),
      count: Int(sqlite3_column_bytes(statement, index)))
  }
}
