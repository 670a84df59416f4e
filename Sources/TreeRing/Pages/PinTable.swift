// Pins, and the pages that only recent states or pins keep.
//
// A page born at state B and replaced at state N belongs to the roots of the states in [B, N). It
// is freed as soon as none of them is recent or pinned. Each pin has a dead list: the pages whose
// newest pinned root is this one. Once no state before N is recent, pages retired at N go to the
// newest pin below N. When the last pin of a state ends, its dead pages move to the next older pin;
// those born after that pin are freed. A state is a commit, or a later form of one (`StateID`).
//
// No list is ever searched: pins are linked in the order of their states, a list that moves
// becomes a heap by birth, and a join moves the smaller heap into the larger. The cost does not
// depend on the order in which pins end: O(log n) amortised for each of n pages.
//
// The newest states need no pins. All states from the oldest *recent* one on are readable. The
// pages that a state replaced wait in a queue until all states before it are older than that. Only
// then do they go to a pin, or become free. So most commits never have a pin. A recent state may be
// pinned at any time, because no page that it needs has left the queue.
//
// The roots that a checkpoint has written to the page file are pins as well, *kept* ones. The file
// also holds their dead lists: a checkpoint takes an image of all dead lists, writes it, and then
// removes the saved pages from the lists.

internal import DequeModule
internal import TreeRingLog
internal import TreeRingPlatform

/// The pages that a state has replaced.
struct ReplacedPages: Sendable {
  var state: StateID
  var pages: [RetiredPage]
}

