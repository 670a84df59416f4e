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
    let disk = SimulatedFileSystem(seed: seed)
    try disk.makeDirectory("store")
    try disk.makeDirectory("store/log")
    // The name of the store's folder is the business of its creator.
    try disk.syncDirectory("")
    // The opening makes the page file anew.
    for name in try source.list("store/log") {
      let bytes = try #require(source.contents(of: "store/log/\(name)"))
      let file = try disk.open("store/log/\(name)", .createNew)
      try bytes.withUnsafeBytes { (bytes) throws(TreeRingError) in try file.write(bytes, at: 0) }
    }
    store = try Self.open(disk)
    try store.checkpoint()
    let found = try Self.open(disk.afterCrash(seed: seed, odds: seed % 2 == 0 ? 0 : nil))
    #expect(try found.snapshot().get("a", in: blobs) == [19], "seed \(seed)")
    try found.close()
    try store.close()
  }
}
