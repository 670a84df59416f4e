// Copies of pages that are in no cache, as a tree makes them that keeps its earlier versions: a row
// in random order changes another leaf than the row before.

internal import Foundation

extension Clocks {
  /// The number of pages of 4 KiB that one thread copies in a second: each from a random place
  /// among so many bytes, to the next place among as many. The memory has been used before: other
  /// memory the system would have to provide first.
  public static func pageCopiesPerSecond(among byteCount: Int) -> Double {
    let (pageByteCount, copyCount) = (4096, 200_000)
    let pageCount = max(2, byteCount / pageByteCount)
    let (from, to) = (pages(pageCount * pageByteCount), pages(pageCount * pageByteCount))
    defer {
      from.deallocate()
      to.deallocate()
    }
    var random = Random(seed: 1)
    let seconds = threadSeconds {
      for copy in 0..<copyCount {
        let place = Int(random.next() % UInt64(pageCount)) * pageByteCount
        memcpy(to + copy % pageCount * pageByteCount, from + place, pageByteCount)
      }
    }
    return Double(copyCount) / seconds
  }

  /// Memory that has been written to, in huge pages where the system has them.
  private static func pages(_ byteCount: Int) -> UnsafeMutableRawPointer {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 2 << 20)
    #if os(Linux)
      madvise(memory, byteCount, MADV_HUGEPAGE)
    #endif
    memset(memory, 1, byteCount)
    return memory
  }
}
