// A range of a segment file that salvage could not read.

/// A range of a segment file that could not be read.
public struct DamagedRange: Hashable, Sendable {
  /// The path of the file.
  public var file: String
  /// The offset of the range in the file, in bytes.
  public var offset: UInt64
  /// The length of the range in bytes.
  public var byteCount: UInt64
  /// The commits that the range may have held, inferred from its neighbours; nil if unknown or
  /// none.
  public var commits: ClosedRange<CommitNumber>?
  /// The fault, as a clause such as "the header's checksum is wrong".
  public var problem: String
}
