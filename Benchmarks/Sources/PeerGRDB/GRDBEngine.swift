// GRDB, used as its documentation advises: a pool of connections in WAL mode, cached statements,
// and rows read from cursors without copies. The table and SQLite's settings are those of the
// SQLite peer.

public import BenchmarkHarness
internal import Foundation
internal import GRDB

public final class GRDBEngine: Engine {
  public static let name = "GRDB"
  fileprivate let pool: DatabasePool
  fileprivate let data: Dataset
  private let isDurable: Bool

  public init(_ options: EngineOptions, data: Dataset) throws {
    isDurable = options.isDurable
    let cache = options.cacheByteCount ?? 512 << 20
    pool = try openPool(
      options.folder + "/rows.sqlite", isDurable: options.isDurable, cacheByteCount: cache)
    self.data = data
    try writing(pool) { db in
      try db.execute(
        sql: "CREATE TABLE IF NOT EXISTS rows (k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID")
    }
  }

  public func session() throws -> any EngineSession { GRDBSession(self) }
  public func sync() throws { try checkpoint(.full) }
  public func settle() throws { try checkpoint(.truncate) }
  public func close() throws { try pool.close() }

  private func checkpoint(_ mode: Database.CheckpointMode) throws {
    try asEngineErrors {
      try pool.writeWithoutTransaction { db in
        try db.execute(sql: "PRAGMA synchronous = FULL")
        defer { if !isDurable { try? db.execute(sql: "PRAGMA synchronous = OFF") } }
        _ = try db.checkpoint(mode)
      }
    }
  }
}

/// A pool with the settings of the SQLite peer.
func openPool(_ path: String, isDurable: Bool, cacheByteCount: Int) throws -> DatabasePool {
  var configuration = Configuration()
  configuration.busyMode = .timeout(60)
  configuration.prepareDatabase { db in
    try db.execute(
      sql: """
        PRAGMA cache_size = -\(cacheByteCount / 1024);
        PRAGMA mmap_size = 8589934592;
        PRAGMA temp_store = MEMORY;
        """)
  }
  return try whileBusy {
    try asEngineErrors {
      let pool = try DatabasePool(path: path, configuration: configuration)
      // The pool itself sets NORMAL, which does not sync a commit, once the connection is prepared.
      try pool.writeWithoutTransaction { db in
        try db.execute(sql: "PRAGMA synchronous = \(isDurable ? "FULL" : "OFF")")
      }
      return pool
    }
  }
}

/// Runs `body` in a transaction, again while the database is locked.
func writing<R>(_ pool: DatabasePool, _ body: (Database) throws -> R) throws -> R {
  try whileBusy { try asEngineErrors { try pool.write(body) } }
}

/// Turns the errors of a locked database into `EngineBusy`.
func asEngineErrors<R>(_ body: () throws -> R) throws -> R {
  do {
    return try body()
  } catch let error as DatabaseError {
    switch error.resultCode {
    case .SQLITE_BUSY, .SQLITE_LOCKED: throw EngineBusy("GRDB: \(error)")
    default: throw BenchmarkError("GRDB: \(error)")
    }
  }
}

private final class GRDBSession: EngineSession {
  private let engine: GRDBEngine
  private var prepared: [Data] = []

  init(_ engine: GRDBEngine) { self.engine = engine }

  func put(_ rows: ArraySlice<Int>, version: Int) throws {
    let data = engine.data
    try writing(engine.pool) { db in
      let statement = try db.cachedStatement(sql: "INSERT OR REPLACE INTO rows VALUES (?, ?)")
      for row in rows {
        statement.setUncheckedArguments([
          Data(data.keys[row]), Data(data.value(row, version: version)),
        ])
        try statement.execute()
      }
    }
  }

  func load(_ rows: [Int]) throws { try put(rows[...], version: 0) }

  func prepare(_ rows: [Int]) {
    prepared = engine.data.copies(ofKeys: rows).map { Data($0) }
  }

  func getPrepared() throws -> UInt64 {
    try reading { db in
      let statement = try db.cachedStatement(sql: "SELECT v FROM rows WHERE k = ?")
      var sum: UInt64 = 0
      for key in prepared { sum &+= try read(key, statement) }
      return sum
    }
  }

  func getNow(_ row: Int) throws -> UInt64 {
    let key = Data(engine.data.keys[row])
    return try reading { db in
      try read(key, db.cachedStatement(sql: "SELECT v FROM rows WHERE k = ?"))
    }
  }

  private func reading<R>(_ body: (Database) throws -> R) throws -> R {
    try whileBusy { try asEngineErrors { try engine.pool.read(body) } }
  }

  private func read(_ key: Data, _ statement: Statement) throws -> UInt64 {
    statement.setUncheckedArguments([key])
    let cursor = try Row.fetchCursor(statement)
    guard let row = try cursor.next() else { throw WrongResult("GRDB: no row") }
    return try row.withUnsafeData(atIndex: 0) { digest($0) }
  }

  func scan() throws -> Scan {
    try reading { db in
      var scan = Scan()
      let statement = try db.cachedStatement(sql: "SELECT k, v FROM rows ORDER BY k")
      let cursor = try Row.fetchCursor(statement)
      while let row = try cursor.next() {
        try row.withUnsafeData(atIndex: 0) { key in
          try row.withUnsafeData(atIndex: 1) { value in
            guard let key, let value else { throw WrongResult("GRDB: a row without a value") }
            key.withUnsafeBytes { key in
              value.withUnsafeBytes { scan.add(key: key, value: $0) }
            }
          }
        }
      }
      return scan
    }
  }

  private func digest(_ data: Data?) -> UInt64 {
    data.map { $0.withUnsafeBytes { digestOf($0) } } ?? 0
  }
}
