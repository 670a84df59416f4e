// A cache of frame offsets and indexes of value tables, so that a lookup need not walk over the
// same headers or check the same large table again. All of it comes from checked headers. A key
// contains the salt and generation of the segment, so no lookup finds entries of a segment that was
// rewritten since; these are evicted in time.

internal import TreeRingPlatform

/// Offsets of frames and value tables. Shared by all readers of one log.
final class FrameCache: Sendable {
  /// The commits of one directory stride walked so far; always the first ones of the stride.
  struct Stride: Sendable {
    private struct Frame: Sendable {
      var commit: UInt32
      var offset: UInt32
    }
    let start: SegmentDirectory.Entry
    private var frames: [Frame] = []
    /// The offset after the last of them, at which the next frame begins.
    private var end: UInt64

    init(from start: SegmentDirectory.Entry) {
      self.start = start
      end = start.offset
    }

    var count: Int { frames.count }

    /// Records the next commit. Ignores a commit too far after the first one for 32-bit distances,
    /// and one before the first, as after a wrong directory entry.
    mutating func append(_ commit: CommitNumber, at range: Range<UInt64>) {
      guard commit >= start.commit, range.lowerBound >= start.offset,
        let commit = UInt32(exactly: commit - start.commit),
        let offset = UInt32(exactly: range.lowerBound - start.offset)
      else { return }
      if let last = frames.last, last.commit >= commit { return }
      frames.append(Frame(commit: commit, offset: offset))
      end = range.upperBound
    }

    /// The offset at which the walk to a commit of this stride begins: its frame if known,
    /// otherwise a frame before it.
    func offset(toward number: CommitNumber) -> UInt64 {
      guard let last = frames.last, number <= start.commit + UInt64(last.commit) else {
        return end
      }
      let later = frames.partitioningIndex { start.commit + UInt64($0.commit) > number }
      return start.offset + UInt64(frames[..<later].last?.offset ?? 0)
    }

    var byteCount: Int {
      MemoryLayout<Self>.size + frames.count * MemoryLayout<Frame>.stride
    }
  }

  /// The value table of a commit.
  struct Values: Sendable {
    /// The offset of the commit's frame in its segment.
    var frameOffset: UInt64
    var table: ValueTable
  }

  private struct Key: Hashable, Sendable {
    var salt: UInt64
    var generation: UInt32
    var commit: CommitNumber

    init(_ segment: SegmentHeader, _ commit: CommitNumber) {
      (salt, generation) = (segment.salt, segment.generation)
      self.commit = commit
    }
  }

  private struct State: Sendable {
    var strides: AgingCache<Key, Stride>
    var values: AgingCache<Key, Values>
  }
  private let state: Mutex<State>
  /// The overhead of an entry in bytes.
  private static let entryByteCount = 96

  /// - Parameter byteCount: the approximate limit of the cache in bytes.
  init(byteCount: Int) {
    state = Mutex(
      State(
        strides: AgingCache(limit: byteCount / 2), values: AgingCache(limit: byteCount / 2)))
  }

  /// The known part of the stride that begins at a directory entry.
  func stride(from start: SegmentDirectory.Entry, in segment: SegmentHeader) -> Stride {
    state.withLock { $0.strides.find(Key(segment, start.commit)) } ?? Stride(from: start)
  }

  /// Caches a stride, unless a longer part of it is cached already.
  func keep(_ stride: Stride, in segment: SegmentHeader) {
    let key = Key(segment, stride.start.commit)
    state.withLock { state in
      if let known = state.strides.find(key), known.count >= stride.count { return }
      state.strides.set(stride, cost: stride.byteCount + Self.entryByteCount, for: key)
    }
  }

  /// The value table of a commit, if cached.
  func values(of commit: CommitNumber, in segment: SegmentHeader) -> Values? {
    state.withLock { $0.values.find(Key(segment, commit)) }
  }

  /// Caches the value table of a commit.
  func keep(_ values: Values, of commit: CommitNumber, in segment: SegmentHeader) {
    state.withLock {
      $0.values.set(
        values, cost: values.table.byteCount + Self.entryByteCount,
        for: Key(segment, commit))
    }
  }

  /// The approximate memory use in bytes.
  var byteCount: Int { state.withLock { $0.strides.cost + $0.values.cost } }
}
