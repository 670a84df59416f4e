// The order of states. A commit leads to one content, but packing gives the same content another
// form: other pages. So a state is named by its commit and its form, and so are pins and the roots
// of the page file. A page's birth is in the same order: a state reaches no page born after it.

package import TreeRingLog

/// A state of all trees: a commit, and the form of its trees. A later form of a commit has the same
/// content in other pages.
package struct StateID: Hashable, Comparable, Sendable {
  private let word: UInt64

  /// - Parameter commit: Below 2^48.
  @inline(__always)
  package init(_ commit: CommitNumber, form: UInt16 = 0) { word = commit << 16 | UInt64(form) }

  /// The commit that leads to the content.
  @inline(__always)
  package var commit: CommitNumber { word >> 16 }
  /// At least the edition of every page that the state reaches and its commit bore.
  package var form: UInt16 { UInt16(truncatingIfNeeded: word) }

  @inline(__always)
  package static func < (a: StateID, b: StateID) -> Bool { a.word < b.word }
}

extension PageBirth {
  /// The first state that can reach the page.
  @inline(__always)
  package var state: StateID { StateID(commit, form: edition) }
}
