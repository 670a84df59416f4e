// Memory for pages that is taken ahead of need.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing

@Suite("Chunks of memory, taken by many threads") struct ChunkSupplyConcurrencyTests {
  @Test("Every chunk is passed on once and can be written")
  func distinct() {
    let supply = ChunkSupply()
    let taken = Mutex<[UInt]>([])
    onThreads(4) { thread in
      for _ in 0..<20 {
        supply.prepare()
        let chunk = supply.take()
        chunk.storeBytes(of: UInt8(thread), as: UInt8.self)
        let last = ChunkSupply.chunkByteCount - 1
        chunk.storeBytes(of: UInt8(thread), toByteOffset: last, as: UInt8.self)
        taken.withLock { $0.append(UInt(bitPattern: chunk)) }
      }
    }
    let addresses = taken.withLock { $0 }
    #expect(Set(addresses).count == 80)
    #expect(addresses.allSatisfy { $0 % UInt(ChunkSupply.chunkByteCount) == 0 })
    for address in addresses { UnsafeMutableRawPointer(bitPattern: address)?.deallocate() }
  }

  @Test("A prepared chunk counts until it is passed on")
  func byteCount() {
    let supply = ChunkSupply()
    #expect(supply.byteCount == 0)
    supply.prepare()
    #expect(supply.byteCount == ChunkSupply.chunkByteCount)
    supply.take().deallocate()
  }
}
