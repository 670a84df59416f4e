// The stamps and births of transactions: no two contents of a page ever have the same number and
// birth in the file (docs/pages.md, "No twins").

internal import TreeRingLog
internal import TreeRingPlatform

extension PageStore {
  /// Begins a transaction.
  /// - Returns: A stamp that no other editor of this store ever has, with a nonzero lower half; and
  ///   a birth for its pages that no page written before has.
  func beginEditing(_ commit: CommitNumber, isPrivate: Bool) -> (owner: OwnerStamp, PageBirth) {
    state.withLock { state in
      if UInt32(truncatingIfNeeded: state.nextOwner) == 0 { state.nextOwner += 1 }
      defer { state.nextOwner += 1 }
      let goesOn = !isPrivate && state.nextEdition.commit == commit
      return (state.nextOwner, goesOn ? state.nextEdition : PageBirth(commit))
    }
  }

  /// Begins another form of a state. Each attempt has an edition of its own, since some of its
  /// pages may have been written.
  /// - Returns: As `beginEditing`; nil if the editions of the commit are used up.
  func beginForm(of state: StateID) -> (owner: OwnerStamp, PageBirth)? {
    let (owner, _) = beginEditing(state.commit, isPrivate: true)
    return self.state.withLock { own in
      let last =
        [own.nextEdition, own.nextForm].filter { $0.commit == state.commit }
        .map(\.edition).max() ?? 0
      let edition = max(last, state.form)
      guard edition < .max - 1 else { return nil }
      own.nextForm = PageBirth(state.commit, edition: edition + 1)
      return (owner, own.nextForm)
    }
  }

  /// Ends an edition: pages of this birth are about to be written early. All earlier commits must
  /// be durable, so that none of them is ever made again.
  /// - Returns: The birth of pages made or changed from now on. Nil if editions are used up; then
  ///   nothing may be written early.
  func endEdition(_ birth: PageBirth) -> PageBirth? {
    if birth.edition == .max { return nil }
    let next = PageBirth(birth.commit, edition: birth.edition + 1)
    state.withLock { $0.nextEdition = next }
    return next
  }
}
