// The workloads of `treering bench`. Rows, positions and commits are chosen at random beforehand,
// so that the choice is not measured. Those that read come first: they measure the store as it is.

import ArgumentParser
import Foundation
import TreeRing
import TreeRingLive
import TreeRingLog

/// A named workload, in the order in which they run.
enum Workload: String, CaseIterable {
  case gets, scan, index, asof, replay, open, puts, batches

  static func parse(_ name: String) throws -> Workload {
    if let workload = Workload(rawValue: name) { return workload }
    let names = allCases.map(\.rawValue).joined(separator: ", ")
    throw ValidationError("The workloads are \(names).")
  }
}

/// Runs workloads on a copy of a store.
struct Workloads {
  /// A result of a workload, or the reason why there is none.
  enum Outcome {
    case measured(Measurement)
    case nothing(because: String)
  }

  private let copy: BenchCopy
  private let seconds: Double
  /// The newest commit of the original.
  private let newest: CommitNumber
  private let rows: [RowID]

  /// The number of rows, positions and commits chosen beforehand.
  private static let choices = 10_000
  private static let scannedRows = 100
  private static let listedRows = 20
  private static let batchRows = 1_000

  /// - Parameter seconds: the time of each workload.
  init(_ copy: BenchCopy, seconds: Double) throws {
    self.copy = copy
    self.seconds = seconds
    newest = copy.store.newestCommit
    rows = try Self.choose(from: copy.store.snapshot())
  }

  /// Rows chosen at random, each as likely as any other; none of a store without rows.
  private static func choose(from snapshot: Snapshot) throws -> [RowID] {
    let buckets = try snapshot.buckets()
    let count = buckets.reduce(0) { $0 + $1.rows }
    if count == 0 { return [] }
    return try (0..<choices).compactMap { _ in
      var position = Int.random(in: 0..<count)
      for bucket in buckets {
        if position < bucket.rows {
          return try snapshot.key(at: position, in: bucket.name).map { RowID($0, in: bucket.name) }
        }
        position -= bucket.rows
      }
      return nil
    }
  }

  /// Runs a workload, and calls `report` with each result.
  func run(_ workload: Workload, report: (Outcome) throws -> Void) throws {
    if rows.isEmpty, workload != .asof, workload != .replay {
      return try report(.nothing(because: "the store has no rows"))
    }
    if newest == 0 { return try report(.nothing(because: "the store has no commits")) }
    switch workload {
    case .gets: try report(.measured(gets()))
    case .scan: try report(.measured(scan()))
    case .index: try indexes(report)
    case .asof: try report(.measured(asOf()))
    case .replay: try report(.measured(replay()))
    case .open: try report(.measured(open()))
    case .puts:
      try report(.measured(puts("1 row, unsynced", Durability.unsynced)))
      try report(.measured(puts("1 row, durable", .full)))
    case .batches: try report(.measured(batches()))
    }
  }

  // MARK: Reading

  private func get(_ number: Int, in snapshot: Snapshot) throws {
    if rows.isEmpty { return }
    let row = rows[number % rows.count]
    _ = try snapshot.withObject(of: row.key, in: row.bucket) { bytes, _ in bytes.count }
  }

  private func gets() throws -> Measurement {
    let snapshot = try copy.store.snapshot()
    return try Measurement.take("1 row", for: seconds) { try get($0, in: snapshot) }
  }

  /// Reads all rows in key order, some in each operation, and begins again at the end.
  private func scan() throws -> Measurement {
    let snapshot = try copy.store.snapshot()
    let buckets = try snapshot.buckets().map(\.name)
    var (bucket, next) = (0, Key?.none)
    return try Measurement.take("\(Self.scannedRows) rows", for: seconds) { _ in
      var left = Self.scannedRows
      while left > 0 {
        var last: Key?
        try snapshot.forEachRow(in: buckets[bucket], from: next) { row in
          last = row.key
          left -= 1
          return left > 0
        }
        if left == 0, let last {
          next = Key(bytes: last.bytes + [0])
        } else {
          (bucket, next) = ((bucket + 1) % buckets.count, nil)
        }
      }
    }
  }

