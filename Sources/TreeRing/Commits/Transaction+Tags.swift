// Names of earlier commits, given and removed in a transaction.

public import TreeRingLog

extension Transaction {
  /// Names an earlier commit, or moves a name to it.
  /// - Throws: `notFound` if there is no such commit; `beyondHorizon` if it can no longer be read.
  public func tag(_ name: String, commit tagged: CommitNumber) throws(TreeRingError) {
    try beginEdit()
    try Limits.check(name: name, of: "tag")
    guard tagged >= 1, tagged <= commit else {
      throw TreeRingError(
        .notFound, "There is no commit \(tagged) to name; the newest is \(commit - 1).")
    }
    if tagged < horizon, !baseCommits.contains(tagged), try !reader.isTagged(tagged) {
      throw TreeRingError.beyond(horizon, commit: tagged)
    }
    try editor.setTag(name, commit: tagged)
    payload.append(.tag(name: name, commit: tagged))
  }

  /// Removes a name.
  /// - Throws: `notFound` if there is no such tag.
  public func removeTag(_ name: String) throws(TreeRingError) {
    try beginEdit()
    guard try reader.tag(name) != nil else {
      throw TreeRingError.noTag(named: name)
    }
    try editor.setTag(name, commit: 0)
    payload.append(.tag(name: name, commit: 0))
    forgetReader()
  }
}
