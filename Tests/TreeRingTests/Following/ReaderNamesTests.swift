// The names of the files that a store has itself in `readers/`.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("The own files of a reader") struct ReaderNamesTests {
  @Test(
    "A pin counts as the store's own from its file's beginning to its end, and for no other store")
  func own() throws {
    let disk = MemoryFileSystem()
    try disk.makeDirectory("store")
    let registry = ReaderRegistry(folder: "store", fileSystem: disk)
    let other = ReaderRegistry(folder: "store", fileSystem: disk)
    func foreign(to registry: ReaderRegistry) throws -> [CommitNumber] {
      let own = registry.own.all
      return try registry.readers(removingDead: false).filter { !own.contains($0.name) }
        .map(\.commit)
    }
    let first = try registry.register(7)
    let second = try other.register(9)
    #expect(try foreign(to: registry) == [9])
    #expect(try foreign(to: other) == [7])
    first.release()
    #expect(registry.own.all.isEmpty)
    #expect(try foreign(to: other) == [])
    second.release()
    #expect(try registry.readers(removingDead: false).isEmpty)
  }

  @Test("A name is known before its file is made, and no longer if that fails")
  func failed() throws {
    let folder = try TemporaryFolder()
    let names = ReaderNames()
    let known = Counter()
    let system = HookedFileSystem(
      PosixFileSystem(),
      beforeCall: { path in
        guard path.contains("/readers/") else { return }
        if names.all.contains(where: path.hasSuffix) { _ = known.next() }
        rmdir(folder.path + "/readers")
      })
    let registry = ReaderRegistry(folder: folder.path, fileSystem: system, own: names)
    #expect(throws: TreeRingError.self) { _ = try registry.register(1) }
    #expect(known.count == 1)
    #expect(names.all.isEmpty)
  }
}