  private func asOf() throws -> Measurement {
    let store = copy.store
    let oldest = min(max(1, store.horizon), newest)
    let commits = (0..<Self.choices).map { _ in CommitNumber.random(in: oldest...newest) }
    return try Measurement.take("1 snapshot, 1 row", for: seconds) { number in
      try get(number, in: try store.snapshot(at: .commit(commits[number % commits.count])))
    }
  }

  // MARK: Indexes

  private func indexes(_ report: (Outcome) throws -> Void) throws {
    let snapshot = try copy.store.snapshot()
    var readers: [(name: String, reader: IndexReader)] = []
    for info in snapshot.indexes {
      if let reader = try snapshot.readableIndex(info.name) {
        if !reader.isEmpty { readers.append((info.name, reader)) }
      } else {
        try report(.nothing(because: "index \(info.name) is defined in code"))
      }
    }
    if readers.isEmpty { try report(.nothing(because: "no index has rows that can be read")) }
    let share = seconds / Double(2 * max(1, readers.count))
    for (name, reader) in readers {
      let places = try Self.choosePlaces(in: reader)
      try report(
        .measured(
          Measurement.take("position of 1 row", of: name, for: share) { number in
            let place = places[number % places.count]
            _ = try reader.index(of: place.row, in: place.group)
          }))
      try report(
        .measured(
          Measurement.take("\(Self.listedRows) rows of a group", of: name, for: share) { number in
            let place = places[number % places.count]
            let range = place.position..<place.position + Self.listedRows
            try reader.forEachRow(in: place.group, range) { _, _ in true }
          }))
    }
  }

  /// Places in groups, each place of the index as likely as any other.
  private static func choosePlaces(
    in reader: IndexReader
  ) throws -> [(group: GroupName, position: Int, row: RowID)] {
    let groups = try reader.groupCounts()
    var ends: [Int] = []
    for group in groups { ends.append((ends.last ?? 0) + group.rows) }
    return try (0..<choices).compactMap { _ in
      let place = Int.random(in: 0..<(ends.last ?? 1))
      // The first group that ends after the place.
      var (low, high) = (0, ends.count - 1)
      while low < high {
        let middle = (low + high) / 2
        if ends[middle] > place { high = middle } else { low = middle + 1 }
      }
      let group = groups[low]
      let position = place - (ends[low] - group.rows)
      return try reader.id(at: position, in: group.group).map { (group.group, position, $0) }
    }
  }

  // MARK: Opening

  private func replay() throws -> Measurement {
    try Measurement.take("opening without the page file", for: seconds) { _ in
      try copy.reopen(fromLog: true)
    }
  }

  private func open() throws -> Measurement {
    // Closes a copy that has just been built, so that the first opening is like the later ones.
    try copy.reopen()
    return try Measurement.take("close, open, 1 row", for: seconds) { number in
      try copy.reopen()
      try get(number, in: copy.store.snapshot())
    }
  }

  // MARK: Writing

  /// Writes a row with the content that it has.
  private func rewrite(_ id: RowID, _ tx: Transaction) throws {
    guard let row = try tx.row(id.key, in: id.bucket) else { return }
    try row.object.withUnsafeBytes { object in
      try (row.metadata ?? []).withUnsafeBytes { metadata in
        try row.key.bytes.withUnsafeBytes { key in
          try tx.put(
            key, in: row.bucket, object: object, metadata: row.metadata == nil ? nil : metadata,
            coder: row.coder)
        }
      }
    }
  }

  private func puts(_ operation: String, _ durability: Durability) throws -> Measurement {
    try Measurement.take(operation, for: seconds / 2) { number in
      try copy.store.write(durability: durability) { tx in
        try rewrite(rows[number % rows.count], tx)
      }
    }
  }

  private func batches() throws -> Measurement {
    try Measurement.take("\(Self.batchRows) rows, durable", for: seconds) { number in
      try copy.store.write(durability: .full) { tx in
        for row in 0..<Self.batchRows {
          try rewrite(rows[(number * Self.batchRows + row) % rows.count], tx)
        }
      }
    }
  }
}
