// The prepared definitions that maintain the indexes of a state. Commits share one value until a
// definition changes, so an index costs nothing to a commit that does not affect it.

internal import TreeRingLog
internal import TreeRingPlatform

/// The definitions of the indexes that a state maintains, ready for use.
struct ActiveIndexes: Sendable {
  private var byNumber: [UInt32: ActiveIndex] = [:]
  /// The definitions over each bucket, by its name, in the order of their numbers.
  private var byBucket: [StoreName: [ActiveIndex]] = [:]
  /// The numbers of the definitions that compare rows.
  private(set) var comparing: Set<UInt32> = []
  /// The references to rows of each bucket, by its name, in the order of their numbers.
  private var byTarget: [StoreName: [ActiveIndex]] = [:]
  /// The definitions by which rows vanish, in the order of their numbers.
  private(set) var expiring: [ActiveIndex] = []
  /// Whether every definition in force that can be evaluated here is included; false if not checked
  /// yet.
  var isComplete = false

  init(_ indexes: [ActiveIndex] = []) {
    for index in indexes { insert(index) }
  }

  /// Creates the definitions of some index trees, except those in no catalog, or with a closure
  /// that is not among `code`. O(n).
  ///
  /// - Parameters:
  ///   - catalogs: The catalogs to search, in this order.
  ///   - known: Definitions that are ready already.
  init(
    _ trees: IndexTrees, of catalogs: [Catalog], code: [CodeIndex],
    known: ActiveIndexes = ActiveIndexes()
  ) throws(TreeRingError) {
    self.init()
    var records: [UInt32: IndexRecord] = [:]
    for record in catalogs.flatMap(\.indexes.values) where records[record.number] == nil {
      records[record.number] = record
    }
    for roots in trees.all {
      if let index = known[roots.number] {
        insert(index)
      } else if let index = try records[roots.number]?.active(code: code) {
        insert(index)
      }
    }
  }

  /// The number of definitions.
  var count: Int { byNumber.count }

  /// The definition of this number. O(1).
  subscript(number: UInt32) -> ActiveIndex? { byNumber[number] }

  /// The definitions that cover a bucket, in the order of their numbers. O(1).
  func covering(_ bucket: String) -> [ActiveIndex] {
    byBucket.isEmpty ? [] : byBucket[StoreName(bucket)] ?? []
  }

  /// The references to rows of a bucket, in the order of their numbers. O(1).
  func referring(to bucket: String) -> [ActiveIndex] {
    byTarget.isEmpty ? [] : byTarget[StoreName(bucket)] ?? []
  }

  /// The numbers of the definitions for which `isWanted` returns true. O(n).
  func numbers(where isWanted: (ActiveIndex) -> Bool) -> [UInt32] {
    byNumber.values.filter(isWanted).map(\.number)
  }

  /// Adds a definition. O(definitions over its buckets).
  mutating func insert(_ index: ActiveIndex) {
    byNumber[index.number] = index
    if index.comparison != nil { comparing.insert(index.number) }
    if index.isExpiry {
      expiring.insert(
        index, at: expiring.firstIndex { $0.number > index.number } ?? expiring.count)
    }
    if let reference = index.reference {
      let target = StoreName(reference.target)
      let position = byTarget[target]?.firstIndex { $0.number > index.number }
      byTarget[target, default: []].insert(index, at: position ?? byTarget[target]?.count ?? 0)
    }
    for bucket in Set(index.buckets.names) {
      let position = byBucket[bucket]?.firstIndex { $0.number > index.number }
      byBucket[bucket, default: []].insert(index, at: position ?? byBucket[bucket]?.count ?? 0)
    }
  }

  /// Removes a definition. O(definitions over its buckets).
  mutating func remove(_ number: UInt32) {
    guard let index = byNumber.removeValue(forKey: number) else { return }
    comparing.remove(number)
    if index.isExpiry { expiring.removeAll { $0.number == number } }
    if let reference = index.reference {
      let target = StoreName(reference.target)
      byTarget[target]?.removeAll { $0.number == number }
      if byTarget[target]?.isEmpty == true { byTarget[target] = nil }
    }
    for bucket in Set(index.buckets.names) {
      byBucket[bucket]?.removeAll { $0.number == number }
      if byBucket[bucket]?.isEmpty == true { byBucket[bucket] = nil }
    }
  }
}

/// The definitions that maintain the indexes of the newest version.
final class ActiveIndexCache: Sendable {
  private struct State {
    var edition: Edition = 0
    /// The identity of the version of these definitions.
    var version: UInt64?
    var indexes = ActiveIndexes()
  }

  /// The number of changes of the registered closures so far.
  typealias Edition = UInt64

  private let state = Mutex(State())

  /// The present edition, which every `clear` changes. Read it before the closures.
  var edition: Edition { state.withLock { $0.edition } }

  /// Returns the definitions of a version's index trees, except those whose closure is not
  /// registered; the caller must drop their trees. O(1) for the last kept version, else O(n).
  func active(
    for version: Version, code: [CodeIndex]
  ) throws(TreeRingError) -> ActiveIndexes {
    let (known, isSame) = state.withLock { ($0.indexes, $0.version == version.identity) }
    if isSame { return known }
    return try ActiveIndexes(
      version.roots.indexes, of: [version.catalog], code: code, known: known)
  }

  /// Keeps the definitions of a version for the next commit, unless closures have changed since
  /// `edition` was read.
  func keep(_ indexes: ActiveIndexes, of version: Version, _ edition: Edition) {
    let dropped = state.withLock { state -> ActiveIndexes? in
      guard state.edition == edition else { return nil }
      defer { (state.indexes, state.version) = (indexes, version.identity) }
      return state.indexes
    }
    // Released here, outside the lock, because closures may retain objects whose `deinit` uses the
    // store.
    withExtendedLifetime(dropped) {}
  }

  /// Drops all definitions, because closures have changed or numbers may be reused.
  func clear() {
    let dropped = state.withLock { state in
      defer { state = State(edition: state.edition + 1) }
      return state.indexes
    }
    withExtendedLifetime(dropped) {}
  }
}
