// A table of SQLite's FTS5, as its documentation advises for text that is stored elsewhere as well:
// contentless would do without deletes, so the texts are in it.

internal import BenchmarkHarness
internal import CSQLite

/// A full-text table with a title and a body.
final class FullTextTable {
  private var handle: OpaquePointer?
  private var insertion: OpaquePointer?
  private var search: OpaquePointer?
  private let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

  init(_ path: String) throws {
    guard sqlite3_open(path, &handle) == SQLITE_OK else {
      throw BenchmarkError("SQLite cannot open \(path)")
    }
    for pragma in [
      "journal_mode=WAL", "synchronous=OFF", "cache_size=-524288", "mmap_size=8589934592",
      "temp_store=MEMORY",
    ] { try run("PRAGMA \(pragma)") }
    try run("CREATE VIRTUAL TABLE texts USING fts5(title, body)")
    try run("INSERT INTO texts(texts, rank) VALUES('rank', 'bm25(4.0, 1.0)')")
    insertion = try prepare("INSERT INTO texts(title, body) VALUES (?, ?)")
    search = try prepare("SELECT rowid, rank FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?")
  }

  deinit {
    sqlite3_finalize(insertion)
    sqlite3_finalize(search)
    sqlite3_close_v2(handle)
  }

  private func run(_ text: String) throws {
    guard sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK else {
      throw BenchmarkError("SQLite: \(text): \(String(cString: sqlite3_errmsg(handle)))")
    }
  }

  private func prepare(_ text: String) throws -> OpaquePointer? {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, text, -1, &statement, nil) == SQLITE_OK else {
      throw BenchmarkError("SQLite: \(text): \(String(cString: sqlite3_errmsg(handle)))")
    }
    return statement
  }

  /// Inserts documents in one transaction. Rows are numbered from 1 on.
  func insert(_ documents: [Document]) throws {
    try run("BEGIN")
    for document in documents {
      sqlite3_bind_text(insertion, 1, document.title, -1, transient)
      sqlite3_bind_text(insertion, 2, document.body, -1, transient)
      guard sqlite3_step(insertion) == SQLITE_DONE else { throw BenchmarkError("SQLite: insert") }
      sqlite3_reset(insertion)
    }
    try run("COMMIT")
  }

  func optimize() throws { try run("INSERT INTO texts(texts) VALUES('optimize')") }

  /// The best hits: the number of the document from 0 on, and the score, positive here.
  func find(_ query: String, limit: Int) throws -> [(row: Int, score: Double)] {
    sqlite3_bind_text(search, 1, query, -1, transient)
    sqlite3_bind_int64(search, 2, Int64(limit))
    defer { sqlite3_reset(search) }
    var hits: [(row: Int, score: Double)] = []
    while true {
      switch sqlite3_step(search) {
      case SQLITE_ROW:
        hits.append(
          (Int(sqlite3_column_int64(search, 0)) - 1, -sqlite3_column_double(search, 1)))
      case SQLITE_DONE: return hits
      default:
        throw BenchmarkError("SQLite: \(query): \(String(cString: sqlite3_errmsg(handle)))")
      }
    }
  }

  /// The bytes of the index alone: without the copy of the texts.
  func indexByteCount() throws -> Int {
    var sum = 0
    for table in ["data", "idx", "docsize"] {
      let column = table == "data" ? "block" : table == "docsize" ? "sz" : "term"
      let statement = try prepare("SELECT sum(length(\(column)) + 8) FROM texts_\(table)")
      if sqlite3_step(statement) == SQLITE_ROW { sum += Int(sqlite3_column_int64(statement, 0)) }
      sqlite3_finalize(statement)
    }
    return sum
  }
}
