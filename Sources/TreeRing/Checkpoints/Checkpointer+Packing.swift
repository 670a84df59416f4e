// Packs the trees in long pauses of writing: the entries of loose leaves move to fewer, full ones.
//
// A step packs one window of a tree (`PageEditor.packWindow`). It gives the newest commit's state
// another *form*: the same entries in other pages. No commit is made, and nothing is logged. The
// form becomes the visible version while no transaction runs, and only if no commit came between.
// Then it is like any version: the next commit builds on it, and the next checkpoint writes its
// pages and replaces the root of the form before it.
//
// Packing saves room only where the pages that it replaces become free. So it leaves pages alone
// that a snapshot reaches, or a root that is to stay. Roots nearer to the newest one than two
// checkpoints may be are dropped for it.
//
// Invariant: the form of a commit changes only under `running`, so the form does not change amid a
// checkpoint.

internal import Logging
internal import TreeRingLog
internal import TreeRingPlatform

/// The progress of packing.
struct PackingState: Sendable {
  /// The number of pages that had become durable when the trees were last packed to the end.
  var writtenBefore = 0
  /// The place from which a packing goes on that writing has stopped.
  var next: (place: TreePlace, key: [UInt8]?)?
  /// Whether a packing has ended because somebody read a state that it had replaced.
  var isAwaitingReaders = false
}

extension Checkpointer {
  /// Whether so much was written since the last packing that it is worth to look for loose leaves.
  var isPackingDue: Bool {
    let before = state.withLock { $0.packing.writtenBefore }
    return evictor.writtenPageCount - before >= worthwhilePageCount
  }

  /// Packs the trees of the newest state, unless little would be saved.
  /// - Parameters:
  ///   - isForced: True to pack however little is saved. For tests.
  ///   - goesOn: Asked between two steps.
  func pack(isForced: Bool = false, while goesOn: () -> Bool) {
    do throws(TreeRingError) {
      // The newest state needs a root, which a form of it can replace.
      try run()
      state.withLock { $0.packing.isAwaitingReaders = false }
      guard let source = source.withLock({ $0 }) else { return }
      if !isForced, try looseLeafCount(of: source.queue.visible) < worthwhilePageCount {
        return endPacking()
      }
      // The states just before the newest keep its pages too.
      source.queue.evictRecentVersions()
      guard let limits = try packingLimits(source) else { return }
      try pack(source, limits, while: goesOn)
    } catch {
      // `failure` records the error where it matters.
      logger.warning("The trees were not packed: \(error)")
    }
  }

  /// About the number of leaves that packing would save, from a few leaves of each tree.
  private func looseLeafCount(of version: Version) throws(TreeRingError) -> Int {
    defer { withExtendedLifetime(version) {} }
    var fill = LeafFill()
    try pages.read {
      for root in version.roots.trees { fill.addSamples(of: Tree(root, pages: pages)) }
    }
    return fill.looseLeafCount
  }

  private func endPacking() {
    let written = evictor.writtenPageCount
    state.withLock { $0.packing = PackingState(writtenBefore: written) }
  }

  // MARK: Pages that stay

  /// The states whose pages packing must not, and may, replace.
  private struct PackingLimits {
    /// The newest state before the visible one that stays. Pages born up to it are not packed.
    var bar: StateID
    /// The roots before the visible state that packing drops.
    var dropped: Set<StateID>
    /// Whether the state that stays is a snapshot's, so that it may end soon.
    var isSnapshot: Bool
  }

  /// Nil if a follower reads the newest root.
  private func packingLimits(_ source: Source) throws(TreeRingError) -> PackingLimits? {
    reclaimer.drain()
    let followed = try readers.pinnedCommits()
    let newest = source.queue.visible.roots
    let (entries, leaving, tagged) = state.withLock {
      ($0.ledger.entries, $0.leaving, $0.tagged)
    }
    guard entries.last?.state == newest.state, !followed.contains(newest.commit) else {
      return nil
    }
    let near = entries.dropLast().filter { entry in
      let replay = newest.replayByteCount - min(entry.roots.replayByteCount, newest.replayByteCount)
      return replay < CheckpointSchedule.urgentReplay && !followed.contains(entry.commit)
        && !tagged.contains(entry.commit)
    }
    let wasteful = wastefulRoots
    var dropped = Set(near.map(\.state))
    if wasteful.pageCount >= worthwhilePageCount { dropped.formUnion(wasteful.states) }
    // A root that has been dropped stays as long as a follower reads it.
    let ending = leaving.filter { !followed.contains($0.commit) }
    let bar = pins.newestState(before: newest.state, except: dropped.union(ending.map(\.state)))
    return PackingLimits(
      bar: bar ?? StateID(0), dropped: dropped,
      isSnapshot: bar.map { bar in !entries.contains { $0.state == bar } } ?? false)
  }

