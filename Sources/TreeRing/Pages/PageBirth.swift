// When a page was made, in one word. A page in the file proves itself by its number and its birth, so no
// two contents may ever be written under the same pair: were the later write lost, the earlier page would
// pass for it. A commit's number alone does not suffice for pages that a transaction writes early. It may
// go on to change them, or fail, and then another transaction makes a commit of the same number. So the
// birth counts those writes too.

package import TreeRingLog

/// The commit whose transaction made a page, and its edition.
///
/// The lower 48 bits are the commit, the upper 16 the edition: how often pages of that commit had been
/// written early when the page was made or last changed. 0 for nearly all pages.
package struct PageBirth: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral {
  /// The word in the page and in the entry that names it.
  package let rawValue: UInt64

  @inline(__always)
  package init(rawValue: UInt64) { self.rawValue = rawValue }
  package init(integerLiteral value: UInt64) { rawValue = value }

  /// The birth of pages of a commit below 2^48.
  package init(_ commit: CommitNumber, edition: UInt16 = 0) {
    rawValue = commit & Self.commitMask | UInt64(edition) << Self.commitBits
  }

  private static let commitBits: UInt64 = 48
  private static let commitMask: UInt64 = (1 << commitBits) - 1

  /// Throws `tooLarge` unless a log that is opened leaves more numbers than a process can use up.
  static func checkRoom(after log: CommitLog) throws(TreeRingError) {
    guard log.sequenced >> (commitBits - 1) == 0 else {
      throw TreeRingError(
        .tooLarge,
        "The log goes up to commit \(log.sequenced). Pages can be made of commits up to 2^47.")
    }
  }

  /// The commit whose transaction made the page.
  @inline(__always)
  package var commit: CommitNumber { rawValue & Self.commitMask }
  /// How often pages of that commit had been written early.
  package var edition: UInt16 { UInt16(truncatingIfNeeded: rawValue >> Self.commitBits) }
}

extension PageBirth: CustomStringConvertible {
  package var description: String { edition == 0 ? "\(commit)" : "\(commit) (\(edition))" }
}
