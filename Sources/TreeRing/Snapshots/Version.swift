// The engine's state at one commit, kept readable. A version lives as long as somebody holds it: the
// store holds the newest and some recent ones, snapshots hold theirs. When the last holder lets go,
// `deinit` only notes that; the pages are given back later, off the reader's path.

internal import Dispatch
internal import Synchronization
internal import TreeRingLog

/// All trees at one commit, immutable.
package final class Version: Sendable {
  package let roots: Roots
  package let catalog: Catalog
  let pages: PageStore
  private let lease: Lease
  private let reclaimer: Reclaimer
  /// Indexes that were not maintained at this commit and have been built from its rows since.
  private let built = Mutex<BuiltIndexes>(BuiltIndexes())
  /// Of a follower: held by every version upon the same root of the writer's page file.
  let use: RootUse?
  /// How many versions it is built upon, each kept by the next; 0 on the main line.
  let depth: Int
  /// How many pages it and those it is built upon have for themselves; 0 on the main line.
  let ownPageCount: Int

  /// What keeps the pages of a version.
  enum Lease: Sendable {
    /// They belong to the main line of commits; the pin on this commit keeps them.
    case pinned
    /// They were made for this version alone, on top of another's.
    case owned([PageNumber], base: Version?)
  }

  private struct BuiltIndexes {
    var roots: [IndexRoots] = []
    var pages: [PageNumber] = []
  }

  init(
    roots: Roots, catalog: Catalog, pages: PageStore, lease: Lease, reclaimer: Reclaimer,
    use: RootUse? = nil
  ) {
    self.use = use
    self.roots = roots
    self.catalog = catalog
    self.pages = pages
    self.lease = lease
    if case .owned(let own, let base) = lease {
      depth = (base?.depth ?? 0) + 1
      ownPageCount = (base?.ownPageCount ?? 0) + own.count
    } else {
      (depth, ownPageCount) = (0, 0)
    }
    self.reclaimer = reclaimer
  }

  deinit {
    let extra = built.withLock { $0.pages }
    switch lease {
    case .pinned: reclaimer.release(pin: roots.commit, pages: extra)
    case .owned(let owned, let base):
      reclaimer.release(pin: nil, pages: owned + extra, base: base)
    }
  }

  /// The version whose pages this one shares, and keeps; nil on the main line.
  var base: Version? {
    if case .owned(_, let base) = lease { base } else { nil }
  }

  /// The trees of an index, maintained or built before.
  func existingIndex(_ number: UInt32) -> IndexRoots? {
    roots.index(number)
      ?? built.withLock { built in built.roots.first { $0.number == number } }
  }

  /// The trees of an index; builds them from this version's rows if nobody has yet.
  ///
  /// Two callers may build at once; the first result is kept, the other given back.
  func index(
    _ number: UInt32, build: (PageEditor) throws(TreeRingError) -> IndexRoots
  ) throws(TreeRingError) -> IndexRoots {
    if let existing = existingIndex(number) { return existing }
    let editor = PageEditor(pages: pages, epoch: roots.commit, isPrivate: true)
    let fresh: IndexRoots
    do throws(TreeRingError) {
      fresh = try build(editor)
    } catch {
      editor.discard()
      throw error
    }
    let allocated = editor.finish().allocated
    let (kept, surplus) = built.withLock { built -> (IndexRoots, [PageNumber]) in
      if let first = built.roots.first(where: { $0.number == number }) {
        return (first, allocated)
      }
      built.roots.append(fresh)
      built.pages.append(contentsOf: allocated)
      return (fresh, [])
    }
    pages.free(surplus)
    return kept
  }

  /// Every index that has trees here.
  var allIndexes: [IndexRoots] { roots.indexes + built.withLock { $0.roots } }
}

/// Gone when the last version upon one root is gone: then the root may go.
final class RootUse: Sendable {}

/// Takes what versions leave behind and gives it back: after the write that made them leave, else on a
/// thread of its own; never on a reader's path.
final class Reclaimer: Sendable {
  private let pages: PageStore
  private let pins: PinTable
  private let left = Mutex<Left>(Left())
  /// Held while pages are given back, so that `drain` returns when all of them are.
  private let draining = Mutex<Void>(())
  private let thread = DispatchQueue(label: "treering.reclaimer", qos: .utility)

  private struct Left {
    var pins: [CommitNumber] = []
    var pages: [PageNumber] = []
    /// What the versions that are gone were built upon. Let go of here, one after the other, so that
    /// the end of a long chain does not nest as deep as the chain is long.
    var bases: [Version] = []
    /// How many calls are going to drain when they are done.
    var attendants = 0
    /// Whether the thread is going to drain.
    var isScheduled = false
    var isEmpty: Bool { pins.isEmpty && pages.isEmpty && bases.isEmpty }

    mutating func take() -> Left {
      let taken = self
      self = Left()
      attendants = taken.attendants
      return taken
    }
  }

  init(pages: PageStore, pins: PinTable) {
    self.pages = pages
    self.pins = pins
  }

  /// Notes that a version is gone. Called from `deinit`, on any thread.
  func release(pin: CommitNumber?, pages: [PageNumber], base: Version? = nil) {
    let mustSchedule = left.withLock { left in
      if let pin { left.pins.append(pin) }
      if !pages.isEmpty { left.pages.append(contentsOf: pages) }
      if let base { left.bases.append(base) }
      if left.attendants > 0 || left.isScheduled { return false }
      left.isScheduled = true
      return true
    }
    if mustSchedule { thread.async { self.drain() } }
  }

  /// Frees the pages of every version that is gone.
  func drain() {
    draining.withLock { _ in
      while true {
        let taken = left.withLock { $0.take() }
        if taken.isEmpty { return }
        for pin in taken.pins { pins.unpin(pin) }
        if !taken.pages.isEmpty { pages.free(taken.pages) }
      }
    }
  }

  /// Runs `body`, which may let go of versions, and then drains.
  func drain(after body: () -> Void) {
    left.withLock { $0.attendants += 1 }
    body()
    left.withLock { $0.attendants -= 1 }
    drain()
  }

  /// Waits for what the thread has begun, and drains. For tests.
  func settle() {
    thread.sync {}
    drain()
  }
}
