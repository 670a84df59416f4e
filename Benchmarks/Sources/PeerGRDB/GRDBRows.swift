// Rows of columns in GRDB: a list observed with ValueObservation, and gets of a record.

public import BenchmarkHarness
internal import Foundation
internal import GRDB
internal import Synchronization

private struct Item: Codable, Hashable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "item"
  let id: Int64
  var place: Int64
  var version: Int64

  init(_ row: PlacedRow) {
    id = Int64(row.id)
    place = row.place
    version = Int64(row.version)
  }
}

/// A list of rows in the order of a column. A ValueObservation fetches its newest value after each
/// commit, and the standard library finds the difference to the value before.
public final class GRDBObservedList: Sendable {
  private let pool: DatabasePool
  private let arrivals = Arrivals()
  private let observation: Mutex<AnyDatabaseCancellable?>

  /// The values and differences that the observation delivers.
  private final class Arrivals: Sendable {
    struct State {
      var items: [Item] = []
      var operations = 0
      var failure: (any Error)?
    }
    let state = Mutex(State())
    let arrived = DispatchSemaphore(value: 0)

    func take(_ items: [Item]) {
      state.withLock { state in
        let difference = items.difference(from: state.items).inferringMoves()
        state.operations = difference.count
        state.items = items
        // Without snapshots of SQLite, the first value may arrive twice.
        if !difference.isEmpty { arrived.signal() }
      }
    }

    func fail(_ error: any Error) {
      state.withLock { $0.failure = error }
      arrived.signal()
    }

    /// Waits for the next value.
    func wait() throws {
      guard arrived.wait(timeout: .now() + 60) == .success else {
        throw BenchmarkError("GRDB: the observation delivered nothing for a minute")
      }
      if let failure = state.withLock({ $0.failure }) {
        throw BenchmarkError("GRDB: \(failure)")
      }
    }
  }

  /// Creates the table in a folder, with these rows, and observes it.
  public init(folder: String, rows: [PlacedRow]) throws {
    pool = try openPool(folder + "/list.sqlite", isDurable: false, cacheByteCount: 512 << 20)
    try writing(pool) { db in
      try db.create(table: "item") { table in
        table.primaryKey("id", .integer)
        table.column("place", .integer).notNull().indexed()
        table.column("version", .integer).notNull()
      }
      for row in rows { try Item(row).insert(db) }
    }
    observation = Mutex(nil)
    let arrivals = arrivals
    let queue = DispatchQueue(label: "list")
    let cancellable = ValueObservation.trackingConstantRegion { db in
      try Item.order(Column("place"), Column("id")).fetchAll(db)
    }.start(
      in: pool, scheduling: .async(onQueue: queue), onError: { arrivals.fail($0) },
      onChange: { arrivals.take($0) })
    observation.withLock { $0 = cancellable }
    try arrivals.wait()
  }

  /// Commits changes and waits until their difference is known.
  /// - Returns: the time that both take, in seconds.
  public func change(upserting rows: [PlacedRow], deleting ids: [Int]) throws -> Double {
    try Clocks.wallSeconds {
      try writing(pool) { db in
        for row in rows { try Item(row).upsert(db) }
        for id in ids { try Item.deleteOne(db, key: Int64(id)) }
      }
      try arrivals.wait()
    }
  }

  /// The number of operations of the last difference; a move is two.
  public var operationCount: Int { arrivals.state.withLock { $0.operations } }

  /// The ids in the order that the observation last delivered.
  public var ids: [Int] { arrivals.state.withLock { $0.items.map { Int($0.id) } } }

  public func close() throws {
    observation.withLock { $0 = nil }
    try pool.close()
  }
}

/// A table of records, read by their keys.
public final class GRDBRecords: Sendable {
  private let pool: DatabasePool

  private struct Record: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "shipment"
    let id: Int64
    let customer: Int
    let state: String
    let origin: String
    let destination: String
    let weight: Int
    let price: Double
    let isSigned: Bool
  }

  /// Creates the table in a folder, with these rows under the keys 0, 1, 2, …
  public init(folder: String, rows: [Shipment]) throws {
    pool = try openPool(folder + "/records.sqlite", isDurable: false, cacheByteCount: 512 << 20)
    try writing(pool) { db in
      try db.create(table: "shipment") { table in
        table.primaryKey("id", .integer)
        for name in ["customer", "weight", "isSigned"] { table.column(name, .integer).notNull() }
        for name in ["state", "origin", "destination"] { table.column(name, .text).notNull() }
        table.column("price", .double).notNull()
      }
      for (id, row) in rows.enumerated() {
        try Record(
          id: Int64(id), customer: row.customer, state: row.state, origin: row.origin,
          destination: row.destination, weight: row.weight, price: row.price,
          isSigned: row.isSigned
        ).insert(db)
      }
    }
  }

  /// Reads records in one view. Returns the sum of their weights and of the lengths of their texts.
  public func sum(of ids: [Int]) throws -> Int {
    try whileBusy {
      try asEngineErrors {
        try pool.read { db in
          var sum = 0
          for id in ids {
            guard let row = try Record.fetchOne(db, key: Int64(id)) else {
              throw WrongResult("GRDB: no row")
            }
            sum += row.weight + row.destination.utf8.count
          }
          return sum
        }
      }
    }
  }

  public func close() throws { try pool.close() }
}
