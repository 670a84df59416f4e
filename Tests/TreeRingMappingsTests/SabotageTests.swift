import Testing
import TreeRing
import TreeRingLog

@testable import TreeRingMappings

@Suite("Sabotage: every deliberate mistake is caught")
struct SabotageTests {
  /// The properties that catch each mistake, at the least.
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
  ]

  @Test("No mistake is left out")
  func everyFlawIsListed() {
    #expect(Set(Self.catchers.map(\.0)).union([.none]) == Set(Flaw.allCases))
  }

  @Test("A mistake put in on purpose is caught", arguments: catchers)
  func caught(_ flaw: Flaw, by property: Property) {
    for seed in 0..<20_000 as Range<UInt64> {
      var maker = CaseMaker(seed: seed)
      let given = maker.changeCase()
      if violations(given, flaw: flaw).contains(where: { $0.0 == property }) { return }
    }
    Issue.record("nobody noticed \(flaw)")
  }
}
