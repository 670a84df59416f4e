// A state of all trees. A version lives as long as anything refers to it: the store refers to the
// newest and some recent ones, each snapshot to its own. Its leases keep the pages of its trees
// allocated, also for the states that share them. A new commit's version has no lease until
// somebody takes it out of the commit queue, which keeps the pages of all recent states together.

internal import TreeRingLog
internal import TreeRingPlatform

/// All trees at one commit, immutable.
package final class Version: Sendable {
  package let roots: Roots
  package let catalog: Catalog
  /// A number that no other version of this process has. Objects that must recognize a version
  /// without keeping it compare this: a weak reference would make every version allocate.
  let identity = identities.add(1, ordering: .relaxed).newValue
  private static let identities = Atomic<UInt64>(0)
  let pages: PageStore
  private let firstLease = Once<PageLease>()
  private let reclaimer: Reclaimer
  /// The version of the main line that this one was rebuilt on, directly or by further ones; nil if
  /// there is none. Its pages are among those that `lease` keeps.
  let origin: Version?
  /// Indexes that were not maintained at this commit and were built from its rows later.
  private let built = Mutex<[LeasedIndex]>([])

  /// The trees of one index and the lease that keeps their pages.
  struct LeasedIndex {
    var roots: IndexRoots
    var lease: PageLease
  }

  /// Creates a version of the main line of commits for the commit queue. It has no lease.
  init(
    recent roots: Roots, catalog: Catalog, pages: PageStore, reclaimer: Reclaimer
  ) {
    (self.roots, self.catalog, self.pages, self.reclaimer) = (roots, catalog, pages, reclaimer)
    origin = nil
  }

  /// Creates a version of the main line of commits. It takes ownership of the caller's pin on its
  /// commit.
  convenience init(
    roots: Roots, catalog: Catalog, pages: PageStore, reclaimer: Reclaimer, use: RootUse? = nil
  ) {
    self.init(recent: roots, catalog: catalog, pages: pages, reclaimer: reclaimer)
    take(PageLease(pinned: roots.state, use: use, reclaimer: reclaimer))
  }

  /// Creates a version in private pages, which shares pages of other versions.
  /// - Parameter base: The version that it was rebuilt on; nil if that is the empty store.
  init(
    roots: Roots, catalog: Catalog, pages: PageStore, own: [PageNumber],
    sharing shared: [PageLease], on base: Version?, reclaimer: Reclaimer
  ) {
    origin = base.flatMap { $0.depth == 0 ? $0 : $0.origin }
    (self.roots, self.catalog, self.pages, self.reclaimer) = (roots, catalog, pages, reclaimer)
    take(PageLease(own: own, sharing: shared, reclaimer: reclaimer))
  }

  private func take(_ lease: consuming PageLease) { firstLease.set(lease) }

  /// Keeps the pages of `roots`. Traps for a version that only the commit queue and the writer
  /// know.
  var lease: PageLease {
    guard let lease = firstLease.value else {
      preconditionFailure("nothing keeps the pages of commit \(roots.commit)")
    }
    return lease
  }

  /// Gives the version its lease, unless it has one. The caller ensures that its state is among the
  /// recent ones of the pin table, and that nobody else calls this at the same time.
  func keepPages(in pins: PinTable) {
    if firstLease.value != nil { return }
    pins.pin(roots.state)
    take(PageLease(pinned: roots.state, use: nil, reclaimer: reclaimer))
  }

  /// In a follower: the use of the root of the writer's page file that this version was built on.
  var use: RootUse? { firstLease.value?.use }

  /// The number of rebuilt versions that this one is built on, itself included; 0 on the main line.
  var depth: Int { firstLease.value?.depth ?? 0 }

  /// The indexes built for this version.
  var builtIndexes: [LeasedIndex] { built.withLock { $0 } }
  /// The leases of its trees: of `roots`, and of the indexes that were built later.
  var leases: [PageLease] { [lease] + builtIndexes.map(\.lease) }

  /// The trees of an index with their lease, if it was maintained or has been built; nil otherwise.
  func leasedIndex(_ number: UInt32) -> LeasedIndex? {
    if let roots = roots.index(number) { return LeasedIndex(roots: roots, lease: lease) }
    return built.withLock { built in built.first { $0.roots.number == number } }
  }

  /// The trees of an index, if it was maintained or has been built; nil otherwise.
  func existingIndex(_ number: UInt32) -> IndexRoots? { leasedIndex(number)?.roots }

  /// The trees of an index; builds them from this version's rows if they do not exist yet.
  ///
  /// Two callers may build at once; the first result is kept, the other one freed.
  ///
  /// - Parameter build: Returns the trees, and the lease of the pages that they share with another
  ///   version's, if they do.
  func index(
    _ number: UInt32,
    build: (PageEditor) throws(TreeRingError) -> (IndexRoots, shared: PageLease?)
  ) throws(TreeRingError) -> IndexRoots {
    if let existing = existingIndex(number) { return existing }
    let editor = PageEditor(pages: pages, epoch: roots.commit, isPrivate: true)
    let roots: IndexRoots
    let shared: PageLease?
    do throws(TreeRingError) {
      (roots, shared) = try build(editor)
    } catch {
      editor.discard()
      throw error
    }
    let lease = PageLease(
      own: editor.finish().allocated, sharing: shared.map { [$0] } ?? [], reclaimer: reclaimer)
    return built.withLock { built in
      if let first = built.first(where: { $0.roots.number == number }) { return first.roots }
      built.append(LeasedIndex(roots: roots, lease: lease))
      return roots
    }
  }

  /// The number of pages that only this version and the versions below it keep, including the
  /// indexes built for them.
  var privatePageCount: Int {
    builtIndexes.reduce(lease.ownPageCount) { $0 + $1.lease.ownPageCount }
  }

  /// Whether another version can derive an index from this version's: its trees share no other
  /// version's pages. Never true for a version of a follower's main line, because its root would
  /// stay registered with the writer.
  func canDonateIndex(_ number: UInt32) -> Bool {
    if use != nil { return false }
    return roots.index(number) != nil
      || builtIndexes.contains { $0.roots.number == number && $0.lease.shared.isEmpty }
  }

  /// Every index that has trees in this version.
  var allIndexes: [IndexRoots] { roots.indexes.all + builtIndexes.map(\.roots) }
}
