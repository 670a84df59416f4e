// The number of a commit.

/// The number of a commit. Numbers are dense: the first commit is 1, and each later one has the
/// next number. 0 stands for the state before the first commit.
public typealias CommitNumber = UInt64
