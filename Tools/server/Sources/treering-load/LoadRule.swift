// The rule by which the load test writes: a commit's number alone decides its row and its effect.
// So a writer that was killed continues by the rule, and a reader knows the rows of each group at
// each commit without asking anybody.

import TreeRing

/// The rows of all groups, commit by commit.
struct LoadRule {
  /// A row's place, and the commit that wrote it.
  struct Row: Equatable {
    var group: Int
    var order: Int
    var commit: UInt64

    /// A number that stands for the row's key and content in sums.
    func digest(of key: Int) -> UInt64 {
      var hash = UInt64(key) &* 0x9E37_79B9_7F4A_7C15
      for part in [UInt64(group), UInt64(order), commit] {
        hash = (hash ^ part) &* 0xBF58_476D_1CE4_E5B9
        hash ^= hash >> 29
      }
      return hash
    }
  }

  static let groups = 100
  static let rowCount = 5_000
  /// The last commit before those of the rule.
  let base: UInt64
  /// The row of each key; nil for one that is deleted.
  private(set) var rows: [Row?]
  /// The commit of this state.
  private(set) var commit: UInt64

  /// The state after `LoadRow.fill`.
  init(base: UInt64) {
    self.base = base
    commit = base
    rows = (0..<Self.rowCount).map { Row(group: $0 % Self.groups, order: $0, commit: 0) }
  }

  /// Goes on to the next commit. Returns its key, with the row before and after it.
  mutating func advance() -> (key: Int, before: Row?, after: Row?) {
    commit += 1
    let key = Int(commit * 7919 % UInt64(Self.rowCount))
    var hash = commit &* 0x9E37_79B9_7F4A_7C15
    hash ^= hash >> 31
    let before = rows[key]
    // Orders are few, so some rows are equal in it and follow each other by key.
    let order = Int(hash % 1000)
    let group = before?.group ?? key % Self.groups
    let after: Row? =
      switch hash >> 40 & 7 {
      case 0 where before != nil: nil
      case 1: Row(group: (group + 1) % Self.groups, order: order, commit: commit)
      default: Row(group: group, order: order, commit: commit)
      }
    rows[key] = after
    return (key, before, after)
  }

  /// Writes the next commit of a store whose newest one is this state's.
  mutating func write(to store: Store) throws {
    let (key, _, after) = advance()
    try store.write { tx in
      if let after {
        let row = LoadRow.row(after.group, after.order, turn: Int(after.commit))
        try tx.put(row, for: LoadRow.key(key), in: LoadRow.bucket)
      } else {
        try tx.delete(LoadRow.key(key), in: LoadRow.bucket)
      }
    }
  }
}

/// The rows that a group must have at any commit, as a number of rows and a sum of their digests.
/// Used on one event loop.
final class LoadHistory: @unchecked Sendable {
  struct Summary: Equatable {
    var count = 0
    var digest: UInt64 = 0
  }

  private var rule: LoadRule
  /// The summaries of each group, after each commit that affects it.
  private var summaries: [[(commit: UInt64, summary: Summary)]]

  init(base: UInt64) {
    rule = LoadRule(base: base)
    var first = [Summary](repeating: Summary(), count: LoadRule.groups)
    for (key, row) in rule.rows.enumerated() {
      guard let row else { continue }
      first[row.group].count += 1
      first[row.group].digest &+= row.digest(of: key)
    }
    summaries = first.map { [(base, $0)] }
  }

  /// The summary of a group at a commit. O(log n), and O(1) for each commit that nobody asked for
  /// before.
  func summary(of group: Int, at commit: UInt64) -> Summary {
    while rule.commit < commit { advance() }
    var (low, high) = (0, summaries[group].count)
    while low < high {
      let middle = (low + high) / 2
      if summaries[group][middle].commit <= commit { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? Summary() : summaries[group][low - 1].summary
  }

  private func advance() {
    let (key, before, after) = rule.advance()
    var changed: [Int: Summary] = [:]
    func change(_ row: LoadRule.Row?, _ count: Int) {
      guard let row else { return }
      var summary = changed[row.group] ?? summaries[row.group].last?.summary ?? Summary()
      summary.count += count
      let digest = row.digest(of: key)
      summary.digest = count > 0 ? summary.digest &+ digest : summary.digest &- digest
      changed[row.group] = summary
    }
    change(before, -1)
    change(after, 1)
    for (group, summary) in changed { summaries[group].append((rule.commit, summary)) }
  }
}
