// Random histories against the model: after each commit, at every earlier commit, and again after
// reopening, rows, indexes, histories and changes equal the model's.

import Foundation
import TestSupport
import Testing

@testable import TreeRing

@Suite("A store agrees with a simple model", .leavesSoundStores)
struct StoreModelTests {
  @Test("random histories, with pages of four cells", arguments: seeds(1...6))
  func tinyPages(seed: UInt64) throws {
    try run(seed: seed, commits: 60, capacity: 4)
  }

  @Test("random histories, with normal pages", arguments: seeds(101...103))
  func normalPages(seed: UInt64) throws {
    try run(seed: seed, commits: 120, capacity: .max)
  }

  private func run(seed: UInt64, commits: Int, capacity: Int) throws {
    let files = MemoryFiles()
    var history = RandomHistory(seed: seed)
    var store = try files.open(capacity: capacity)
    try store.define("byGroup", RandomHistory.fieldIndex)
    history.noteEmptyCommit()
    // The commits that registered the closures.
    while history.model.states.count <= Int(store.newestCommit) { history.noteEmptyCommit() }
    for step in 0..<commits {
      try history.commit(to: store)
      try history.check(store.snapshot(), label: "seed \(seed), step \(step)")
      if step % 23 == 22 {
        try store.close()
        store = try files.open(capacity: capacity)
      }
    }
    for commit in 0...Int(store.newestCommit) {
      try history.check(
        store.snapshot(at: .commit(UInt64(commit))), label: "seed \(seed), at \(commit)")
    }
    try history.checkHistories(store, label: "seed \(seed)")
    try history.checkChanges(store, label: "seed \(seed)")
    try store.close()
    let reopened = try files.open(capacity: capacity)
    try history.check(reopened.snapshot(), label: "seed \(seed), reopened")
    for commit in 0...Int(reopened.newestCommit) where commit % 7 == 0 {
      try history.check(
        reopened.snapshot(at: .commit(UInt64(commit))), label: "seed \(seed), reopened at \(commit)"
      )
    }
    #expect(try reopened.checkInvariants() == [])
  }
}
