// The number of a commit.

/// The number of a commit: dense and monotonic. The first commit is 1; 0 means "before everything".
public typealias CommitNumber = UInt64
