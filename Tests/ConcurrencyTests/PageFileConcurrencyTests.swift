// Readers fetch and read pages while the writer writes: looking up an address takes no lock, and no
// reader reads a slot that is being written.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("The page file, used concurrently") struct PageFileConcurrencyTests {
  @Test("Pages are fetched while others are written", arguments: [true, false])
  func fetching(onDisk: Bool) throws {
    let folder = try TemporaryFolder()
    let system: any FileSystem = onDisk ? PosixFileSystem() : MemoryFileSystem()
    let path = onDisk ? folder.path + "/pages" : "pages"
    let file = try PageFile.open(
      path, fileSystem: system, mode: .create, chunkByteCount: 64 << 10)
    let count: PageNumber = 150
    let written = Atomic<UInt32>(0)
    let errors = Mutex<[String]>([])
    onThreads(4) { worker in
      do {
        if worker == 0 {
          for number in 1...count {
            let (page, _) = try leafPage(number, birth: CommitNumber(number))
            try file.write(number, page)
            page.bytes.deallocate()
            written.store(number, ordering: .releasing)
          }
          return
        }
        var random = SeededGenerator(seed: UInt64(worker))
        var newest: PageNumber = 0
        while newest < count {
          newest = written.load(ordering: .acquiring)
          if newest == 0 { continue }
          let number = PageNumber.random(in: 1...newest, using: &random)
          let address = try file.fetch(number, birth: PageBirth(CommitNumber(number)))
          let page = Page(bytes: address)
          if page.number != number || !file.isMapped(address) || page.cellCount != 1 {
            errors.withLock { $0.append("page \(number) is \(page.number)") }
          }
        }
      } catch { errors.withLock { $0.append("\(error)") } }
    }
    let found = errors.withLock { $0 }
    #expect(found == [])
  }
}
