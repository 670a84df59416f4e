// TreeRing with the common interface of the engines under comparison. Uses only its public API.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import Synchronization
internal import TreeRing

final class TreeRingEngine: Engine {
  static let name = EngineName.own
  let store: Store
  private let folder: String
  fileprivate let durability: Durability
  fileprivate let data: Dataset
  private let made = Mutex<[Key]?>(nil)

  init(_ options: EngineOptions, data: Dataset) throws {
    folder = options.folder
    durability = options.isDurable ? .full : .unsynced
    store = try Store(
      at: options.folder,
      options: StoreOptions(
        durability: durability, memoryBudget: options.cacheByteCount ?? 512 << 20))
    self.data = data
  }

  /// The keys of all rows, made when first needed: opening a store does not need them.
  fileprivate func keys() -> [Key] {
    made.withLock { made in
      let keys = made ?? data.keys.map { Key(bytes: $0) }
      made = keys
      return keys
    }
  }

  func makeKeys() { _ = keys() }
  func session() throws -> any EngineSession { TreeRingSession(self) }
  func sync() throws { try store.sync() }
  func settle() throws {
    // Packing writes to free pages, so the files' room alone does not show its end.
    var written = -1
    while true {
      let now = try store.statistics().writtenPageCount
      if now == written { return }
      written = now
      waitUntilReleased(folder)
    }
  }
  func close() throws { try store.close() }
}

final class TreeRingSession: EngineSession {
  private static let bucketName = "rows"
  private let engine: TreeRingEngine
  private lazy var keys = engine.keys()
  private var prepared: [Key] = []
  private let bucket = Bucket.bytes(TreeRingSession.bucketName)
  /// Decodes a row to its digest, in place.
  private let digests = Bucket<UInt64>(
    TreeRingSession.bucketName,
    coder: RowCoder(encode: { _ in [] }, decode: { bytes, _ in digestOf(bytes) }))

  init(_ engine: TreeRingEngine) { self.engine = engine }

  func put(_ rows: ArraySlice<Int>, version: Int) throws {
    let (keys, data, bucket) = (keys, engine.data, bucket)
    let put: @Sendable (Transaction) throws -> Void = { tx in
      for row in rows {
        try tx.put(data.value(row, version: version), for: keys[row], in: bucket)
      }
    }
    // Writers that wait for a sync may be many; of the others there is one.
    if engine.durability == .full {
      try engine.store.writeOnAnyThread(put)
    } else {
      try engine.store.write(put)
    }
  }

  func loadSorted(_ rows: [Int]) throws {
    let keys = keys
    for start in stride(from: 0, to: rows.count, by: 10_000) {
      let part = rows[start..<min(start + 10_000, rows.count)]
      try engine.store.write { tx in
        _ = try tx.load(
          part.lazy.map {
            (key: keys[$0], row: self.engine.data.value($0, version: 0))
          },
          in: bucket)
      }
    }
  }

  func prepare(_ rows: [Int]) {
    prepared = engine.data.copies(ofKeys: rows).map { Key(bytes: $0) }
  }

  func getPrepared() throws -> UInt64 {
    let snapshot = try engine.store.snapshot()
    var sum: UInt64 = 0
    for key in prepared { sum &+= try read(key, in: snapshot) }
    return sum
  }

  func getNow(_ row: Int) throws -> UInt64 {
    try read(keys[row], in: try engine.store.snapshot())
  }

  @inline(__always)
  private func read(_ key: Key, in snapshot: Snapshot) throws -> UInt64 {
    let digest = try snapshot.withObject(of: key, in: Self.bucketName) { bytes, _ in
      digestOf(bytes)
    }
    guard let digest else { throw WrongResult("TreeRing: no row") }
    return digest
  }

  func scan() throws -> Scan {
    var scan = Scan()
    try engine.store.snapshot().forEach(in: digests) { key, digest in
      scan.count += 1
      scan.add(key: key.bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }, value: digest)
      return true
    }
    return scan
  }
}
