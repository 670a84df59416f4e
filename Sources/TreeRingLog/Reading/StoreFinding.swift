// The results of inspecting a store: its flaws, and descriptions of its frames.

/// A flaw of a store.
public struct StoreFinding: Hashable, Sendable {
  /// The file, or the folder of the store for a flaw within a tree.
  public var file: String
  /// The flaw's position in the file, in bytes; 0 for a flaw of the whole file.
  public var offset: UInt64
  /// The commit that is affected, if the flaw is that of one commit.
  public var commit: CommitNumber?
  /// The flaw in words.
  public var problem: String

  package init(file: String, offset: UInt64, commit: CommitNumber? = nil, problem: String) {
    self.file = file
    self.offset = offset
    self.commit = commit
    self.problem = problem
  }
}

/// One piece of a segment, sound or damaged, for inspection.
package struct FrameDescription: Hashable, Sendable {
  package enum State: String, Hashable, Sendable {
    case segmentHeader = "segment header"
    case commit
    case mark
    case directory
    /// Zeros up to the end of the file.
    case zeroTail = "zero tail"
    /// Bytes that are no sound frame.
    case damaged
    /// A sound frame that does not continue the chain, such as the first one after damage.
    case unlinked
  }
  package var offset: UInt64
  package var length: UInt64
  /// The number of a commit, or the first commit of a segment header.
  package var commit: CommitNumber?
  /// The checksum stored in the frame's header.
  package var checksum: UInt32?
  package var state: State
  /// The fault, for `damaged` and `unlinked`.
  package var problem: String?
  package var timestamp: Timestamp?
  package var operationCount: UInt32?
  package var payloadByteCount: UInt64?
  package var valueCount: UInt32?
  /// The synced length of the file when this frame was built.
  package var synced: UInt64?
}
