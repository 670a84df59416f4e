// The commits of the Crasher. Every commit is a function of its number, so the parent process knows
// the state at each.

package import TreeRing
internal import TreeRingLog

package enum CrashScript {
  private static let keyCount: CommitNumber = 40
  package static let rows = Bucket<[UInt8]>.bytes("rows")
  package static let counts = Bucket<[UInt8]>.bytes("counts")

  /// The index that opening registers in the first commit.
  package static var index: GroupIndex {
    GroupIndex("bySize", on: rows, version: 1) { bytes in
      Place(in: "g\((bytes.first ?? 0) % 5)", by: .ascending(bytes.count))
    }
  }

  /// The options of the store; small segments, so that many are begun and sealed.
  package static var options: StoreOptions {
    StoreOptions(segmentSize: 64 << 10, indexes: [index], logger: quietLogger)
  }

  // MARK: Rows to be erased

  package static let secrets = Bucket<[UInt8]>.bytes("secrets")
  private static let secretInterval: CommitNumber = 20

  /// The key that a commit puts, if any. The tenth commit after it deletes the key, and no commit
  /// puts it again.
  package static func secretKey(of commit: CommitNumber) -> Key? {
    commit % secretInterval == 0 ? Key("secret \(commit)") : nil
  }

  /// The newest commit whose secret another commit has deleted; nil if there is none yet.
  package static func lastSecret(by newest: CommitNumber) -> CommitNumber? {
    guard newest >= secretInterval * 2 else { return nil }
    let last = newest / secretInterval * secretInterval
    return newest - last >= secretInterval / 2 ? last : last - secretInterval
  }

  /// Bytes that occur nowhere else.
  package static func secret(of commit: CommitNumber) -> [UInt8] {
    var random = SeededGenerator(seed: ~commit)
    return (0..<(commit % 3 == 0 ? 3000 : 40)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }

  private static func key(of commit: CommitNumber) -> Key { Key("k\(commit % keyCount)") }

  private static func bytes(of commit: CommitNumber) -> [UInt8]? {
    guard commit % 11 != 0 else { return nil }
    var random = SeededGenerator(seed: commit)
    let count = commit % 9 == 0 ? 5000 : Int(commit % 300) + 1
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }

  private static func count(of commit: CommitNumber) -> [UInt8] { Array("\(commit)".utf8) }

  /// Performs the operations of the commit in progress.
  package static func perform(_ tx: Transaction) throws {
    if let bytes = bytes(of: tx.commit) {
      try tx.put(bytes, for: key(of: tx.commit), in: rows)
    } else {
      try tx.delete(key(of: tx.commit), in: rows.name)
    }
    try tx.put(count(of: tx.commit), for: "count", in: counts)
    if let key = secretKey(of: tx.commit) {
      try tx.put(secret(of: tx.commit), for: key, in: secrets)
    } else if tx.commit > secretInterval / 2,
      let key = secretKey(of: tx.commit - secretInterval / 2)
    {
      try tx.delete(key, in: secrets.name)
    }
  }

  /// The flaw of a snapshot; nil if it equals the result of the commits up to it.
  package static func flaw(in snapshot: Snapshot) throws -> String? {
    let newest = snapshot.commit
    guard newest > 1 else { return nil }
    guard try snapshot.get("count", in: counts) == count(of: newest) else {
      return "commit \(newest) does not count as \(newest)"
    }
    var expected: [Key: [UInt8]] = [:]
    for commit in (newest > keyCount ? newest - keyCount : 1) + 1...newest {
      expected[key(of: commit)] = bytes(of: commit)
    }
    var found: [Key: [UInt8]] = [:]
    try snapshot.forEach(in: rows) {
      found[$0] = $1
      return true
    }
    guard found == expected else { return "other rows at commit \(newest)" }
    // A secret may have been erased from the past; a remaining one must be right.
    var isRight = true
    try snapshot.forEach(in: secrets) { key, bytes in
      let number = CommitNumber(key.description.dropFirst("secret ".count)) ?? 0
      isRight =
        number <= newest && newest < number + secretInterval / 2
        && bytes == secret(of: number)
      return isRight
    }
    guard isRight else { return "another secret at commit \(newest)" }
    let index = try snapshot.index("bySize")
    guard index.count == expected.count else { return "the index lacks rows at commit \(newest)" }
    return nil
  }
}
