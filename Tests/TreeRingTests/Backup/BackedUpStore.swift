// A store for the tests of backups, each of whose states is a function of its newest commit.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

/// The commits of that store, and a check of a copy.
enum BackedUpStore {
  /// The rows at a commit, if commit n puts row n % 50 and deletes row n % 7.
  static func rows(at commit: CommitNumber) -> [String: [UInt8]] {
    var rows: [String: [UInt8]] = [:]
    for number in 1...max(commit, 1) where commit > 0 {
      rows["k\(number % 50)"] = object(number)
      rows["k\(number % 7)"] = nil
    }
    return rows
  }

  static func object(_ number: CommitNumber) -> [UInt8] {
    Array(repeating: UInt8(truncatingIfNeeded: number), count: Int(number * 131 % 3000))
  }

  static func commit(_ number: CommitNumber, to store: Store) throws {
    let written = try store.write(durability: number % 5 == 0 ? .full : Durability.unsynced) { tx in
      try tx.put(object(number), for: Key("k\(number % 50)"), in: blobs)
      try tx.delete(Key("k\(number % 7)"), in: "blobs")
    }
    #expect(written.commit == number)
  }

  static func check(_ store: Store, _ context: String) throws {
    var found: [String: [UInt8]] = [:]
    try store.snapshot().forEachRow(in: "blobs") { row in
      found[row.key.description] = row.object
      return true
    }
    let isRight = found == rows(at: store.newestCommit)
    #expect(isRight, "\(context): at \(store.newestCommit)")
    #expect(try store.checkInvariants() == [], "\(context)")
  }

  static func options(_ mode: StoreMode = .create) -> StoreOptions {
    StoreOptions(mode: mode, segmentSize: 2 << 10, logger: quietLogger)
  }
}
