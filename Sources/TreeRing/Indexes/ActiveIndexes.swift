// The prepared definitions that maintain the indexes of a state. Commits share one value until a
// definition changes, so an index costs nothing to a commit that does not affect it.

internal import TreeRingLog

/// The definitions of the indexes that a state maintains, ready for use.
struct ActiveIndexes: Sendable {
  private var byNumber: [UInt32: ActiveIndex] = [:]
  /// The definitions over each bucket, by its name, in the order of their numbers.
  private var byBucket: [StoreName: [ActiveIndex]] = [:]
  /// The numbers of the definitions that compare rows.
  private(set) var comparing: Set<UInt32> = []
  /// Whether every definition in force that can be evaluated here is included; false if not checked
  /// yet.
  var isComplete = false

  init(_ indexes: [ActiveIndex] = []) {
    for index in indexes { insert(index) }
  }

  /// The number of definitions.
  var count: Int { byNumber.count }

  /// The definition of this number. O(1).
  subscript(number: UInt32) -> ActiveIndex? { byNumber[number] }

  /// The definitions that cover a bucket, in the order of their numbers. O(1).
  func covering(_ bucket: String) -> [ActiveIndex] { byBucket[StoreName(bucket)] ?? [] }

  /// The numbers of the definitions for which `isWanted` returns true. O(n).
  func numbers(where isWanted: (ActiveIndex) -> Bool) -> [UInt32] {
    byNumber.values.filter(isWanted).map(\.number)
  }

  /// Adds a definition. O(definitions over its buckets).
  mutating func insert(_ index: ActiveIndex) {
    byNumber[index.number] = index
    if index.comparison != nil { comparing.insert(index.number) }
    for bucket in Set(index.buckets.names) {
      let position = byBucket[bucket]?.firstIndex { $0.number > index.number }
      byBucket[bucket, default: []].insert(index, at: position ?? byBucket[bucket]?.count ?? 0)
    }
  }

  /// Removes a definition. O(definitions over its buckets).
  mutating func remove(_ number: UInt32) {
    guard let index = byNumber.removeValue(forKey: number) else { return }
    comparing.remove(number)
    for bucket in Set(index.buckets.names) {
      byBucket[bucket]?.removeAll { $0.number == number }
      if byBucket[bucket]?.isEmpty == true { byBucket[bucket] = nil }
    }
  }
}
