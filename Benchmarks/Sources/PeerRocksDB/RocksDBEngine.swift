// RocksDB through its C API, configured as its tuning guide advises: LZ4, bloom filters, a large
// block cache, one background job per core, pinned gets. A durable write is a synced one.

public import BenchmarkHarness
internal import CRocksDB

// The pointers are handles that every thread may use.
public final class RocksDBEngine: Engine, @unchecked Sendable {
  public static let name = "RocksDB"
  fileprivate let handle: OpaquePointer
  fileprivate let writeOptions: OpaquePointer
  fileprivate let readOptions: OpaquePointer
  fileprivate let scanOptions: OpaquePointer
  fileprivate let data: Dataset

  public init(_ options: EngineOptions, data: Dataset) throws {
    let tuning = rocksdb_options_create()
    defer { rocksdb_options_destroy(tuning) }
    rocksdb_options_set_create_if_missing(tuning, 1)
    rocksdb_options_set_compression(tuning, Int32(rocksdb_lz4_compression))
    rocksdb_options_increase_parallelism(tuning, 2)
    rocksdb_options_set_level_compaction_dynamic_level_bytes(tuning, 1)
    rocksdb_options_set_write_buffer_size(tuning, 64 << 20)
    let blocks = rocksdb_block_based_options_create()
    rocksdb_block_based_options_set_block_cache(
      blocks, rocksdb_cache_create_lru(options.cacheByteCount ?? 1 << 30))
    rocksdb_block_based_options_set_filter_policy(
      blocks, rocksdb_filterpolicy_create_bloom_full(10))
    rocksdb_options_set_block_based_table_factory(tuning, blocks)
    let handle = try whileBusy {
      var message: UnsafeMutablePointer<CChar>?
      let handle = rocksdb_open(tuning, options.folder, &message)
      try throwError(message)
      return handle
    }
    guard let handle, let write = rocksdb_writeoptions_create(),
      let read = rocksdb_readoptions_create(), let scan = rocksdb_readoptions_create()
    else { throw BenchmarkError("RocksDB gave no database or options") }
    rocksdb_writeoptions_set_sync(write, options.isDurable ? 1 : 0)
    rocksdb_readoptions_set_verify_checksums(read, 0)
    rocksdb_readoptions_set_verify_checksums(scan, 0)
    rocksdb_readoptions_set_readahead_size(scan, 2 << 20)
    self.handle = handle
    writeOptions = write
    readOptions = read
    scanOptions = scan
    self.data = data
  }

  public func session() throws -> any EngineSession { RocksDBSession(self) }

  public func sync() throws { try checked { rocksdb_flush_wal(handle, 1, &$0) } }

  public func settle() throws {
    let flush = rocksdb_flushoptions_create()
    defer { rocksdb_flushoptions_destroy(flush) }
    rocksdb_flushoptions_set_wait(flush, 1)
    try checked { rocksdb_flush(handle, flush, &$0) }
    rocksdb_compact_range(handle, nil, 0, nil, 0)
  }

  public func close() throws { rocksdb_close(handle) }
}

private func checked(_ body: (inout UnsafeMutablePointer<CChar>?) -> Void) throws {
  var message: UnsafeMutablePointer<CChar>?
  body(&message)
  try throwError(message)
}

/// Throws the error that a call left; returns if it left none.
private func throwError(_ message: UnsafeMutablePointer<CChar>?) throws {
  guard let message else { return }
  defer { rocksdb_free(message) }
  let text = String(cString: message)
  let passing = [
    "Resource busy", "Operation timed out", "Try again", "Resource temporarily unavailable",
  ]
  if passing.contains(where: text.contains) { throw EngineBusy("RocksDB: \(text)") }
  throw BenchmarkError("RocksDB: \(text)")
}

final class RocksDBSession: EngineSession {
  private let engine: RocksDBEngine
  private var prepared: [[UInt8]] = []
  private let batch = rocksdb_writebatch_create()

  init(_ engine: RocksDBEngine) { self.engine = engine }
  deinit { rocksdb_writebatch_destroy(batch) }

  func put(_ rows: ArraySlice<Int>, version: Int) throws {
    rocksdb_writebatch_clear(batch)
    for row in rows {
      engine.data.keys[row].withUnsafeBytes { key in
        engine.data.value(row, version: version).withUnsafeBytes { value in
          rocksdb_writebatch_put(
            batch, key.bindMemory(to: CChar.self).baseAddress, key.count,
            value.bindMemory(to: CChar.self).baseAddress, value.count)
        }
      }
    }
    try whileBusy {
      try checked { rocksdb_write(engine.handle, engine.writeOptions, batch, &$0) }
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
      let slice = rocksdb_get_pinned(
        engine.handle, engine.readOptions, key.bindMemory(to: CChar.self).baseAddress, key.count,
        &message)
      try throwError(message)
      guard let slice else { throw WrongResult("RocksDB: no row") }
      defer { rocksdb_pinnableslice_destroy(slice) }
      var count = 0
      let value = rocksdb_pinnableslice_value(slice, &count)
      return digestOf(UnsafeRawBufferPointer(start: value, count: count))
    }
  }

  func scan() throws -> Scan {
    let iterator = rocksdb_create_iterator(engine.handle, engine.scanOptions)
    defer { rocksdb_iter_destroy(iterator) }
    var scan = Scan()
    rocksdb_iter_seek_to_first(iterator)
    while rocksdb_iter_valid(iterator) != 0 {
      var keyCount = 0
      var valueCount = 0
      let key = rocksdb_iter_key(iterator, &keyCount)
      let value = rocksdb_iter_value(iterator, &valueCount)
      scan.add(
        key: UnsafeRawBufferPointer(start: key, count: keyCount),
        value: UnsafeRawBufferPointer(start: value, count: valueCount))
      rocksdb_iter_next(iterator)
    }
    return scan
  }
}
