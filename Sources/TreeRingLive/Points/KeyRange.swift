// The keys of a scan: a prefix and bounds.

package import TreeRing

/// The bounds of a scan.
package enum KeyRange {
  /// The keys from the first, inclusive, to the second, exclusive; nil is no bound.
  package static func bounds(prefix: Key?, from: Key?, to: Key?) -> (lower: Key?, upper: Key?) {
    var (lower, upper) = (from, to)
    if let prefix {
      lower = lower.map { max($0, prefix) } ?? prefix
      var after = prefix.bytes
      while after.last == 0xFF { after.removeLast() }
      if let last = after.popLast() {
        let end = Key(bytes: after + [last + 1])
        upper = upper.map { min($0, end) } ?? end
      }
    }
    if let low = lower, let high = upper, high < low { upper = low }
    return (lower, upper)
  }
}
