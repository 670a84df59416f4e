// A read-only view of a file on a failing device. Blocks that cannot be read are recorded and read
// as zeros, which fail every checksum.

internal import TreeRingPlatform

final class ZeroFillingFile: File {
  private static let blockByteCount: UInt64 = 4096
  private let inner: any File
  private let failed = Mutex(RangeSet<UInt64>())

  init(_ inner: any File) { self.inner = inner }

  var path: String { inner.path }

  /// The ranges that could not be read so far, in order; adjoining ranges are merged.
  var unreadable: [Range<UInt64>] { failed.withLock { Array($0.ranges) } }

  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(TreeRingError) -> Int {
    do throws(TreeRingError) {
      return try inner.read(into: buffer, at: offset)
    } catch  where error.code == .io {
      return try readByBlock(into: buffer, at: offset)
    }
  }

  private func readByBlock(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(TreeRingError) -> Int {
    let size = try inner.size()
    let end = min(size, offset + UInt64(buffer.count))
    var at = offset
    while at < end {
      let next = min(end, (at / Self.blockByteCount + 1) * Self.blockByteCount)
      let part = UnsafeMutableRawBufferPointer(
        rebasing: buffer[Int(at - offset)..<Int(next - offset)])
      do throws(TreeRingError) {
        let count = try inner.read(into: part, at: at)
        guard count == part.count else { return Int(at - offset) + count }
      } catch  where error.code == .io {
        part.initializeMemory(as: UInt8.self, repeating: 0)
        let start = at / Self.blockByteCount * Self.blockByteCount
        failed.withLock { $0.insert(contentsOf: start..<(start + Self.blockByteCount)) }
      }
      at = next
    }
    return at > offset ? Int(at - offset) : 0
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(TreeRingError) {
    throw notAllowed
  }
  func sync(_ strength: SyncStrength) throws(TreeRingError) { throw notAllowed }
  func size() throws(TreeRingError) -> UInt64 { try inner.size() }
  func truncate(to size: UInt64) throws(TreeRingError) { throw notAllowed }
  func allocate(_ count: UInt64, at offset: UInt64) throws(TreeRingError) -> Bool {
    throw notAllowed
  }
  func map(at offset: UInt64, count: Int) throws(TreeRingError) -> any FileMapping {
    throw notAllowed
  }
  func close() { inner.close() }

  private var notAllowed: TreeRingError {
    TreeRingError(
      .notAllowed, "\(path) is open for reading what is left of it; it cannot be changed.",
      file: path)
  }
}