/// Pins by state, and the pages they keep.
package final class PinTable: Sendable {
  fileprivate struct State {
    var pins = PinIndex()
    var oldest: Pin?
    var newest: Pin?
    /// The pages that recent states have replaced, in the order of these states.
    var replaced: Deque<ReplacedPages> = []
    #if DEBUG
      /// The number of moves of pages on lists that no longer exist.
      var moveCount = 0
    #endif

    /// Calls `body` with every pin, oldest first.
    func forEach(_ body: (Pin) -> Void) {
      var next = oldest
      while let pin = next {
        body(pin)
        next = pin.newer
      }
    }

    /// The newest pin below a state. O(1) for a state after the newest pin, otherwise O(pins after
    /// it).
    func newest(below state: StateID) -> Pin? {
      var next = newest
      while let found = next, found.state >= state { next = found.older }
      return next
    }

    /// Adds replaced pages to the list of the newest pin that may reach them.
    /// - Returns: The pages that no pin reaches.
    func take(_ replaced: ReplacedPages) -> [RetiredPage] {
      newest(below: replaced.state)?.add(replaced.pages) ?? replaced.pages
    }

    /// Adds a pin of a state that has none.
    mutating func insert(_ state: StateID) {
      let pin = Pin(state)
      pin.older = newest(below: state)
      pin.newer = pin.older == nil ? oldest : pin.older?.newer
      pins.insert(pin)
      if let older = pin.older { older.newer = pin } else { oldest = pin }
      if let newer = pin.newer { newer.older = pin } else { newest = pin }
    }

    /// Takes a pin out of the table, and cuts its links. Returns the pin older than it.
    mutating func remove(_ pin: Pin) -> Pin? {
      let (older, newer) = (pin.older, pin.newer)
      if let older { older.newer = newer } else { oldest = newer }
      if let newer { newer.older = older } else { newest = older }
      pins.remove(pin)
      (pin.older, pin.newer) = (nil, nil)
      return older
    }
  }

  /// The dead lists and free numbers in the form that the page file stores.
  package struct Image: Sendable {
    /// By kept pin: the pages that belong to its list for good and are not saved yet, oldest first.
    var unsaved: [StateID: [RetiredPage]] = [:]
    /// By kept pin: pages on the list of a younger pin that the file does not store. They move to
    /// this pin when the younger one ends.
    var passing: [StateID: [RetiredPage]] = [:]
    /// The free numbers as the file stores them. Pages that are kept only by pins that the file
    /// does not store count as free.
    package var free: BitSet
    package var bound: PageNumber

    fileprivate mutating func free(_ page: RetiredPage) {
      if page.number < PageTable.firstPrivateNumber { free.insert(Int(page.number)) }
    }

    /// Adds a page that the newest kept pin before its end may reach.
    fileprivate mutating func pass(_ page: RetiredPage, to kept: StateID?) {
      if let kept, page.birth.state <= kept {
        passing[kept, default: []].append(page)
      } else {
        free(page)
      }
    }
  }

  private let pages: PageStore
  private let state = Mutex(State())
  /// The number of pages on the lists and in the queue, readable without the lock.
  private let deadCount = Atomic<Int>(0)

  /// Creates an empty table that frees pages of this store.
  init(pages: PageStore) { self.pages = pages }

  deinit {
    // The links would keep the pins alive.
    state.withLock { state in
      while let oldest = state.oldest { _ = state.remove(oldest) }
    }
  }

  /// Keeps the root of this state readable until `unpin` has been called as often as this. The
  /// state is pinned already, or recent, or no page that it reaches has been retired. Any thread.
  /// O(1) for a state pinned already or after all others, otherwise O(pins after it).
  package func pin(_ pinned: StateID) {
    state.withLock { state in
      if let newest = state.newest, newest.state < pinned { return state.insert(pinned) }
      if let pin = state.pins[pinned] { pin.useCount += 1 } else { state.insert(pinned) }
    }
  }

  /// Marks a pinned state as one of the page file's roots.
  package func keep(_ pinned: StateID) {
    state.withLock { state in
      guard let pin = state.pins[pinned] else {
        preconditionFailure("commit \(pinned.commit) is to be kept but not pinned")
      }
      pin.isKept = true
      pin.dead.makeList()
    }
  }

  /// Turns a kept pin into an ordinary one, which `unpin` ends, because the newest meta has dropped
  /// its root. The pages saved with that root return to its list.
  func unkeep(_ pinned: StateID, saved: [RetiredPage]) {
    state.withLock { state in
      guard let pin = state.pins[pinned] else { return }
      pin.isKept = false
      for page in saved { pin.dead.append(page) }
      deadCount.add(saved.count, ordering: .relaxed)
    }
  }

  /// The free and dead pages that a checkpoint writes. O(pages on the lists + bound / 64).
  /// - Parameters:
  ///   - written: The checkpoint's state, which is pinned. Later changes are left out.
  ///   - dropped: Kept pins that the file is about to drop, with the pages saved with them.
  package func image(
    at written: StateID, dropping dropped: [StateID: [RetiredPage]]
  ) -> Image {
    state.withLock { state in
      let numbers = pages.numbers
      var image = Image(free: numbers.free, bound: numbers.next)
      /// The kept pins below the current one, oldest first.
      var kept: [StateID] = []
      state.forEach { pin in
        let pinned = pin.state
        if pinned == written { return }
        let dead = pin.dead.pages
        if pinned > written {
          for page in dead where page.birth.state > written { image.free(page) }
          return
        }
        if pin.isKept, dropped[pinned] == nil {
          if !dead.isEmpty { image.unsaved[pinned] = dead }
          kept.append(pinned)
          return
        }
        for page in dead + (dropped[pinned] ?? []) {
          image.pass(page, to: kept.last)
        }
      }
      for replaced in state.replaced {
        let older = kept.last { $0 < replaced.state }
        for page in replaced.pages {
          if replaced.state <= written {
            image.pass(page, to: older)
          } else if page.birth.state > written {
            image.free(page)
          }
        }
      }
      return image
    }
  }

  /// Removes the first pages from a kept pin's list, because the file has saved them.
  func removeSaved(_ count: Int, of pinned: StateID) {
    state.withLock { state in
      guard let pin = state.pins[pinned], pin.isKept else { return }
      let count = min(count, pin.dead.pages.count)
      pin.dead.removeFirst(count)
      deadCount.subtract(count, ordering: .relaxed)
    }
  }

  /// Ends one pin of this state and frees the pages that no other pin keeps. Any thread. O(log n)
  /// amortised per page on its list.
  func unpin(_ pinned: StateID) {
    state.withLock { state in
      guard let pin = state.pins[pinned] else {
        preconditionFailure("commit \(pinned.commit) is unpinned but not pinned")
      }
      pin.useCount -= 1
      if pin.useCount > 0 { return }
      // Inside the lock, so that every page is on a list or free at any moment.
      let freed: [RetiredPage]
      if let older = state.remove(pin) {
        freed = older.takeDead(of: pin)
      } else {
        freed = pin.dead.pages
        #if DEBUG
          state.moveCount += pin.dead.moveCount
        #endif
      }
      pages.free(freed)
      deadCount.subtract(freed.count, ordering: .relaxed)
    }
  }

  /// Adds the pages that a state replaced, before which every recent state is pinned; frees those
  /// that no pin below it reaches.
  func retire(_ retired: [RetiredPage], at replacing: StateID) {
    if retired.isEmpty { return }
    state.withLock { state in
      let freed = state.take(ReplacedPages(state: replacing, pages: retired))
      pages.free(freed)
      deadCount.add(retired.count - freed.count, ordering: .relaxed)
    }
  }

  /// Adds the pages that a state replaced, which is later than those before. They stay as long as a
  /// state before is recent, and then as long as a pin reaches them. O(log n) amortised per page,
  /// and O(pins after the state) per state.
  /// - Parameter oldest: the oldest recent state from now on. An earlier one than that of a call
  ///   before has no effect.
  func retire(_ replaced: ReplacedPages, readableFrom oldest: StateID) {
    state.withLock { state in
      if !replaced.pages.isEmpty { state.replaced.append(replaced) }
      let freedCount = release(upTo: oldest, &state)
      deadCount.add(replaced.pages.count - freedCount, ordering: .relaxed)
    }
  }

  /// Sets the oldest recent state. One before the present one has no effect.
  func setRecent(from oldest: StateID) {
    state.withLock { state in
      let freedCount = release(upTo: oldest, &state)
      deadCount.subtract(freedCount, ordering: .relaxed)
    }
  }

  /// Takes the pages from the queue that no recent state reaches, and frees those that no pin does.
  /// - Returns: The number of pages freed.
  private func release(upTo oldest: StateID, _ state: inout State) -> Int {
    var freedCount = 0
    while let first = state.replaced.first, first.state <= oldest {
      state.replaced.removeFirst()
      let freed = state.take(first)
      pages.free(freed)
      freedCount += freed.count
    }
    return freedCount
  }

  /// Every pinned state and its number of pins, oldest first.
  var pinnedStates: [(state: StateID, useCount: Int)] {
    state.withLock { state in
      var states: [(state: StateID, useCount: Int)] = []
      state.forEach { states.append(($0.state, $0.useCount)) }
      return states
    }
  }

  /// The oldest pinned commit.
  var oldestPinnedCommit: CommitNumber? { state.withLock { $0.oldest?.state.commit } }

  /// The newest pinned state before a state, without those of a set that are pinned once.
  func newestState(before state: StateID, except passing: Set<StateID>) -> StateID? {
    self.state.withLock { table in
      var next = table.newest(below: state)
      while let pin = next, pin.useCount == 1, passing.contains(pin.state) { next = pin.older }
      return next?.state
    }
  }

  /// The number of pages that only recent states or pins keep. O(1), without a lock.
  var deadPageCount: Int { deadCount.load(ordering: .relaxed) }

  /// The number of pages on the lists of kept pins: the page file's roots keep them, and the file
  /// has not saved them yet.
  var unsavedPageCount: Int {
    state.withLock { state in
      var count = 0
      state.forEach { if $0.isKept { count += $0.dead.pages.count } }
      return count
    }
  }

  #if DEBUG
    /// The number of moves of pages on lists that no longer exist, for tests. Only debug builds
    /// have it.
    var moveCount: Int { state.withLock { $0.moveCount } }
  #endif

  /// The number of pages on the list of a state's pin. When the pin ends, they move to an older pin
  /// or are freed.
  func deadPageCount(of pinned: StateID) -> Int {
    state.withLock { $0.pins[pinned]?.dead.pages.count ?? 0 }
  }
}

extension Pin {
  /// Adds retired pages to the list if the pin is young enough to reach them.
  /// - Returns: The pages that the pin does not reach.
  fileprivate func add(_ retired: [RetiredPage]) -> [RetiredPage] {
    // Usually the newest pin is far older than the commit, and reaches none.
    if retired.allSatisfy({ $0.birth.state > state }) { return retired }
    var freed: [RetiredPage] = []
    for page in retired {
      if page.birth.state <= state { dead.append(page) } else { freed.append(page) }
    }
    return freed
  }

  /// Takes over the dead pages of a younger pin that has ended.
  /// - Returns: The pages that this pin does not reach.
  fileprivate func takeDead(of younger: Pin) -> [RetiredPage] {
    let freed = younger.dead.removePages(bornAfter: state)
    let ended = younger.dead
    if isKept {
      for page in ended.pages { dead.append(page) }
    } else {
      dead.join(ended)
    }
    return freed
  }
}
