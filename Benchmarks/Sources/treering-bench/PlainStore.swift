// Stores for subjects that measure TreeRing alone. Rows have numbers and are generated on demand,
// so that there may be more of them than memory for their keys.

internal import BenchmarkHarness
internal import Foundation
internal import TreeRing

/// Rows 0, 1, 2, … of about 100 bytes in one bucket, their keys in ascending order.
struct PlainRows: Sendable {
  static let bucket = Bucket.bytes("rows")
  private let values = Dataset(count: 1, kind: .v100)

  /// The key of a row: 16 bytes, ascending with the row.
  static func key(_ row: Int) -> Key {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(16)
    for word in [UInt64(row), mix(UInt64(row))] {
      withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
    }
    return Key(bytes: bytes)
  }

  func put(_ row: Int, version: Int = 0, _ transaction: Transaction) throws {
    try transaction.put(
      values.value(row, version: version), for: Self.key(row), in: Self.bucket)
  }

  /// Writes rows in key order in non-durable commits of 10,000.
  func load(_ rows: Range<Int>, into store: Store) throws {
    for start in stride(from: rows.lowerBound, to: rows.upperBound, by: 10_000) {
      try store.write(durability: .unsynced) { transaction in
        for row in start..<min(start + 10_000, rows.upperBound) { try put(row, transaction) }
      }
    }
  }

  /// Writes random rows in one non-durable commit.
  func update(
    _ count: Int, below bound: Int, version: Int, _ random: inout Random, in store: Store
  ) throws {
    let rows = random.rows(count, below: bound)
    try store.write(durability: .unsynced) { transaction in
      for row in rows { try put(row, version: version, transaction) }
    }
  }

  /// Commits single random rows durably. Returns the wall-clock nanoseconds of each, in order.
  func durableCommits(
    _ count: Int, below bound: Int, version: Int, _ random: inout Random, in store: Store
  ) throws -> [UInt64] {
    try random.rows(count, below: bound).map { row in
      let start = Clocks.wallNanoseconds
      try store.write(durability: Durability.full) { try put(row, version: version, $0) }
      return Clocks.wallNanoseconds - start
    }
  }

  /// Reads one row and returns its digest; throws if it is missing.
  @discardableResult
  static func get(_ row: Int, in snapshot: Snapshot) throws -> UInt64 {
    let digest = try snapshot.withObject(of: key(row), in: "rows") { bytes, _ in digestOf(bytes) }
    guard let digest else { throw BenchmarkError("row \(row) is missing") }
    return digest
  }
}

extension [UInt64] {
  /// The value that the given fraction of all values does not exceed; 0 if there are none.
  func percentile(_ fraction: Double) -> Double {
    guard !isEmpty else { return 0 }
    let sorted = sorted()
    return Double(sorted[Swift.min(sorted.count - 1, Int(Double(sorted.count) * fraction))])
  }
}

extension Context {
  /// A copy of the store's folder in the state that a kill at this moment would leave.
  func killedCopy(of folder: String) throws -> String {
    let copy = try self.folder() + "/store"
    try FileManager.default.copyItem(atPath: folder, toPath: copy)
    // The writes of a process killed long ago are on the device; those of this copy are not yet.
    sync()
    return copy
  }

  /// Removes a store's page file, so that opening rebuilds it from the log.
  func removePages(of folder: String) throws {
    let path = folder + "/pages"
    if FileManager.default.fileExists(atPath: path) {
      try FileManager.default.removeItem(atPath: path)
    }
  }
}
