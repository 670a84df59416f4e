// The front of a chunk: the pairs of frequency and length that bound the scores of its postings. A
// score grows with the frequency and falls with the length, so a pair covers all postings that have
// no greater frequency and no lesser length.

/// A frequency and a length: those of a posting, or better ones.
struct PostingImpact: Hashable {
  var frequency: UInt64
  var length: UInt64
}

/// The best pairs of some postings, in ascending order of both numbers.
struct PostingFront {
  private(set) var pairs: [PostingImpact] = []

  init() {}

  /// The front of postings whose occurrences are ranges of `bytes`. O(postings · pairs).
  init(
    _ postings: UnsafeBufferPointer<Posting>, _ bytes: UnsafeRawBufferPointer,
    _ format: PostingFormat
  ) {
    for posting in postings {
      let occurrences = UnsafeRawBufferPointer(rebasing: bytes[posting.occurrences])
      add(
        PostingImpact(
          frequency: format.frequency(of: occurrences, isSingle: posting.isSingle),
          length: posting.length))
    }
  }

  /// Adds a pair, unless another one covers it; removes those that it covers. O(pairs).
  @inline(__always)
  mutating func add(_ new: PostingImpact) {
    var index = 0
    while index < pairs.count, pairs[index].length < new.length {
      if pairs[index].frequency >= new.frequency { return }
      index += 1
    }
    if index < pairs.count, pairs[index].length == new.length,
      pairs[index].frequency >= new.frequency
    {
      return
    }
    var end = index
    while end < pairs.count, pairs[end].frequency <= new.frequency { end += 1 }
    pairs.replaceSubrange(index..<end, with: CollectionOfOne(new))
  }

  /// Appends the pairs, at most `PostingFormat.frontPairCount`: of more, neighbours are joined.
  mutating func encode(least: UInt64, into output: inout [UInt8]) {
    while pairs.count > PostingFormat.frontPairCount {
      var best = 1
      for index in 1..<pairs.count where gap(before: index) < gap(before: best) { best = index }
      pairs[best].length = pairs[best - 1].length
      pairs.remove(at: best - 1)
    }
    output.append(integer: UInt64(pairs.count))
    var last = PostingImpact(frequency: 0, length: least)
    for pair in pairs {
      output.append(integer: pair.frequency &- last.frequency)
      output.append(integer: pair.length &- last.length)
      last = pair
    }
  }

  /// The loss if a pair and the one before it are joined.
  private func gap(before index: Int) -> UInt64 {
    (pairs[index].frequency &- pairs[index - 1].frequency)
      &* (pairs[index].length &- pairs[index - 1].length)
  }
}
