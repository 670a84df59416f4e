// The birth of a page, in one word. A page in the file identifies itself by its number and its
// birth, so two contents must never be written under the same pair. If the later write were lost,
// the earlier page would be taken for it.
//
// A commit's number alone does not suffice for pages that a transaction writes early. The
// transaction may change them later. It may also fail, and then another transaction makes a commit
// of the same number. So the birth counts early writes too.

package import TreeRingLog

/// The commit whose transaction made a page, and its edition.
///
/// The lower 48 bits are the commit, the upper 16 the edition: the number of early writes of that
/// commit before the page was made or last changed. The edition of nearly all pages is 0.
package struct PageBirth: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral {
  /// The word in the page and in the entry that refers to it.
  package let rawValue: UInt64

  @inline(__always)
  package init(rawValue: UInt64) { self.rawValue = rawValue }
  package init(integerLiteral value: UInt64) { rawValue = value }

  /// Creates the birth of pages of a commit below 2^48.
  package init(_ commit: CommitNumber, edition: UInt16 = 0) {
    rawValue = commit & Self.commitMask | UInt64(edition) << Self.commitBits
  }

  private static let commitBits: UInt64 = 48
  private static let commitMask: UInt64 = (1 << commitBits) - 1

  /// Checks that the log's commit numbers are so low that no process can use up the rest.
  /// - Throws: `tooLarge` if they are not.
  static func checkRoom(after log: CommitLog) throws(TreeRingError) {
    guard log.sequenced >> (commitBits - 1) == 0 else {
      throw TreeRingError(
        .tooLarge,
        "The log goes up to commit \(log.sequenced), but a store has 2^47 commits at most. The log "
          + "is damaged or forged: run `treering verify`."
      )
    }
  }

  /// The commit whose transaction made the page.
  @inline(__always)
  package var commit: CommitNumber { rawValue & Self.commitMask }
  /// The number of early writes of that commit before the page was made or last changed.
  var edition: UInt16 { UInt16(truncatingIfNeeded: rawValue >> Self.commitBits) }
}

extension PageBirth: CustomStringConvertible {
  package var description: String { edition == 0 ? "\(commit)" : "\(commit) (\(edition))" }
}
