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
      roots: roots, catalog: catalog, pages: pages, lease: .pinned, reclaimer: reclaimer)
  }

  /// The version of a commit, all commits after `base` replayed at once.
  func version(
    upon base: Version, through commit: CommitNumber
  ) throws(TreeRingError) -> Version {
    if commit <= base.roots.commit { return base }
    let editor = try editor(upon: base, epoch: base.roots.commit + 1, recorder: nil)
    do throws(TreeRingError) {
      try typed {
        try pages.reading {
          try editor.buildMissingIndexes()
          try log.replay(from: base.roots.commit + 1, through: commit) { header, payload in
            try editor.replay(header, payload)
            return true
          }
          try editor.buildMissingIndexes()
        }
      }
    } catch {
      editor.editor.discard()
      throw error
    }
    pins.pin(editor.roots.commit)
    let version = Version(
      roots: editor.roots, catalog: editor.catalog, pages: pages, lease: .pinned,
      reclaimer: reclaimer)
    pins.retire(Self.own(editor.editor.finish().retired), at: version.roots.commit)
    return version
  }

  /// One commit with its change records, to be published. Inside a read section.
  func commit(
    upon base: Version, _ header: CommitHeader, _ payload: UnsafeRawBufferPointer
  ) throws(TreeRingError) -> SequencedCommit {
    let failures = pages.fetchFailureCount
    let recorder = ChangeRecorder()
    let editor = try editor(upon: base, epoch: header.number, recorder: recorder)
    var recorded: [UInt32] = []
    do throws(TreeRingError) {
      try buildIndexes(editor)
      recorded = editor.active.map(\.number)
      try editor.replay(header, payload)
      try buildIndexes(editor)
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
    let (allocated, retired) = editor.editor.finish()
    pins.pin(header.number)
    let version = Version(
      roots: editor.roots, catalog: editor.catalog, pages: pages, lease: .pinned,
      reclaimer: reclaimer)
    return SequencedCommit(
      version: version, retired: Self.own(retired), allocated: allocated, records: records)
  }

  private func buildIndexes(_ editor: StateEditor) throws(TreeRingError) {
    guard editor.catalog.indexes.count > editor.active.count else { return }
    try editor.buildMissingIndexes()
  }

  /// An editor that leaves behind, untouched, the indexes whose closure is not known here.
  private func editor(
    upon base: Version, epoch: CommitNumber, recorder: ChangeRecorder?
  ) throws(TreeRingError) -> StateEditor {
    let all = try definitions.active(for: base, code: code)
    var roots = base.roots
    roots.indexes = zip(base.roots.indexes, all).filter { $0.1 != nil }.map(\.0)
    return StateEditor(
      pages: pages, epoch: epoch, base: roots, catalog: base.catalog,
      active: all.compactMap { $0 }, code: code, values: ValueSource(log: log),
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
