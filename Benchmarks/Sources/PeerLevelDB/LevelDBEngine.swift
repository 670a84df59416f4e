// LevelDB through its C API, configured as its documentation advises: bloom filters, a large write
// buffer and a large block cache, Snappy. A durable write is a synced one.

public import BenchmarkHarness
internal import CLevelDB

// The pointers are handles that every thread may use.
public final class LevelDBEngine: Engine, @unchecked Sendable {
  public static let name = "LevelDB"
  fileprivate let handle: OpaquePointer
  fileprivate let writeOptions: OpaquePointer
  fileprivate let readOptions: OpaquePointer
  fileprivate let data: Dataset
  private let cache: OpaquePointer
  private let filter: OpaquePointer

  public init(_ options: EngineOptions, data: Dataset) throws {
    guard let tuning = leveldb_options_create(), let write = leveldb_writeoptions_create(),
      let read = leveldb_readoptions_create(),
      let cache = leveldb_cache_create_lru(options.cacheByteCount ?? 1 << 30),
      let filter = leveldb_filterpolicy_create_bloom(10)
    else { throw BenchmarkError("LevelDB: no memory for its options") }
    defer { leveldb_options_destroy(tuning) }
    leveldb_options_set_create_if_missing(tuning, 1)
    leveldb_options_set_compression(tuning, Int32(leveldb_snappy_compression))
    leveldb_options_set_write_buffer_size(tuning, 64 << 20)
    leveldb_options_set_cache(tuning, cache)
    leveldb_options_set_filter_policy(tuning, filter)
    leveldb_writeoptions_set_sync(write, options.isDurable ? 1 : 0)
    let handle = try whileBusy {
      var message: UnsafeMutablePointer<CChar>?
      let handle = leveldb_open(tuning, options.folder, &message)
      try throwError(message)
      return handle
    }
    guard let handle else { throw BenchmarkError("LevelDB gave no database") }
    self.handle = handle
    writeOptions = write
    readOptions = read
    self.data = data
    self.cache = cache
    self.filter = filter
  }

  public func session() throws -> any EngineSession { LevelDBSession(self) }

  /// A synced empty batch: the log is synced as a whole.
  public func sync() throws {
    guard let options = leveldb_writeoptions_create(), let batch = leveldb_writebatch_create()
    else { throw BenchmarkError("LevelDB: no memory for a batch") }
    defer {
      leveldb_writebatch_destroy(batch)
      leveldb_writeoptions_destroy(options)
    }
    leveldb_writeoptions_set_sync(options, 1)
    try checked { leveldb_write(handle, options, batch, &$0) }
  }

  public func settle() throws { leveldb_compact_range(handle, nil, 0, nil, 0) }

  public func close() throws {
    leveldb_close(handle)
    leveldb_cache_destroy(cache)
    leveldb_filterpolicy_destroy(filter)
    leveldb_writeoptions_destroy(writeOptions)
    leveldb_readoptions_destroy(readOptions)
  }
}

private func checked(_ body: (inout UnsafeMutablePointer<CChar>?) -> Void) throws {
  var message: UnsafeMutablePointer<CChar>?
  body(&message)
  try throwError(message)
}

/// Throws the error that a call left; returns if it left none.
private func throwError(_ message: UnsafeMutablePointer<CChar>?) throws {
  guard let message else { return }
  defer { leveldb_free(message) }
  let text = String(cString: message)
  let passing = ["Resource temporarily unavailable", "already held by process"]
  if passing.contains(where: text.contains) { throw EngineBusy("LevelDB: \(text)") }
  throw BenchmarkError("LevelDB: \(text)")
}

final class LevelDBSession: EngineSession {
  private let engine: LevelDBEngine
  private var prepared: [[UInt8]] = []
  private let batch = leveldb_writebatch_create()

  init(_ engine: LevelDBEngine) { self.engine = engine }
  deinit { leveldb_writebatch_destroy(batch) }

  func put(_ rows: ArraySlice<Int>, version: Int) throws {
    leveldb_writebatch_clear(batch)
    for row in rows {
      engine.data.keys[row].withUnsafeBytes { key in
        engine.data.value(row, version: version).withUnsafeBytes { value in
          leveldb_writebatch_put(
            batch, key.bindMemory(to: CChar.self).baseAddress, key.count,
            value.bindMemory(to: CChar.self).baseAddress, value.count)
        }
      }
    }
    try whileBusy {
      try checked { leveldb_write(engine.handle, engine.writeOptions, batch, &$0) }
    }
  }

  func prepare(_ rows: [Int]) { prepared = engine.data.copies(ofKeys: rows) }

  func getPrepared() throws -> UInt64 {
    var sum: UInt64 = 0
    for key in prepared { sum &+= try read(key) }
    return sum
  }

  func getNow(_ row: Int) throws -> UInt64 { try read(engine.data.keys[row]) }

  private func read(_ key: [UInt8]) throws -> UInt64 {
    try key.withUnsafeBytes { key in
      var message: UnsafeMutablePointer<CChar>?
      var count = 0
      let value = leveldb_get(
        engine.handle, engine.readOptions, key.bindMemory(to: CChar.self).baseAddress, key.count,
        &count, &message)
      try throwError(message)
      guard let value else { throw WrongResult("LevelDB: no row") }
      defer { leveldb_free(value) }
      return digestOf(UnsafeRawBufferPointer(start: value, count: count))
    }
  }

  func scan() throws -> Scan {
    let iterator = leveldb_create_iterator(engine.handle, engine.readOptions)
    defer { leveldb_iter_destroy(iterator) }
    var scan = Scan()
    leveldb_iter_seek_to_first(iterator)
    while leveldb_iter_valid(iterator) != 0 {
      var keyCount = 0
      var valueCount = 0
      let key = leveldb_iter_key(iterator, &keyCount)
      let value = leveldb_iter_value(iterator, &valueCount)
      scan.add(
        key: UnsafeRawBufferPointer(start: key, count: keyCount),
        value: UnsafeRawBufferPointer(start: value, count: valueCount))
      leveldb_iter_next(iterator)
    }
    return scan
  }
}
