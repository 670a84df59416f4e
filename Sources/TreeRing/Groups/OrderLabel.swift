// Labels that keep an order without knowing it: bytes between which there is always room for more.
//
// A label is a fraction in base 255. Its digits are bytes 1 to 255, 1 standing for zero, and the last
// digit is never 1, so that something fits before every label. Order is that of the bytes. In sort
// keys a zero byte ends a label, so that none is a proper prefix of another there.
//
//   · Between two labels goes the shortest one near the middle: one digit longer for every eight
//     labels put into the same gap.
//   · Behind the last and before the first one a counter of three digits goes on, so that sixteen
//     million rows are appended or prepended before a label grows, by four digits.

internal import TreeRingLog

/// Makes order labels.
enum OrderLabel {
  /// A longer label is not given out; rows around it get new ones instead.
  static let byteLimit = 64
  /// A longer label that is read is damage.
  static let storedByteLimit = 255

  /// Digits counted together at either end.
  private static let block = 4
  private static let (lowest, highest, middle): (UInt8, UInt8, UInt8) = (1, 255, 128)

  /// The label of a group's first row.
  static let first: [UInt8] = [middle, lowest, lowest, middle]

  /// Whether bytes from a file or a user are a label.
  static func isSound(_ label: some BidirectionalCollection<UInt8>) -> Bool {
    guard let last = label.last, last > lowest, label.count <= storedByteLimit else { return false }
    return !label.contains(0)
  }

  /// The label as a sort key.
  static func sortKey(_ label: some Collection<UInt8>) -> [UInt8] { Array(label) + [0] }

  /// A label between two neighbours, nil being none; nil if there is no room, because theirs are
  /// equal.
  static func between(_ lower: [UInt8]?, _ upper: [UInt8]?) -> [UInt8]? {
    switch (lower, upper) {
    case (nil, nil): first
    case (let lower?, nil): after(lower)
    case (nil, let upper?): before(upper)
    case (let lower?, let upper?): halfway(lower, upper)
    }
  }

  /// Labels for rows in a row between two neighbours, nil being none, all of them short; nil if
  /// there is no room.
  static func spread(_ count: Int, between lower: [UInt8]?, _ upper: [UInt8]?) -> [[UInt8]]? {
    var labels: [[UInt8]] = []
    labels.reserveCapacity(count)
    guard append(count, lower ?? [], upper, to: &labels) else { return nil }
    return labels
  }

  /// Labels for all rows of a group in their order, of which as many as can keep the ones they have.
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

  /// The indexes of the longest run of labels, gaps allowed, each above the one before.
  private static func longestIncreasing(_ labels: [[UInt8]?]) -> [Int] {
    // By length of a run, the index of the lowest label that ends one; and what comes before each.
    var ends: [Int] = []
    var previous: [Int] = Array(repeating: -1, count: labels.count)
    for (index, label) in labels.enumerated() {
      guard let label else { continue }
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if labels[ends[middle]]?.lexicographicallyPrecedes(label) ?? false {
          low = middle + 1
        } else {
          high = middle
        }
      }
      if low > 0 { previous[index] = ends[low - 1] }
      if low < ends.count { ends[low] = index } else { ends.append(index) }
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

  /// The shortest label near the middle. An empty `lower` is before everything, a nil `upper` behind.
  private static func halfway(_ lower: [UInt8], _ upper: [UInt8]?) -> [UInt8]? {
    if let upper, !lower.lexicographicallyPrecedes(upper) { return nil }
    var label: [UInt8] = []
    // nil once the digits so far are below those of `upper`.
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

  /// The counter of the first block that is not at its end, raised by one.
  private static func after(_ lower: [UInt8]) -> [UInt8] {
    var start = 0
    while true {
      var label = padded(lower, start + block)
      for index in (start..<start + block - 1).reversed() {
        if label[index] < highest {
          label[index] += 1
          label[start + block - 1] = middle
          return label
        }
        label[index] = lowest
      }
      start += block
    }
  }

  /// The counter of the first block that is not at its beginning, lowered by one.
  private static func before(_ upper: [UInt8]) -> [UInt8]? {
    var start = 0
    while start < upper.count {
      var label = padded(upper, start + block)
      for index in (start..<start + block - 1).reversed() {
        if label[index] > lowest {
          label[index] -= 1
          label[start + block - 1] = middle
          return label
        }
        label[index] = highest
      }
      start += block
    }
    return halfway([], upper)
  }

  private static func padded(_ label: [UInt8], _ count: Int) -> [UInt8] {
    let head = label.prefix(count)
    return head + Array(repeating: lowest, count: count - head.count)
  }
}
