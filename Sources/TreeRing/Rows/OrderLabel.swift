// Order labels: byte strings, between any two of which another label fits.
//
// A label is a fraction in base 255. Its digits are bytes 1 to 255, and 1 stands for zero. The last
// digit is never 1, so that a label fits before every label. Labels are ordered byte by byte. In
// sort keys a zero byte ends a label, so that none is a proper prefix of another there.
//
//   · A label between two others is the shortest one near the middle. It is one digit longer for
//     every eight labels inserted into the same gap.
//   · Labels before the first and after the last one count with three digits. So sixteen million
//     rows can be appended or prepended before a label grows by four digits.

internal import TreeRingLog

/// Creates order labels.
enum OrderLabel {
  /// The maximum length of a new label, in bytes. Instead of a longer one, nearby rows get new
  /// labels.
  static let byteLimit = 64
  /// The maximum length of a stored label, in bytes. A longer one is damage.
  static let storedByteLimit = 255

  /// The number of digits that form one counter block at either end.
  private static let block = 4
  private static let (lowest, highest, middle): (UInt8, UInt8, UInt8) = (1, 255, 128)

  /// The label of a group's first row.
  static let first: [UInt8] = [middle, lowest, lowest, middle]

  /// Whether bytes from a file or a user are a valid label.
  static func isSound(_ label: some BidirectionalCollection<UInt8>) -> Bool {
    guard let last = label.last, last > lowest, label.count <= storedByteLimit else { return false }
    return !label.contains(0)
  }

  /// The label as a sort key.
  static func sortKey(_ label: some Collection<UInt8>) -> [UInt8] { Array(label) + [0] }

  /// A label between two neighbours; a nil neighbour is absent. Nil if there is no room, because
  /// theirs are equal.
  static func between(_ lower: [UInt8]?, _ upper: [UInt8]?) -> [UInt8]? {
    switch (lower, upper) {
    case (nil, nil): first
    case (let lower?, nil): counted(lower, isUp: true)
    case (nil, let upper?): counted(upper, isUp: false) ?? halfway([], upper)
    case (let lower?, let upper?): halfway(lower, upper)
    }
  }

  /// Labels for consecutive rows between two neighbours, all of them short; a nil neighbour is
  /// absent. Nil if there is no room.
  static func spread(_ count: Int, between lower: [UInt8]?, _ upper: [UInt8]?) -> [[UInt8]]? {
    var labels: [[UInt8]] = []
    labels.reserveCapacity(count)
    guard append(count, lower ?? [], upper, to: &labels) else { return nil }
    return labels
  }

  /// Labels for all rows of a group in their order. As many rows as possible keep their old labels.
  /// O(n log n).
  static func keeping(_ old: [[UInt8]?]) -> [[UInt8]] {
    var labels: [[UInt8]] = []
    labels.reserveCapacity(old.count)
    for kept in longestIncreasing(old) + [old.count] {
      let upper = kept < old.count ? old[kept] : nil
      guard let fresh = spread(kept - labels.count, between: labels.last, upper),
        fresh.allSatisfy({ $0.count <= byteLimit })
      else { return spread(old.count, between: nil, nil) ?? [] }
      labels += fresh
      if let upper { labels.append(upper) }
    }
    return labels
  }

  /// The indexes of the longest increasing subsequence of labels.
  private static func longestIncreasing(_ labels: [[UInt8]?]) -> [Int] {
    // `ends`: for each length of a subsequence, the index of the lowest label that ends one.
    // `previous`: the index before each one in its subsequence.
    var ends: [Int] = []
    var previous: [Int] = Array(repeating: -1, count: labels.count)
    for (index, label) in labels.enumerated() {
      guard let label else { continue }
      let length = ends.partitioningIndex {
        !(labels[$0]?.lexicographicallyPrecedes(label) ?? false)
      }
      if length > 0 { previous[index] = ends[length - 1] }
      if length < ends.count { ends[length] = index } else { ends.append(index) }
    }
    var run: [Int] = []
    var next = ends.last ?? -1
    while next >= 0 {
      run.append(next)
      next = previous[next]
    }
    return run.reversed()
  }

  private static func append(
    _ count: Int, _ lower: [UInt8], _ upper: [UInt8]?, to labels: inout [[UInt8]]
  ) -> Bool {
    if count == 0 { return true }
    guard let label = halfway(lower, upper) else { return false }
    guard append(count / 2, lower, label, to: &labels) else { return false }
    labels.append(label)
    return append(count - count / 2 - 1, label, upper, to: &labels)
  }

  /// The shortest label near the middle. An empty `lower` lies before all labels, a nil `upper`
  /// after them.
  private static func halfway(_ lower: [UInt8], _ upper: [UInt8]?) -> [UInt8]? {
    if let upper, !lower.lexicographicallyPrecedes(upper) { return nil }
    var label: [UInt8] = []
    // Nil once the digits so far are below those of `upper`.
    var bound = upper
    while true {
      let index = label.count
      let low = Int(index < lower.count ? lower[index] : lowest)
      let high = bound.map { Int(index < $0.count ? $0[index] : lowest) } ?? Int(highest) + 1
      if high - low >= 2 {
        label.append(UInt8(truncatingIfNeeded: (low + high) / 2))
        return label
      }
      label.append(UInt8(truncatingIfNeeded: low))
      if high > low { bound = nil }
    }
  }

  /// Increments the counter of the first block that is not at its maximum, or decrements that of
  /// the first block that is not at its minimum; nil if there is none. Upwards there is always one:
  /// at the latest the first block beyond the label, which is at its minimum.
  private static func counted(_ label: [UInt8], isUp: Bool) -> [UInt8]? {
    for start in stride(from: 0, through: label.count + block, by: block) {
      var next = padded(label, start + block)
      for index in (start..<start + block - 1).reversed() {
        if isUp ? next[index] < highest : next[index] > lowest {
          next[index] = isUp ? next[index] + 1 : next[index] - 1
          next[start + block - 1] = middle
          return next
        }
        next[index] = isUp ? lowest : highest
      }
    }
    return nil
  }

  private static func padded(_ label: [UInt8], _ count: Int) -> [UInt8] {
    let head = label.prefix(count)
    return head + Array(repeating: lowest, count: count - head.count)
  }
}
