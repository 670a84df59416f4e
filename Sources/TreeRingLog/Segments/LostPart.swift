// A part of a log that cannot be read.

/// A part of a segment's file that could not be read.
public struct LostPart: Hashable, Sendable {
  /// The path of the file.
  public var file: String
  /// The offset of the part's first byte in the file.
  public var offset: UInt64
  /// The length of the part in bytes.
  public var byteCount: UInt64
  /// The commits that the part may have held, inferred from its neighbours; nil if unknown or none.
  public var commits: ClosedRange<CommitNumber>?
  /// A short description of the fault.
  public var problem: String
}
