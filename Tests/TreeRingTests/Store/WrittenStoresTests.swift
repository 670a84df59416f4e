// The check of stores after a test must find every problem, and report nothing in a sound store.

import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite struct WrittenStoresTests {
  private func filled(_ folder: String, _ fileSystem: any FileSystem) throws -> Store {
    var options = StoreOptions()
    options.durability = .unsynced
    let store = try Store(path: folder, fileSystem: fileSystem, options: options)
    for number in 0..<3 {
      try store.write { tx in try tx.put([1, 2, 3], for: Key("row \(number)"), in: blobs) }
    }
    return store
  }

  @Test("A store that is closed during its check is sound")
  func closing() throws {
    for call in 1... {
      let memory = MemoryFileSystem()
      let store = try filled("store", memory)
      let calls = Counter()
      let hooked = HookedFileSystem(memory) {
        guard calls.next() + 1 == call else { return }
        try? store.close()
        // A follower sees now the commits that closing the store has synced.
        Thread.sleep(forTimeInterval: 0.01)
      }
      let written = WrittenStores()
      written.note("store", hooked, store.options)
      #expect(written.problems() == [], "closed at call \(call)")
      if calls.count < call { break }
    }
  }

  @Test("A page file whose state differs from that of the log is detected")
  func damaged() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/store"
    let store = try filled(path, PosixFileSystem())
    try store.close()
    let written = WrittenStores()
    written.note(path, PosixFileSystem(), store.options)
    #expect(written.problems() == [])
    let pages = URL(fileURLWithPath: path + "/pages")
    var bytes = try Data(contentsOf: pages)
    for offset in stride(from: 8192, to: bytes.count, by: 512) { bytes[offset] ^= 1 }
    try bytes.write(to: pages)
    #expect(!written.problems().isEmpty)
  }
}
