// What may not be freed yet, and when it may be.
//
// A page born at commit B and replaced at commit N belongs to the roots of the commits in [B, N). It
// is freed as soon as none of them is pinned. Each pin carries a dead list: the pages whose newest
// pinned root is this one. When pages are retired at N they hang on the newest pin below N; when the
// last pin of a commit goes, its dead list is handed to the next older pin, or freed as far as that
// one is older than a page's birth. So nothing is ever searched: retiring and unpinning cost O(log
// pins) and O(1) per page moved.
//
// The newest root is kept by a pin too: the store pins a commit before it retires pages at any later
// one, and lets go of it after. A commit may be pinned while it is the newest or already pinned.
//
// The roots that a checkpoint has written to the page file are pins as well, *kept* ones. What hangs on
// them is also in the file: a checkpoint takes an image of all dead lists, writes it, and then has the
// lists shortened by what is saved.

internal import Synchronization
package import TreeRingLog

/// Pins by commit number, and the pages they keep.
package final class PinTable: Sendable {
  private struct Pin: Sendable {
    var commit: CommitNumber
    var useCount: Int
    var deadPages: [RetiredPage]
    /// Whether the root is one of the page file's.
    var isKept = false
  }

  /// What hangs on the kept pins, as the page file has to know it.
  package struct Image: Sendable {
    /// By kept pin: pages that hang on it for good and have not been saved yet, oldest first.
    package var unsaved: [CommitNumber: [RetiredPage]] = [:]
    /// By kept pin: pages that hang on a younger pin which the file does not know, and will hang on
    /// this one when that is gone.
    package var passing: [CommitNumber: [RetiredPage]] = [:]
    /// Numbers in use and free, as the file has to know them: free is also what only pins reach that
    /// the file does not know.
    package var free: BitSet
    package var bound: PageNumber

    fileprivate mutating func free(_ page: RetiredPage) {
      if page.number < PageTable.firstPrivateNumber { free.insert(Int(page.number)) }
    }
  }

  private let pages: PageStore
  /// Ascending by commit.
  private let pins = Mutex<[Pin]>([])
  /// How many pages are on the lists, to be had without the lock.
  private let deadCount = Atomic<Int>(0)

  /// An empty table that frees to this page store.
  package init(pages: PageStore) { self.pages = pages }

  /// Keeps the root of this commit readable until `unpin` is called as often. Any thread.
  package func pin(_ commit: CommitNumber) {
    pins.withLock { pins in
      let index = Self.firstIndex(atOrAbove: commit, in: pins)
      if index < pins.count, pins[index].commit == commit {
        pins[index].useCount += 1
      } else {
        pins.insert(Pin(commit: commit, useCount: 1, deadPages: []), at: index)
      }
    }
  }

  /// Marks a pinned commit as one of the page file's roots.
  package func keep(_ commit: CommitNumber) {
    pins.withLock { pins in
      let index = Self.firstIndex(atOrAbove: commit, in: pins)
      guard index < pins.count, pins[index].commit == commit else {
        preconditionFailure("commit \(commit) is to be kept but not pinned")
      }
      pins[index].isKept = true
    }
  }

  /// The newest meta has forgotten a root: it is a pin like others from now on, to be ended by `unpin`. Pages
  /// that had been saved with it hang on it again.
  package func unkeep(_ commit: CommitNumber, saved: [RetiredPage]) {
    pins.withLock { pins in
      let index = Self.firstIndex(atOrAbove: commit, in: pins)
      guard index < pins.count, pins[index].commit == commit else { return }
      pins[index].isKept = false
      pins[index].deadPages += saved
      deadCount.add(saved.count, ordering: .relaxed)
    }
  }

  /// What a checkpoint writes about free pages and dead ones. O(pages on the lists + bound / 64).
  /// - Parameters:
  ///   - commit: the pinned commit that the checkpoint is of. What happened after it is left out.
  ///   - dropped: kept pins that the file is about to forget, with what was saved with them.
  package func image(
    at commit: CommitNumber, dropping dropped: [CommitNumber: [RetiredPage]]
  ) -> Image {
    pins.withLock { pins in
      let numbers = pages.numbers
      var image = Image(free: numbers.free, bound: numbers.next)
      /// The kept pins below the one looked at, oldest first.
      var kept: [CommitNumber] = []
      for pin in pins where pin.commit != commit {
        if pin.commit > commit {
          for page in pin.deadPages where page.birth.commit > commit { image.free(page) }
          continue
        }
        if pin.isKept, dropped[pin.commit] == nil {
          if !pin.deadPages.isEmpty { image.unsaved[pin.commit] = pin.deadPages }
          kept.append(pin.commit)
          continue
        }
        for page in pin.deadPages + (dropped[pin.commit] ?? []) {
          if let older = kept.last, page.birth.commit <= older {
            image.passing[older, default: []].append(page)
          } else {
            image.free(page)
          }
        }
      }
      return image
    }
  }

  /// Takes the first pages off a kept pin's list: they have been saved.
  package func forget(_ count: Int, of commit: CommitNumber) {
    pins.withLock { pins in
      let index = Self.firstIndex(atOrAbove: commit, in: pins)
      guard index < pins.count, pins[index].commit == commit else { return }
      let count = min(count, pins[index].deadPages.count)
      pins[index].deadPages.removeFirst(count)
      deadCount.subtract(count, ordering: .relaxed)
    }
  }

  /// Ends one pin of this commit; frees what nothing else keeps. Any thread. O(log pins) and O(1) per
  /// page that hung on it.
  package func unpin(_ commit: CommitNumber) {
    pins.withLock { pins in
      let index = Self.firstIndex(atOrAbove: commit, in: pins)
      guard index < pins.count, pins[index].commit == commit else {
        preconditionFailure("commit \(commit) is unpinned but not pinned")
      }
      pins[index].useCount -= 1
      if pins[index].useCount > 0 { return }
      let pin = pins.remove(at: index)
      // Inside the lock, so that a page is on a list or free at any moment.
      let freed = Self.hang(pin.deadPages, onPinBefore: index, in: &pins)
      pages.free(freed)
      deadCount.subtract(freed.count, ordering: .relaxed)
    }
  }

  /// Takes over the pages that commit `commit` replaced; frees those that no pin below it reaches.
  package func retire(_ retired: [RetiredPage], at commit: CommitNumber) {
    if retired.isEmpty { return }
    pins.withLock { pins in
      let freed = Self.hang(
        retired, onPinBefore: Self.firstIndex(atOrAbove: commit, in: pins), in: &pins)
      pages.free(freed)
      deadCount.add(retired.count - freed.count, ordering: .relaxed)
    }
  }

  /// Every pinned commit and how often it is pinned, oldest first.
  package var pinnedCommits: [(commit: CommitNumber, useCount: Int)] {
    pins.withLock { $0.map { ($0.commit, $0.useCount) } }
  }

  /// The oldest pinned commit.
  package var oldestPinnedCommit: CommitNumber? { pins.withLock { $0.first?.commit } }

  /// Pages that are kept only by pins. O(1), without a lock.
  package var deadPageCount: Int { deadCount.load(ordering: .relaxed) }

  /// Those of them that hang on kept pins: the page file's roots keep them, and have not saved them yet.
  package var unsavedPageCount: Int {
    pins.withLock { $0.reduce(0) { $0 + ($1.isKept ? $1.deadPages.count : 0) } }
  }

  /// For every pinned commit, how many pages are kept that would be freed or handed on without it.
  package func deadPageCount(of commit: CommitNumber) -> Int {
    pins.withLock { pins in
      let index = Self.firstIndex(atOrAbove: commit, in: pins)
      guard index < pins.count, pins[index].commit == commit else { return 0 }
      return pins[index].deadPages.count
    }
  }

  /// Hangs pages on the pin before `index` if it is young enough to reach them; returns the others.
  private static func hang(
    _ retired: [RetiredPage], onPinBefore index: Int, in pins: inout [Pin]
  ) -> [PageNumber] {
    guard index > 0 else { return retired.map(\.number) }
    let commit = pins[index - 1].commit
    // Mostly the newest pin takes over everything that a commit replaced.
    if pins[index - 1].deadPages.isEmpty, retired.allSatisfy({ $0.birth.commit <= commit }) {
      pins[index - 1].deadPages = retired
      return []
    }
    var freed: [PageNumber] = []
    for page in retired {
      if page.birth.commit <= commit {
        pins[index - 1].deadPages.append(page)
      } else {
        freed.append(page.number)
      }
    }
    return freed
  }

  /// Binary search: the first pin whose commit is not below `commit`.
  private static func firstIndex(atOrAbove commit: CommitNumber, in pins: [Pin]) -> Int {
    var low = 0
    var high = pins.count
    while low < high {
      let middle = (low + high) / 2
      if pins[middle].commit < commit { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
