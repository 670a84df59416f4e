import Foundation
import Testing
import TreeRingPlatform

@testable import TreeRing

@Suite("The page table") struct PageTableTests {
  @Test("Words may be reserved for more than the machine's memory; all read as zero")
  func reservation() throws {
    let policy = try? String(contentsOfFile: "/proc/sys/vm/overcommit_memory", encoding: .utf8)
    // There Linux grants no more than it has, whatever the caller says.
    if policy?.hasPrefix("2") == true { return }
    let count = 3 * Int(ProcessInfo.processInfo.physicalMemory) / MemoryLayout<UInt>.stride
    let words = PageTable.reserveWords(count)
    defer { PageTable.release(words, count) }
    #expect(words[0].load(ordering: .relaxed) == 0)
    #expect(words[count - 1].load(ordering: .relaxed) == 0)
  }

  @Test("Blocks of numbers are added in one step or one by one, and are released")
  func blocks() {
    for steps in [[70], [3, 3, 70, 71]] {
      let table = PageTable(supply: nil)
      defer { table.deallocate() }
      for step in steps { table.addBlocks(through: step) }
      for place in 0...(steps.last ?? 0) {
        let number = PageNumber(place << PageTable.blockShift) + 5
        #expect(!table.contains(number))
        let address = UnsafeMutableRawPointer(bitPattern: 4096 * (place + 1))
        table.set(number, to: address)
        #expect(table.address(number) == UInt(bitPattern: address))
      }
    }
  }
}
