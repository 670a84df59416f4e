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

internal import Synchronization
package import TreeRingLog

/// Pins by commit number, and the pages they keep.
package final class PinTable: Sendable {
  private struct Pin: Sendable {
    var commit: CommitNumber
    var useCount: Int
    var deadPages: [RetiredPage]
  }

  private let pages: PageStore
  /// Ascending by commit.
  private let pins = Mutex<[Pin]>([])

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

  /// Ends one pin of this commit; frees what nothing else keeps. Any thread. O(log pins) and O(1) per
  /// page that hung on it.
  package func unpin(_ commit: CommitNumber) {
    let freed = pins.withLock { pins -> [PageNumber] in
      let index = Self.firstIndex(atOrAbove: commit, in: pins)
      guard index < pins.count, pins[index].commit == commit else {
        preconditionFailure("commit \(commit) is unpinned but not pinned")
      }
      pins[index].useCount -= 1
      if pins[index].useCount > 0 { return [] }
      let pin = pins.remove(at: index)
      return Self.hang(pin.deadPages, onPinBefore: index, in: &pins)
    }
    if !freed.isEmpty { pages.free(freed) }
  }

  /// Takes over the pages that commit `commit` replaced; frees those that no pin below it reaches.
  package func retire(_ retired: [RetiredPage], at commit: CommitNumber) {
    if retired.isEmpty { return }
    let freed = pins.withLock { pins in
      Self.hang(retired, onPinBefore: Self.firstIndex(atOrAbove: commit, in: pins), in: &pins)
    }
    if !freed.isEmpty { pages.free(freed) }
  }

  /// Every pinned commit and how often it is pinned, oldest first.
  package var pinnedCommits: [(commit: CommitNumber, useCount: Int)] {
    pins.withLock { $0.map { ($0.commit, $0.useCount) } }
  }

  /// The oldest pinned commit.
  package var oldestPinnedCommit: CommitNumber? { pins.withLock { $0.first?.commit } }

  /// Pages that are kept only by pins.
  package var deadPageCount: Int { pins.withLock { $0.reduce(0) { $0 + $1.deadPages.count } } }

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
    if pins[index - 1].deadPages.isEmpty, retired.allSatisfy({ $0.birth <= commit }) {
      pins[index - 1].deadPages = retired
      return []
    }
    var freed: [PageNumber] = []
    for page in retired {
      if page.birth <= commit {
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
