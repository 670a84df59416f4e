// A hash table whose copies share nearly everything.

/// A map. A copy takes O(1); a change copies a bucket of a few entries and the path to it.
struct SharedTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private typealias Entry = (key: Key, value: Value)

  private var buckets = SharedArray<[Entry]>([[]])
  private(set) var count = 0
  /// The mean number of entries of a bucket from which there are more buckets.
  private static var load: Int { 4 }

  init() {}

  /// The value of a key; nil removes the entry. O(1), and sometimes O(n) for a new key.
  subscript(key: Key) -> Value? {
    get { buckets[bucket(of: key)].first { $0.key == key }?.value }
    set {
      let bucket = bucket(of: key)
      let place = buckets[bucket].firstIndex { $0.key == key }
      switch (place, newValue) {
      case (let place?, let value?): buckets[bucket][place].value = value
      case (let place?, nil):
        buckets[bucket].remove(at: place)
        count -= 1
      case (nil, let value?):
        buckets[bucket].append((key, value))
        count += 1
        if count > buckets.count * Self.load { grow() }
      case (nil, nil): break
      }
    }
  }

  /// The keys, in no order.
  var keys: some Sequence<Key> { buckets.lazy.joined().map(\.key) }

  private func bucket(of key: Key) -> Int { key.hashValue & (buckets.count - 1) }

  private mutating func grow() {
    var larger = [[Entry]](repeating: [], count: buckets.count * 4)
    for entry in buckets.joined() {
      larger[entry.key.hashValue & (larger.count - 1)].append(entry)
    }
    buckets = SharedArray(larger)
  }
}