  // MARK: Steps

  private func pack(
    _ source: Source, _ limits: PackingLimits, while goesOn: () -> Bool
  ) throws(TreeRingError) {
    let base = source.queue.visible.roots
    var places = TreePlace.all(of: base)[...]
    var key: [UInt8]?
    if let next = state.withLock({ $0.packing.next }), let start = places.firstIndex(of: next.place)
    {
      (places, key) = (places[start...], next.key)
    }
    /// The pages made since the last checkpoint.
    var madeCount = 0
    while let place = places.first, goesOn(), !schedule.isClosed, failure == nil {
      let step = try withoutCheckpoint { () throws(TreeRingError) in
        try packWindow(of: place, from: key, source, limits, base.commit)
      }
      reclaimer.drain()
      guard let step else { break }
      key = step.nextKey
      if key == nil { places.removeFirst() }
      state.withLock { [key, place = places.first] in
        $0.packing.next = place.map { ($0, key) }
        if step.madeCount > 0 { $0.unwanted = limits.dropped }
      }
      madeCount += step.madeCount
      if madeCount >= packedPartPageCount {
        try run()
        evict()
        madeCount = 0
      }
      if step.madeCount > 0, isFormRead(of: base, source, limits) {
        state.withLock { $0.packing.isAwaitingReaders = true }
        break
      }
    }
    if madeCount > 0, goesOn() { try run() }
    // The next checkpoint tries again what a snapshot has kept in place.
    if places.isEmpty, !limits.isSnapshot { endPacking() }
  }

  /// Whether somebody reads a state that packing has replaced, so that its pages stay.
  private func isFormRead(
    of base: Roots, _ source: Source, _ limits: PackingLimits
  ) -> Bool {
    let (entries, ending) = state.withLock { ($0.ledger.entries, $0.ending) }
    let forms = (entries + ending).map(\.state).filter { $0.commit == base.commit }
    let passing = limits.dropped.union(forms).union(ending.map(\.state))
    let visible = source.queue.visible.roots.state
    guard let held = pins.newestState(before: visible, except: passing) else { return false }
    return held > limits.bar
  }

  /// Packs one window, and makes the result visible.
  /// - Returns: Nil if there is another commit by now.
  private func packWindow(
    of place: TreePlace, from key: [UInt8]?, _ source: Source, _ limits: PackingLimits,
    _ commit: CommitNumber
  ) throws(TreeRingError) -> (nextKey: [UInt8]?, madeCount: Int)? {
    let base = source.queue.visible
    // Once the checkpointer is abandoned, somebody who holds the writer's lock may wait for this.
    guard self.source.withLock({ $0 != nil }),
      // Indexes that were built for this version alone would be lost.
      base.roots.commit == commit, base.builtIndexes.isEmpty,
      let editor = PageEditor(pages: pages, formOf: base.roots.state)
    else { return nil }
    var roots = base.roots
    roots.form = editor.birth.edition
    let window: PackedWindow
    do throws(TreeRingError) {
      window = try pages.read {
        editor.packWindow(
          &roots[place], from: key, bornAfter: limits.bar, leafLimit: Self.windowLeafCount)
      }
    } catch {
      editor.discard()
      throw error
    }
    if window.savedCount == 0 {
      editor.discard()
      return (window.nextKey, 0)
    }
    let (made, retired) = editor.finish()
    var isShown = false
    do throws(TreeRingError) {
      try source.withoutWriter {
        isShown = source.queue.showForm(
          roots, of: base, retired: retired, growth: made.count - retired.count
        ) {
          Version(roots: roots, catalog: base.catalog, pages: pages, reclaimer: reclaimer)
        }
      }
    } catch {
      pages.free(made)
      throw error
    }
    if isShown { return (window.nextKey, made.count) }
    pages.free(made)
    return nil
  }

  /// The number of leaves that is enough for a window: two megabytes.
  private static let windowLeafCount = 512
  /// The number of pages made after which a checkpoint writes them and frees those replaced.
  private var packedPartPageCount: Int { min(4096, share.dirtyPages / 2, max(256, room / 4)) }
}
