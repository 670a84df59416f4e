// Checkpoints in a copy of a store that nobody synced: the log is on the device before the page
// file refers to it.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Checkpoints of an unsynced copy") struct UnsyncedCopyTests {
  private static func open(_ disk: SimulatedFileSystem) throws -> Store {
    let options = StoreOptions(durability: .unsynced, logger: quietLogger)
    return try Store(path: "store", fileSystem: disk, options: options)
  }

  @Test(
    "Power fails after a checkpoint: page file and log are there",
    arguments: 1...20 as ClosedRange<UInt64>)
  func checkpoint(seed: UInt64) throws {
    let source = SimulatedFileSystem(seed: seed)
    var store = try Self.open(source)
    for number in UInt8(0)..<20 { try store.put([number], for: "a") }
    try store.close()
    // Its opening makes the page file anew.
    let disk = try source.unsyncedLog(ofStore: "store", seed: seed)
    store = try Self.open(disk)
    try store.checkpoint()
    let found = try Self.open(disk.afterCrash(seed: seed, odds: seed % 2 == 0 ? 0 : nil))
    #expect(try found.snapshot().get("a", in: blobs) == [19], "seed \(seed)")
    try found.close()
    try store.close()
  }
}
