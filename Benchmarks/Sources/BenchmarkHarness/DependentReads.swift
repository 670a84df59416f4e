// Reads of memory that follow one another: the address of each is known only when the one before
// has ended, as on the way down a tree.

internal import Foundation

extension Clocks {
  /// The processor's nanoseconds of one read of memory that waits for the read before, among cache
  /// lines in random order of so many bytes, in huge pages where the system has them.
  public static func dependentReadNanoseconds(byteCount: Int) -> Double {
    let (lineByteCount, readCount) = (64, 1_000_000)
    let lineCount = max(2, byteCount / lineByteCount)
    let lines = UnsafeMutableRawBufferPointer.allocate(
      byteCount: lineCount * lineByteCount, alignment: 2 << 20)
    defer { lines.deallocate() }
    #if os(Linux)
      madvise(lines.baseAddress, lines.count, MADV_HUGEPAGE)
    #endif
    let words = lines.bindMemory(to: Int.self)
    let stride = lineByteCount / MemoryLayout<Int>.stride
    // Each line begins with the place of the next one: a single cycle by Sattolo's shuffle.
    for line in 0..<lineCount { words[line * stride] = line * stride }
    var random = Random(seed: 1)
    for line in (1..<lineCount).reversed() {
      words.swapAt(line * stride, Int(random.next() % UInt64(line)) * stride)
    }
    var place = 0
    let seconds = threadSeconds {
      for _ in 0..<readCount { place = words[place] }
    }
    // A use of the last place, so that the compiler keeps the loop.
    return place < 0 ? 0 : seconds * 1e9 / Double(readCount)
  }
}
