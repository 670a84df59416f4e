import TestSupport
import Testing
import TreeRing
import TreeRingLog

@testable import TreeRingMappings

@Suite("Sabotage: every deliberate mistake is caught")
struct SabotageTests {
  /// The properties that must catch each mistake; others may too.
  static let catchers: [(Flaw, Property)] = [
    (.lightBlocks, .minimal),
    (.unclippedBlocks, .minimal),
    (.takenCounted, .valid),
    (.tiesUnordered, .valid),
    (.bystandersEqual, .bystanders),
    (.crossingSplit, .minimal),
    (.deadSectionsListed, .valid),
    (.updatesUnchecked, .updates),
    (.slidesForgotten, .minimal),
    (.pendingForgotten, .steps),
    (.placedLeftToRight, .keyed),
    (.stagesUnsplit, .stages),
    (.growthNotReversed, .after),
    (.gapNotTaken, .after),
    (.minimumAwayFromPin, .after),
    (.relabelledLeaves, .after),
    (.nearNeighborsOnly, .updates),
    (.consolidatedApart, .batch),
    (.listingStale, .after),
    (.rewritesUnasked, .valid),
    (.limitLoose, .reset),
    (.legacyMovesMissed, .legacy),
  ]

  @Test("No mistake is left out")
  func everyFlawIsListed() {
    #expect(Set(Self.catchers.map(\.0)).union([.none]) == Set(Flaw.allCases))
  }

  /// Searches no further than the tests that should catch the mistake: single changes first, then
  /// histories with carried windows.
  @Test("A mistake put in on purpose is caught", arguments: catchers)
  func caught(_ flaw: Flaw, by property: Property) throws {
    let isLimit = property == .reset
    let seeds = isLimit ? MinimalChangesetTests.limitSeeds : MinimalChangesetTests.randomSeeds
    for seed in seeds {
      var maker = CaseMaker(seed: seed)
      let given = maker.changeCase()
      let found = isLimit ? limitViolations(given, flaw: flaw) : violations(given, flaw: flaw)
      if found.contains(where: { $0.0 == property }) { return }
    }
    for seed in MinimalChangesetTests.interleavingSeeds {
      let found = try MinimalChangesetTests.interleavingViolations(seed: seed, flaw: flaw)
      if found.contains(where: { $0.0 == property }) { return }
    }
    Issue.record("nobody noticed \(flaw)")
  }

  /// Deliberate mistakes in merging the records of one row.
  enum MergeFlaw: CaseIterable {
    case lastOldPlaces, lastOldContent
  }

  @Test("Records merged wrongly are caught", arguments: MergeFlaw.allCases)
  func merged(_ flaw: MergeFlaw) throws {
    func merge(_ all: inout TouchedRows, _ next: TouchedRows) {
      let first = all.rows
      all.merge(next)
      for (row, later) in next.rows where first[row] != nil {
        guard let right = all.rows[row] else { continue }
        all.rows[row] = TouchedRow(
          oldPlaces: flaw == .lastOldPlaces ? later.oldPlaces : right.oldPlaces,
          newPlaces: right.newPlaces,
          oldContent: flaw == .lastOldContent ? later.oldContent : right.oldContent,
          newContent: right.newContent)
      }
    }
    for seed in MinimalChangesetTests.mergeSeeds
    where try !MinimalChangesetTests.mergeViolations(seed: seed, merge).isEmpty {
      return
    }
    Issue.record("nobody noticed \(flaw)")
  }
}
