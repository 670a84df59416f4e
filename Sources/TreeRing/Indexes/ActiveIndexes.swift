// The prepared definitions that maintain the indexes of a state. Commits share one value until a
// definition changes, so an index costs nothing to a commit that does not affect it.

internal import TreeRingLog
internal import TreeRingPlatform

/// The definitions of the indexes that a state maintains, ready for use.
struct ActiveIndexes: Sendable {
  private struct Content {
    var byNumber: [UInt32: ActiveIndex] = [:]
    /// The definitions over each bucket, by its name, in the order of their numbers.
    var byBucket: [StoreName: [ActiveIndex]] = [:]
    /// The references to rows of each bucket, by its name, in the order of their numbers.
    var byTarget: [StoreName: [ActiveIndex]] = [:]
    var expiring: [ActiveIndex] = []
    var comparing: Set<UInt32> = []
    var isComplete = false
  }
  // Sendable: changed only while a single value refers to it. A single reference, because every
  // commit copies it a few times.
  private final class Storage: @unchecked Sendable {
    @exclusivity(unchecked) var content: Content
    init(_ content: Content) { self.content = content }
  }
  private var storage: Storage
  private static let none = Storage(Content())

  init(_ indexes: [ActiveIndex] = []) {
    storage = Self.none
    for index in indexes { insert(index) }
  }

  private mutating func change(_ body: (inout Content) -> Void) {
    if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.content) }
    body(&storage.content)
  }

  /// The numbers of the definitions that compare rows.
  var comparing: Set<UInt32> { storage.content.comparing }

  /// The definitions by which rows vanish, in the order of their numbers.
  var expiring: [ActiveIndex] { storage.content.expiring }

  /// Whether every definition in force that can be evaluated here is included; false if not checked
  /// yet.
  var isComplete: Bool {
    get { storage.content.isComplete }
    set { change { $0.isComplete = newValue } }
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
  var count: Int { storage.content.byNumber.count }

  /// The definition of this number. O(1).
  subscript(number: UInt32) -> ActiveIndex? { storage.content.byNumber[number] }

  /// The definitions that cover a bucket, in the order of their numbers. O(1).
  func covering(_ bucket: String) -> [ActiveIndex] {
    if storage.content.byBucket.isEmpty { return [] }
    return storage.content.byBucket[StoreName(bucket)] ?? []
  }

  /// The references to rows of a bucket, in the order of their numbers. O(1).
  func referring(to bucket: String) -> [ActiveIndex] {
    if storage.content.byTarget.isEmpty { return [] }
    return storage.content.byTarget[StoreName(bucket)] ?? []
  }

  /// The numbers of the definitions for which `isWanted` returns true. O(n).
  func numbers(where isWanted: (ActiveIndex) -> Bool) -> [UInt32] {
    storage.content.byNumber.values.filter(isWanted).map(\.number)
  }

  /// Adds a definition. O(definitions over its buckets).
  mutating func insert(_ index: ActiveIndex) {
    change { content in
      content.byNumber[index.number] = index
      if index.comparison != nil { content.comparing.insert(index.number) }
      if index.isExpiry { content.expiring.insertInOrder(index) }
      if let reference = index.reference {
        content.byTarget[StoreName(reference.target), default: []].insertInOrder(index)
      }
      for bucket in Set(index.buckets.names) {
        content.byBucket[bucket, default: []].insertInOrder(index)
      }
    }
  }

  /// Removes a definition. O(definitions over its buckets).
  mutating func remove(_ number: UInt32) {
    guard let index = self[number] else { return }
    change { content in
      content.byNumber[number] = nil
      content.comparing.remove(number)
      if index.isExpiry { content.expiring.removeAll { $0.number == number } }
      if let reference = index.reference {
        content.byTarget.remove(number, from: StoreName(reference.target))
      }
      for bucket in Set(index.buckets.names) { content.byBucket.remove(number, from: bucket) }
    }
  }
}

extension [ActiveIndex] {
  /// Inserts a definition before those with higher numbers.
  fileprivate mutating func insertInOrder(_ index: ActiveIndex) {
    insert(index, at: firstIndex { $0.number > index.number } ?? count)
  }
}

extension [StoreName: [ActiveIndex]] {
  /// Removes a definition from those of a bucket.
  fileprivate mutating func remove(_ number: UInt32, from bucket: StoreName) {
    self[bucket]?.removeAll { $0.number == number }
    if self[bucket]?.isEmpty == true { self[bucket] = nil }
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

  /// The present edition, and the definitions of a version if they are kept.
  func known(
    for version: Version
  ) -> (edition: Edition, indexes: ActiveIndexes?) {
    state.withLock { ($0.edition, $0.version == version.identity ? $0.indexes : nil) }
  }

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
