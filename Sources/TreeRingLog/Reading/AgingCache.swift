// A map of bounded size that evicts entries not used lately. It has two halves. Entries enter the
// younger half. When that is full, it becomes the older half, and the entries of the previous older
// half are evicted. A lookup moves an entry of the older half to the younger one. Every call is
// O(1).

/// A bounded map. Not synchronized: the owner guards it.
struct AgingCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Half: Sendable {
    var entries: [Key: (value: Value, cost: Int)] = [:]
    var cost = 0
  }
  private var young = Half()
  private var old = Half()
  private let limit: Int

  /// - Parameter limit: the maximum sum of the entries' costs.
  init(limit: Int) { self.limit = limit }

  /// The sum of the entries' costs.
  var cost: Int { young.cost + old.cost }

  /// The value of a key. Counts as a use of it.
  mutating func find(_ key: Key) -> Value? {
    if let found = young.entries[key] { return found.value }
    guard let found = old.entries.removeValue(forKey: key) else { return nil }
    old.cost -= found.cost
    insert(found.value, cost: found.cost, for: key)
    return found.value
  }

  /// Sets the value of a key. A value that costs more than half the limit is not kept.
  mutating func set(_ value: Value, cost: Int, for key: Key) {
    if let known = young.entries.removeValue(forKey: key) { young.cost -= known.cost }
    if let known = old.entries.removeValue(forKey: key) { old.cost -= known.cost }
    insert(value, cost: cost, for: key)
  }

  private mutating func insert(_ value: Value, cost: Int, for key: Key) {
    if cost > limit / 2 { return }
    if young.cost + cost > limit / 2 {
      old = young
      young = Half()
    }
    young.entries[key] = (value, cost)
    young.cost += cost
  }
}
