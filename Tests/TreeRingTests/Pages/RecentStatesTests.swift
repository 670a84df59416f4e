import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

/// States of a store with their pages, and beside them the definition: a page stays while a recent
/// state or a pin reaches it.
private struct ModelStore {
  struct ModelPage {
    var page: RetiredPage
    /// The state that replaced it; nil if none has.
    var end: CommitNumber?

    func isReached(by commit: CommitNumber) -> Bool {
      page.birth.commit <= commit && end.map { commit < $0 } ?? true
    }
  }

  let pages = PageStore()
  let pins: PinTable
  private(set) var all: [ModelPage] = []
  private(set) var newest: CommitNumber = 0
  private(set) var oldest: CommitNumber = 0
  var pinned: [CommitNumber] = []
  var kept: Set<CommitNumber> = []

  init() { pins = PinTable(pages: pages) }

  /// Makes a state that replaces some pages of the one before.
  mutating func advance(_ random: inout SeededGenerator) {
    newest += 1
    var replaced: [RetiredPage] = []
    for index in all.indices
    where all[index].end == nil && Int.random(in: 0..<3, using: &random) == 0 {
      all[index].end = newest
      replaced.append(all[index].page)
    }
    for _ in 0..<Int.random(in: 0..<4, using: &random) {
      let editor = PageEditor(pages: pages, epoch: newest)
      var root = TreeRoot.empty
      editor.put(&root, [1], [2])
      _ = editor.finish()
      all.append(ModelPage(page: RetiredPage(number: root.page, birth: root.birth)))
    }
    oldest = CommitNumber.random(in: oldest...newest, using: &random)
    pins.retire(
      ReplacedPages(state: StateID(newest), pages: replaced), readableFrom: StateID(oldest))
    forgetFreed()
  }

  mutating func setRecent(from commit: CommitNumber) {
    oldest = commit
    pins.setRecent(from: StateID(commit))
    forgetFreed()
  }

  mutating func unpin(_ index: Int) {
    pins.unpin(pinned.remove(at: index))
    forgetFreed()
  }

  /// Forgets the pages that nothing reaches any more: their numbers may be used again.
  private mutating func forgetFreed() {
    let readable = Array(oldest...newest) + pinned
    all.removeAll { page in !readable.contains(where: page.isReached) }
  }

  /// Compares the pages in use, and the pages that an image would state, with the definition.
  func check(
    _ seed: UInt64, written: CommitNumber?, dropping dropped: Set<CommitNumber> = []
  ) {
    #expect(pages.livePageCount == all.count, "seed \(seed), state \(newest)")
    #expect(all.allSatisfy { pages.contains($0.page.number) }, "seed \(seed), state \(newest)")
    #expect(pins.deadPageCount == all.count { $0.end != nil }, "seed \(seed), state \(newest)")
    guard let written else { return }
    let drops = Dictionary(uniqueKeysWithValues: dropped.map { (StateID($0), [RetiredPage]()) })
    let image = pins.image(at: StateID(written), dropping: drops)
    for page in all {
      let listed = [image.unsaved, image.passing].flatMap { lists in
        lists.filter { $0.value.contains(page.page) }.map(\.key.commit)
      }
      let isReplaced = page.end.map { $0 <= written } ?? false
      let holder = isReplaced ? kept.subtracting(dropped).filter(page.isReached).max() : nil
      let isFree =
        isReplaced && holder == nil || page.end != nil && page.page.birth.commit > written
      #expect(listed == (holder.map { [$0] } ?? []), "seed \(seed), state \(newest)")
      #expect(
        image.free.contains(Int(page.page.number)) == isFree, "seed \(seed), state \(newest)")
    }
  }
}

@Suite("The pages of recent states") struct RecentStatesTests {
  @Test("Pages stay while a recent state or a pin reaches them, and images list the others")
  func pagesOfRecentStates() {
    for seed in 1...60 as ClosedRange<UInt64> {
      var random = SeededGenerator(seed: seed)
      var store = ModelStore()
      for _ in 0..<80 {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<5: store.advance(&random)
        case 5, 6:
          // Any recent state may be pinned, and one that is pinned already.
          let states = Array(max(1, store.oldest)...max(1, store.newest)) + store.pinned
          guard store.newest > 0, let state = states.randomElement(using: &random) else { break }
          store.pins.pin(StateID(state))
          store.pinned.append(state)
        case 7:
          let free = store.pinned.indices.filter { index in
            let state = store.pinned[index]
            return !store.kept.contains(state) || store.pinned.count { $0 == state } > 1
          }
          if let index = free.randomElement(using: &random) { store.unpin(index) }
        case 8: store.setRecent(from: store.newest)
        default:
          // A checkpoint of the newest state.
          guard store.newest > 0 else { break }
          store.pins.pin(StateID(store.newest))
          store.pinned.append(store.newest)
          store.check(seed, written: store.newest)
          store.pins.keep(StateID(store.newest))
          store.kept.insert(store.newest)
        }
        let written = store.pinned.filter { $0 > store.kept.max() ?? 0 }.max()
        store.check(seed, written: written)
        // A checkpoint drops roots that the one before has kept.
        let dropped = store.kept.filter { _ in Bool.random(using: &random) }
        store.check(seed, written: written, dropping: dropped)
      }
      while !store.pinned.isEmpty {
        let state = store.pinned[0]
        if store.kept.remove(state) != nil { store.pins.unkeep(StateID(state), saved: []) }
        store.unpin(0)
        store.check(seed, written: nil)
      }
    }
  }
}
