// The pages that a state needs stay allocated as long as their lease lives. A lease is complete
// when it is made, and refers only to leases that were made before. So there are no cycles of
// leases, and each ends with the last state that needs it.

internal import TreeRingLog

/// Keeps the pages of a version, or of an index built for one, allocated. When the last reference
/// ends, `deinit` only queues the release; the reclaimer frees the pages later, so that no reader
/// does that work.
final class PageLease: Sendable {
  private enum Extent {
    /// Pages of a state of the main line of commits, kept by a pin.
    case pinned(StateID)
    /// Pages made for one version or index alone.
    case own([PageNumber])
  }

  private let extent: Extent
  /// The leases of the states whose pages these trees share.
  let shared: [PageLease]
  /// In a follower: the use of the root of the writer's page file that this state was built on.
  let use: RootUse?
  /// The length of the longest chain of leases below and including this one; 0 on the main line.
  let depth: Int
  /// The number of pages that this lease and the shared ones own; 0 on the main line. A page that
  /// is shared in two ways counts twice.
  let ownPageCount: Int
  /// The number of these that were made for states above the lowest rebuilt one; 0 for that one.
  let stackedPageCount: Int
  /// Whether it keeps a root of the writer's page file registered, in a follower.
  let keepsRoot: Bool
  private let reclaimer: Reclaimer

  /// Takes ownership of the caller's pin on a state of the main line.
  init(pinned state: StateID, use: RootUse?, reclaimer: Reclaimer) {
    extent = .pinned(state)
    (shared, self.use, depth, ownPageCount, stackedPageCount) = ([], use, 0, 0, 0)
    keepsRoot = use != nil
    self.reclaimer = reclaimer
  }

  /// Takes ownership of private pages, whose trees refer to pages of the shared leases too.
  init(own pages: [PageNumber], sharing shared: [PageLease], reclaimer: Reclaimer) {
    extent = .own(pages)
    self.shared = shared
    use = nil
    depth = 1 + (shared.map(\.depth).max() ?? 0)
    ownPageCount = shared.reduce(pages.count) { $0 + $1.ownPageCount }
    stackedPageCount =
      depth > 1 ? shared.reduce(pages.count) { $0 + $1.stackedPageCount } : 0
    keepsRoot = shared.contains(where: \.keepsRoot)
    self.reclaimer = reclaimer
  }

  deinit {
    switch extent {
    case .pinned(let state): reclaimer.release(pin: state)
    case .own(let pages): reclaimer.release(pin: nil, pages: pages, shared: shared)
    }
  }

  /// The pages that this lease alone frees; none on the main line.
  var pages: [PageNumber] {
    if case .own(let pages) = extent { pages } else { [] }
  }
}

/// The use of one root by a follower's states. Destroyed with the last lease that refers to it;
/// then the follower may release the root.
final class RootUse: Sendable {}
