// Names of segment files: the first commit in twenty digits, the generation, ".lz4".

struct SegmentName: Hashable, Comparable, Sendable {
  var firstCommit: CommitNumber
  var generation: UInt32

  var fileName: String {
    let digits = String(firstCommit)
    let zeros = String(repeating: "0", count: 20 - digits.utf8.count)
    return "\(zeros)\(digits).\(generation)\(Format.segmentSuffix)"
  }

  static func < (a: SegmentName, b: SegmentName) -> Bool {
    (a.firstCommit, a.generation) < (b.firstCommit, b.generation)
  }
}

extension SegmentName {
  /// Parses a file name; nil if it is not a segment's.
  init?(fileName: String) {
    guard fileName.hasSuffix(Format.segmentSuffix) else { return nil }
    let parts = fileName.dropLast(Format.segmentSuffix.utf8.count).split(
      separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let first = UInt64(parts[0]), let generation = UInt32(parts[1]) else {
      return nil
    }
    self.init(firstCommit: first, generation: generation)
    guard self.fileName == fileName else { return nil }
  }

  /// The path of a segment with another suffix.
  static func path(_ path: String, with suffix: String) -> String {
    path.dropLast(Format.segmentSuffix.utf8.count) + suffix
  }
}

extension SegmentHeader {
  /// The name of its file.
  var name: SegmentName { SegmentName(firstCommit: firstCommit, generation: generation) }
}
