// Replaying commits of another process's log upon a root of its page file. What is made lies in private
// pages: this process never writes to the file. Pages of the file are never given up either, whatever
// replaces them here: their numbers are the writer's.

internal import TreeRingLog

/// Makes versions from others and the log.
struct PrivateReplay: Sendable {
  let pages: PageStore
  let pins: PinTable
  let reclaimer: Reclaimer
  let log: CommitLog
  let code: [CodeIndex]
  let definitions = ActiveIndexCache()

  /// The version of a root, pinned.
  func version(of roots: Roots) throws(TreeRingError) -> Version {
    let catalog = try typed {
      try pages.reading { try Catalog(Tree(roots.catalog, pages: pages)) }
    }
    pins.pin(roots.commit)
    return Version(
      roots: roots, catalog: catalog, pages: pages, lease: .pinned, reclaimer: reclaimer,
      use: RootUse())
  }

  /// The version of a commit, all commits after `base` replayed at once; `reached` is told of each.
  ///
  /// - Throws: `beyondHorizon` if the log was rewritten so that it does not lead on from `base`: compacted
  ///   beyond it, or, without a base, while it was read. With a newer base it may do. `closed` if `isOver`
  ///   says so, which is asked after each commit.
  func version(
    upon base: Version, through commit: CommitNumber, isOver: () -> Bool = { false },
    reached: (CommitNumber) -> Void = { _ in }
  ) throws(TreeRingError) -> Version {
    if commit <= base.roots.commit { return base }
    let editor = try editor(upon: base, epoch: base.roots.commit + 1, recorder: nil)
    let horizon = log.horizon
    do throws(TreeRingError) {
      try typed {
        try pages.reading {
          try editor.buildMissingIndexes()
          try editor.replay(log, through: commit) {
            reached(editor.roots.commit)
            return !isOver()
          }
          if isOver() { throw Store.closedError }
          try editor.buildMissingIndexes()
        }
      }
      // A state before the horizon may hold rows whose deletes are gone.
      let isWhole =
        base.roots.commit == 0 ? log.horizon == horizon : log.horizon <= base.roots.commit
      guard isWhole else { throw TreeRingError.beyond(log.horizon, commit: base.roots.commit) }
    } catch {
      editor.editor.discard()
      throw error
    }
    pins.pin(editor.roots.commit)
    let version = Version(
      roots: editor.roots, catalog: editor.catalog, pages: pages, lease: .pinned,
      reclaimer: reclaimer, use: base.use)
    pins.retire(Self.own(editor.editor.finish().retired), at: version.roots.commit)
    return version
  }

  /// One commit with its change records, to be published. Inside a read section.
  /// - Returns: nil if operations were taken out of the commit before it was read: among them may be a
  ///   delete that the state before needs.
  func commit(
    upon base: Version, _ header: CommitHeader, _ payload: UnsafeRawBufferPointer
  ) throws(TreeRingError) -> SequencedCommit? {
    let failures = pages.fetchFailureCount
    let recorder = ChangeRecorder()
    let editor = try editor(upon: base, epoch: header.number, recorder: recorder)
    var recorded: [UInt32] = []
    var labeled: [UInt32: TreeRoot] = [:]
    var replacements: [UInt32: IndexReplacement] = [:]
    do throws(TreeRingError) {
      try buildIndexes(editor, base)
      recorded = editor.active.map(\.number)
      labeled = editor.labeledOrders
      try editor.replay(header, payload)
      if editor.hasReplayedStub {
        editor.editor.discard()
        return nil
      }
      // Read of a segment that has been rewritten meanwhile, the commit may lack deletes.
      let horizon = log.horizon
      guard horizon <= base.roots.commit else {
        throw TreeRingError.beyond(horizon, commit: base.roots.commit)
      }
      try buildIndexes(editor, base)
      replacements = try self.replacements(by: editor, of: base)
      try pages.checkFetches(since: failures)
    } catch {
      editor.editor.discard()
      throw error
    }
    let maintained = Set(editor.active.map(\.number))
    var records: [UInt32: [RowReference: TouchedRow]] = [:]
    for index in recorded where maintained.contains(index) {
      records[index] = recorder.indexes[index] ?? [:]
    }
    let labels = editor.labelSpans(from: labeled)
    let (allocated, retired) = editor.editor.finish()
    pins.pin(header.number)
    let version = Version(
      roots: editor.roots, catalog: editor.catalog, pages: pages, lease: .pinned,
      reclaimer: reclaimer, use: base.use)
    return SequencedCommit(
      version: version, retired: Self.own(retired), allocated: allocated, records: records,
      replacements: replacements, labels: labels)
  }

  /// What the definitions that a replayed commit replaced change, for the change records.
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

  private func buildIndexes(_ editor: StateEditor, _ base: Version) throws(TreeRingError) {
    guard editor.catalog.indexes.count > editor.active.count else { return }
    try editor.buildMissingIndexes(keepingLabelsOf: base)
  }

  /// An editor that leaves behind, untouched, the indexes whose closure is not known here.
  private func editor(
    upon base: Version, epoch: CommitNumber, recorder: ChangeRecorder?
  ) throws(TreeRingError) -> StateEditor {
    let all = try definitions.active(for: base, code: code)
    var roots = base.roots
    var active: [ActiveIndex] = []
    roots.indexes = []
    for case (let index, let definition?) in zip(base.roots.indexes, all) {
      roots.indexes.append(index)
      active.append(definition)
    }
    return StateEditor(
      pages: pages, epoch: epoch, base: roots, catalog: base.catalog,
      active: active, code: code, values: ValueSource(log: log),
      recorder: recorder, isPrivate: true)
  }

  /// Those pages that are this process's own.
  static func own(_ retired: [RetiredPage]) -> [RetiredPage] {
    retired.filter { $0.number >= PageTable.firstPrivateNumber }
  }

  /// The pages of a version that are this process's own. O(pages made since `commit`).
  func ownPages(
    of version: Version, bornAfter commit: CommitNumber
  ) throws(TreeRingError) -> [RetiredPage] {
    try typed {
      try pages.reading {
        var own: [RetiredPage] = []
        for root in version.roots.trees {
          Tree(root, pages: pages).forEachPage(bornAfter: commit) { page in
            own.append(RetiredPage(number: page.number, birth: page.birth))
          }
        }
        return Self.own(own)
      }
    }
  }
}
