// The engine's state at one commit, kept readable. A version lives as long as anything refers to
// it: the store holds the newest and some recent ones, snapshots hold theirs. When the last
// reference ends, `deinit` only notes that. The pages are freed later, off the reader's path.

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
  /// Indexes that were not maintained at this commit and were built from its rows later.
  private let built = Mutex<BuiltIndexes>(BuiltIndexes())
  /// In a follower: shared by all versions on top of the same root of the writer's page file.
  let use: RootUse?
  /// The number of versions below this one, each kept alive by the next; 0 on the main line.
  let depth: Int
  /// The number of private pages of this version and those below it; 0 on the main line.
  let ownPageCount: Int

  /// The reason why the pages of a version stay allocated.
  enum Lease: Sendable {
    /// The pages belong to the main line of commits; the pin on this commit keeps them.
    case pinned
    /// The pages were made for this version alone, on top of another version's.
    case owned([PageNumber], base: Version?)
  }

  private struct BuiltIndexes {
    var roots: [IndexRoots] = []
    var pages: [PageNumber] = []
    /// The versions whose pages they share.
    var donors: [Version] = []
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
      ownPageCount = (base?.privatePageCount ?? 0) + own.count
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

  /// The version whose pages this one shares and keeps; nil on the main line.
  var base: Version? {
    if case .owned(_, let base) = lease { base } else { nil }
  }

  /// The trees of an index, if it was maintained or has been built; nil otherwise.
  func existingIndex(_ number: UInt32) -> IndexRoots? {
    roots.index(number)
      ?? built.withLock { built in built.roots.first { $0.number == number } }
  }

  /// The trees of an index; builds them from this version's rows if they do not exist yet.
  ///
  /// Two callers may build at once; the first result is kept, the other one freed.
  ///
  /// - Parameter build: Returns the trees, and the version that owns some of their pages, if there
  ///   is one.
  func index(
    _ number: UInt32,
    build: (PageEditor) throws(TreeRingError) -> (IndexRoots, donor: Version?)
  ) throws(TreeRingError) -> IndexRoots {
    if let existing = existingIndex(number) { return existing }
    let editor = PageEditor(pages: pages, epoch: roots.commit, isPrivate: true)
    let fresh: IndexRoots
    let donor: Version?
    do throws(TreeRingError) {
      (fresh, donor) = try build(editor)
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
      if let donor { built.donors.append(donor) }
      return (fresh, [])
    }
    pages.free(surplus)
    return kept
  }

  /// The versions whose pages the indexes built for this one share.
  var donors: [Version] { built.withLock { $0.donors } }

  /// The number of pages that only this version and those below it keep, with the indexes built for
  /// them.
  var privatePageCount: Int {
    let pageCount = built.withLock { $0.pages.count }
    return donors.reduce(ownPageCount + pageCount) { $0 + $1.privatePageCount }
  }

  /// Whether another version can derive an index from this version's: its trees share no other
  /// version's pages. A version of a follower's main line gives none, because its root would stay
  /// registered with the writer.
  func mayGiveIndex(_ number: UInt32) -> Bool {
    if use != nil { return false }
    return roots.index(number) != nil
      || built.withLock { built in
        built.donors.isEmpty && built.roots.contains { $0.number == number }
      }
  }

  /// Every index that has trees in this version.
  var allIndexes: [IndexRoots] { roots.indexes.all + built.withLock { $0.roots } }
}

/// Destroyed with the last version on top of one root; then the root may be released.
final class RootUse: Sendable {}

/// Frees the pages of versions that are gone: after the write that dropped them, or else on a
/// thread of its own; never on a reader's path.
final class Reclaimer: Sendable {
  private let pages: PageStore
  private let pins: PinTable
  private let left = Mutex<Left>(Left())
  /// Held while pages are being freed, so that `drain` returns when all of them are.
  private let draining = Mutex<Void>(())
  private let thread = DispatchQueue(label: "treering.reclaimer", qos: .utility)

  private struct Left {
    var pins: [CommitNumber] = []
    var pages: [PageNumber] = []
    /// The versions that the destroyed ones were built on. They are released here one after the
    /// other, so that destroying a long chain does not nest as deep as the chain is long.
    var bases: [Version] = []
    /// The number of running calls that will drain when they finish.
    var attendants = 0
    /// Whether a drain is scheduled on the thread.
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

  /// Records that a version is gone. Called from `deinit`, on any thread.
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

  /// Runs `body`, which may release versions, and then drains.
  func drain(after body: () -> Void) {
    left.withLock { $0.attendants += 1 }
    body()
    left.withLock { $0.attendants -= 1 }
    drain()
  }

  /// Waits for the drain that the thread has begun, and drains. For tests.
  func settle() {
    thread.sync {}
    drain()
  }
}
