// The effects of the last commits, shared by all streams: the writes of this process with their
// data, and the rows of other programs' commits. A stream that is a few commits behind sends the
// writes one by one, as their clients made them. Otherwise it sends all locations concerned at
// once, with their newest values.

internal import TreeRing
internal import TreeRingFirebase
internal import TreeRingLog
internal import TreeRingPlatform

/// A write as its client sent it.
struct WriteEffect: Sendable {
  let bucket: String
  /// The location that a patch named; nil for the write of one node.
  let base: [FirebaseKey]?
  let writes: [NodeWrite]
  let byteCount: Int
}

/// The effect of a commit on trees.
enum CommitEffect: Sendable {
  case write(WriteEffect)
  /// The rows that another program wrote, by their buckets and keys.
  case rows([RowID])
  /// More rows than are noted.
  case many

  /// The paths below a location that the commit concerned; nil if they are unknown. A path of the
  /// location itself or above it is empty.
  func paths(bucket: String, at location: [FirebaseKey]) -> [[FirebaseKey]]? {
    switch self {
    case .many: return nil
    case .write(let effect):
      guard effect.bucket == bucket else { return [] }
      return effect.writes.compactMap { write in
        if location.starts(with: write.path) { return [] }
        return write.path.starts(with: location) ? Array(write.path.dropFirst(location.count)) : nil
      }
    case .rows(let rows):
      let (lower, upper) = (TreeKey.leaf(location), TreeKey.end(location))
      var paths: [[FirebaseKey]] = []
      for row in rows where row.bucket == bucket {
        let key = row.key.bytes
        guard !key.lexicographicallyPrecedes(lower), key.lexicographicallyPrecedes(upper) else {
          continue
        }
        guard let path = try? TreeKey.path(of: key, from: 1) else { return nil }
        paths.append(Array(path.keys.dropFirst(location.count)))
      }
      return paths
    }
  }

  fileprivate var byteCount: Int {
    switch self {
    case .write(let effect): effect.byteCount
    case .rows(let rows): rows.reduce(64) { $0 + $1.key.bytes.count + 64 }
    case .many: 64
    }
  }
}

/// The effects of the last commits.
final class RecentWrites: Sendable {
  fileprivate struct Entry {
    var effect: CommitEffect
    /// Whether the commit has been written. Until then its number may become another's.
    var isWritten: Bool
  }

  fileprivate struct State {
    var entries: [CommitNumber: Entry] = [:]
    var byteCount = 0

    mutating func remove(_ commit: CommitNumber) {
      if let entry = entries.removeValue(forKey: commit) { byteCount -= entry.effect.byteCount }
    }
  }

  private let state = Mutex(State())
  /// The most commits whose effects are kept, and the most bytes of their data.
  static let countLimit: CommitNumber = 1_024
  private static let byteLimit = 16 << 20
  /// The most rows of another program's commit that are noted.
  private static let rowLimit = 1_000

  /// Notes a write inside its transaction.
  func begin(_ effect: WriteEffect, as commit: CommitNumber) {
    add(.write(effect), as: commit, isWritten: false)
  }

  private func add(_ effect: CommitEffect, as commit: CommitNumber, isWritten: Bool) {
    state.withLock { state in
      state.remove(commit)
      guard effect.byteCount <= Self.byteLimit / 4 else { return }
      state.entries[commit] = Entry(effect: effect, isWritten: isWritten)
      state.byteCount += effect.byteCount
      while state.byteCount > Self.byteLimit || state.entries.count > Self.countLimit,
        let oldest = state.entries.keys.min()
      {
        state.remove(oldest)
      }
    }
  }

  /// Ends a write.
  ///
  /// - Parameter isWritten: Whether the commit exists.
  func end(_ commit: CommitNumber, isWritten: Bool) {
    state.withLock { state in
      guard state.entries[commit]?.isWritten == false else { return }
      if isWritten { state.entries[commit]?.isWritten = true } else { state.remove(commit) }
    }
  }

  /// Whether the write of a commit has begun and not ended.
  func isPending(_ commit: CommitNumber) -> Bool {
    state.withLock { $0.entries[commit]?.isWritten == false }
  }

  /// The effect of a visible commit, read from the log unless it is noted; nil while its write has
  /// not ended.
  func effect(of commit: CommitNumber, in store: Store) throws(TreeRingError) -> CommitEffect? {
    if let entry = state.withLock({ $0.entries[commit] }) {
      return entry.isWritten ? entry.effect : nil
    }
    var rows: [RowID] = []
    var effect: CommitEffect?
    for operation in try store.operations(of: commit).operations {
      guard case .row(let row, _) = operation, row.bucket.hasPrefix("rtdb") else { continue }
      rows.append(row)
      if rows.count > Self.rowLimit {
        effect = .many
        break
      }
    }
    add(effect ?? .rows(rows), as: commit, isWritten: true)
    return effect ?? .rows(rows)
  }
}
