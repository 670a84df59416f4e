// Replays commits of another process's log on top of a root of its page file. The results lie in
// private pages: this process never writes to the file. Nor does it free a page of the file when it
// replaces it, because the writer owns its number.

internal import TreeRingLog

/// Builds versions from other versions and the log.
struct PrivateReplay: Sendable {
  let pages: PageStore
  let pins: PinTable
  let reclaimer: Reclaimer
  let log: CommitLog
  let code: [CodeIndex]
  /// The maximum number of bytes of the change records of all commits.
  let recordByteLimit: Int
  let definitions = ActiveIndexCache()

  /// The version of a root, pinned.
  func version(of roots: Roots, use: RootUse = RootUse()) throws(TreeRingError) -> Version {
    let catalog = try pages.read { () throws(TreeRingError) in
      try Catalog(Tree(roots.catalog, pages: pages))
    }
    return pinned(roots, catalog, use)
  }

  private func pinned(_ roots: Roots, _ catalog: Catalog, _ use: RootUse?) -> Version {
    pins.pin(roots.state)
    return Version(
      roots: roots, catalog: catalog, pages: pages, reclaimer: reclaimer, use: use)
  }

  /// The version of a commit, built from `base` by replaying all commits after it at once. Calls
  /// `reached` with each of them.
  ///
  /// - Throws: `beyondHorizon` if the log can no longer be replayed on top of `base`: it was
  ///   compacted beyond `base` or, without a base, while it was read. A newer base may succeed.
  ///   `closed` if `isOver`, which is called after each commit, returns true.
  func version(
    on base: Version, through commit: CommitNumber, isOver: () -> Bool = { false },
    reached: (CommitNumber) -> Void = { _ in }
  ) throws(TreeRingError) -> Version {
    if commit <= base.roots.commit { return base }
    let editor = try editor(on: base, epoch: base.roots.commit + 1, recorder: nil)
    let horizon = log.horizon
    do throws(TreeRingError) {
      try pages.read { () throws(TreeRingError) in
        try editor.buildMissingIndexes()
        try editor.replay(
          log, through: commit,
          while: { read in
            reached(read)
            return !isOver()
          })
        if isOver() { throw TreeRingError.storeClosed }
        try editor.buildMissingIndexes()
      }
      // A state before the horizon may hold rows whose deletes are gone.
      let isWhole =
        base.roots.commit == 0 ? log.horizon == horizon : log.horizon <= base.roots.commit
      guard isWhole else { throw TreeRingError.beyond(log.horizon, commit: base.roots.commit) }
    } catch {
      editor.editor.discard()
      throw error
    }
    let version = pinned(editor.roots, editor.catalog, base.use)
    pins.retire(Self.own(editor.editor.finish().retired), at: version.roots.state)
    return version
  }

  /// One commit with its change records, to be published. Inside a read section.
  /// - Returns: Nil if operations were removed from the commit before it was read. One of them may
  ///   be a delete that the state before needs.
  func commit(
    on base: Version, _ header: CommitHeader, _ payload: UnsafeRawBufferPointer
  ) throws(TreeRingError) -> SequencedCommit? {
    let failures = pages.fetchFailureCount
    let edition = definitions.edition
    let recorder = ChangeRecorder(byteLimit: recordByteLimit)
    let editor = try editor(on: base, epoch: header.number, recorder: recorder)
    var before = IndexTrees()
    var replacements: [UInt32: IndexReplacement] = [:]
    do throws(TreeRingError) {
      try editor.buildMissingIndexes(keepingLabelsOf: base)
      before = editor.roots.indexes
      try editor.replay(header, payload)
      if editor.hasReplayedStub {
        editor.editor.discard()
        return nil
      }
      // If its segment has been rewritten in between, the commit may lack deletes.
      let horizon = log.horizon
      guard horizon <= base.roots.commit else {
        throw TreeRingError.beyond(horizon, commit: base.roots.commit)
      }
      try editor.buildMissingIndexes(keepingLabelsOf: base)
      replacements = try self.replacements(by: editor, of: base)
      try pages.checkFetches(since: failures)
    } catch {
      editor.editor.discard()
      throw error
    }
    let changes = recorder.changes(
      from: before, to: editor.roots.indexes, by: editor.active, replacements: replacements)
    let (allocated, retired) = editor.editor.finish()
    let version = pinned(editor.roots, editor.catalog, base.use)
    definitions.keep(editor.active, of: version, edition)
    return SequencedCommit(
      version: version, retired: Self.own(retired), allocated: allocated, changes: changes)
  }

  /// The effect of the index definitions that a replayed commit replaced, for the change records.
  private func replacements(
    by editor: StateEditor, of base: Version
  ) throws(TreeRingError) -> [UInt32: IndexReplacement] {
    if editor.catalog.keepsDefinitions(of: base.catalog) { return [:] }
    let old = StateReader(
      roots: base.roots, catalog: base.catalog, pages: pages, values: editor.values)
    let new = StateReader(
      roots: editor.roots, catalog: editor.catalog, pages: pages, values: editor.values)
    return try IndexReplacement.all(from: old, to: new)
  }

  /// An editor that does not maintain the indexes whose closure is not registered here.
  private func editor(
    on base: Version, epoch: CommitNumber, recorder: ChangeRecorder?
  ) throws(TreeRingError) -> StateEditor {
    let active = try definitions.active(for: base, code: code)
    var roots = base.roots
    if roots.indexes.count > active.count {
      for index in base.roots.indexes.all where active[index.number] == nil {
        roots.indexes[index.number] = nil
      }
    }
    return StateEditor(
      pages: pages, epoch: epoch, base: roots, catalog: base.catalog,
      active: active, code: code, values: ValueSource(log: log),
      recorder: recorder, isPrivate: true)
  }

  /// The pages among these that are this process's own.
  static func own(_ retired: [RetiredPage]) -> [RetiredPage] {
    retired.filter { $0.number >= PageTable.firstPrivateNumber }
  }

  /// The pages of a version that are this process's own. O(pages made since `commit`).
  func ownPages(
    of version: Version, bornAfter commit: CommitNumber
  ) throws(TreeRingError) -> [RetiredPage] {
    try pages.read {
      var own: [RetiredPage] = []
      for root in version.roots.trees {
        Tree(root, pages: pages).forEachPage(bornAfter: StateID(commit)) { page in
          own.append(RetiredPage(number: page.number, birth: page.birth))
        }
      }
      return Self.own(own)
    }
  }
}
