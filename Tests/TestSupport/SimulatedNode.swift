// One file of the simulated disk: its bytes in the running system, the bytes that are certainly on
// the device, and the writes since.
//
// Written bytes are recorded by block of 4 KiB, with a bit for each written sector of 512 bytes.
// After a crash each sector holds its synced contents, or any contents written since, or the
// beginning of one and the end of another (a torn sector). The size is any of the sizes of the file
// since the sync.

internal import TreeRingLog

/// The rule for the unsynced writes that survive a crash.
struct SurvivalRule {
  /// The probability, in percent, that each write survives, independently.
  var odds: Int
  /// The number of the call after which everything is lost; everything before it survives.
  var through: Int?

  func keeps(_ time: Int, _ random: inout SeededGenerator) -> Bool {
    if let through { return time <= through }
    return Int(random.next() & 0xFF) < odds * 256 / 100
  }
}

struct SimulatedNode {
  static let sectorSize = 512
  static let blockSize = 4096
  private static let sectorsPerBlock = blockSize / sectorSize

  /// The contents of a block at one time since the last sync.
  private struct Version {
    var time: Int
    /// Shorter than a block at the file's end: the rest is zero.
    var bytes: [UInt8]
    /// The sectors written at that time, one bit each.
    var sectors: UInt8
  }

  /// The bytes in the running system.
  private(set) var current: [UInt8] = []
  /// The bytes that are certainly on the device.
  private var synced: [UInt8] = []
  /// The contents of blocks since the last sync, oldest first.
  private var dirty: [Int: [Version]] = [:]
  /// The sizes since the last sync, oldest first.
  private var sizes: [(time: Int, size: Int)] = []
  /// Memory kept equal to `current`.
  var mappings = HeapMappings()

  init() {}

  /// A file found after a crash: all of it is on the device.
  init(found bytes: [UInt8]) {
    current = bytes
    synced = bytes
  }

  // MARK: Changing

  /// Records the present contents of the sectors that hold a range.
  private mutating func remember(_ range: Range<Int>, _ time: Int) {
    guard !range.isEmpty else { return }
    let first = range.lowerBound / Self.sectorSize
    let last = (range.upperBound - 1) / Self.sectorSize
    for block in first / Self.sectorsPerBlock...last / Self.sectorsPerBlock {
      let sector = block * Self.sectorsPerBlock
      var bits: UInt8 = 0
      for bit in max(0, first - sector)...min(Self.sectorsPerBlock - 1, last - sector) {
        bits |= 1 << UInt8(bit)
      }
      let start = min(block * Self.blockSize, current.count)
      let end = min(start + Self.blockSize, current.count)
      dirty[block, default: []].append(
        Version(time: time, bytes: Array(current[start..<end]), sectors: bits))
    }
  }

  /// - Parameter isSeen: whether mappings see the write. Mapped bytes are in the system's memory,
  ///   which a misdirected write of the device does not change.
  mutating func write(
    _ bytes: some Collection<UInt8>, at offset: Int, time: Int, isSeen: Bool = true
  ) {
    guard !bytes.isEmpty else { return }
    let end = offset + bytes.count
    if current.count < end {
      current.appendZeros(end - current.count)
      sizes.append((time, end))
    }
    current.replaceSubrange(offset..<end, with: bytes)
    if isSeen { mappings.update(offset..<end, of: current) }
    remember(offset..<end, time)
  }

  /// Overwrites the part of a range that lies in the file with zeros.
  mutating func clear(_ range: Range<Int>, time: Int) {
    let range = range.clamped(to: 0..<current.count)
    write([UInt8](repeating: 0, count: range.count), at: range.lowerBound, time: time)
  }

  mutating func resize(to size: Int, time: Int) {
    let old = current.count
    if size < old {
      current.removeLast(old - size)
      mappings.zero(from: old, to: size)
    } else {
      current.appendZeros(size - old)
    }
    sizes.append((time, size))
    // New room beyond the largest synced size reads as zero, however much of it survives.
    if size < old || old < synced.count { remember(min(size, old)..<max(size, old), time) }
  }

  /// Performs a write that the device acknowledges at another sector-aligned offset of the file, in
  /// whole sectors. If there is no other offset, nothing happens.
  mutating func misdirect(
    _ bytes: [UInt8], at offset: Int, time: Int, _ random: inout SeededGenerator
  ) {
    let start = offset / Self.sectorSize * Self.sectorSize
    let places = current.count / Self.sectorSize
    guard places > 0 else { return }
    var place = Int.random(in: 0..<places, using: &random) * Self.sectorSize
    if place == start { place = (place + Self.sectorSize) % (places * Self.sectorSize) }
    guard place != start else { return }
    var sectors =
      offset > start ? Array(current[min(start, current.count)..<min(offset, current.count)]) : []
    sectors += repeatElement(0, count: offset - start - sectors.count)
    sectors += bytes
    let room = current.count - place
    write(sectors[..<min(sectors.count, room)], at: place, time: time, isSeen: false)
    show(bytes, at: offset)
  }

  /// Makes written bytes visible in mappings, although the device does not have them there.
  mutating func show(_ bytes: [UInt8], at offset: Int) {
    var seen = current
    let end = offset + bytes.count
    if seen.count < end { seen.appendZeros(end - seen.count) }
    seen.replaceSubrange(offset..<end, with: bytes)
    mappings.update(offset..<end, of: seen)
  }

  /// Drops the clean pages: the next read takes them from the device. Dirty pages stay in memory.
  mutating func dropCache() {
    current = written
    mappings.update(0..<current.count, of: current)
  }

  /// Changes bytes spontaneously, on the device and in memory.
  mutating func damage(_ offset: Int, _ change: (UInt8) -> UInt8) {
    guard offset < current.count else { return }
    current[offset] = change(current[offset])
    if offset < synced.count { synced[offset] = current[offset] }
    mappings.update(offset..<offset + 1, of: current)
  }

  /// Drops the mappings of a process that has ended.
  mutating func dropMappings() { mappings = HeapMappings() }

  // MARK: Syncing

  /// Writes the dirty pages to the device. Pages that a failed sync left clean are not dirty. Only
  /// a `whole` sync makes a shorter length durable: after a weaker one the old length remains
  /// possible.
  mutating func sync(_ strength: SyncStrength) {
    let old = synced
    let time = sizes.last?.time ?? 0
    synced = written
    forget()
    guard strength != .whole, old.count > synced.count else { return }
    sizes = [(time, synced.count)]
    synced += old[synced.count...]
  }

  /// The certain bytes of the device, overlaid with the dirty ones.
  private var written: [UInt8] {
    var bytes = synced
    if bytes.count > current.count { bytes.removeLast(bytes.count - current.count) }
    bytes.appendZeros(current.count - bytes.count)
    for block in dirty.keys {
      let start = block * Self.blockSize
      let end = min(start + Self.blockSize, current.count)
      if start < end { bytes.replaceSubrange(start..<end, with: current[start..<end]) }
    }
    return bytes
  }

  /// Simulates a failed sync: the pages count as clean, and the device's bytes are unknown.
  mutating func loseSync(_ random: inout SeededGenerator) {
    synced = survivor(SurvivalRule(odds: 50), &random)
    forget()
  }

  private mutating func forget() {
    dirty.removeAll(keepingCapacity: true)
    sizes.removeAll(keepingCapacity: true)
  }

  // MARK: After a crash

  /// The bytes after a crash.
  func survivor(_ keeping: SurvivalRule, _ random: inout SeededGenerator) -> [UInt8] {
    if dirty.isEmpty, sizes.isEmpty { return synced }
    var size = synced.count
    for candidate in sizes where keeping.keeps(candidate.time, &random) { size = candidate.size }
    var bytes = synced
    if bytes.count < size { bytes.appendZeros(size - bytes.count) }
    for (block, versions) in dirty.sorted(by: { $0.key < $1.key }) {
      for bit in 0..<Self.sectorsPerBlock {
        let start = block * Self.blockSize + bit * Self.sectorSize
        guard start < bytes.count else { break }
        let mask: UInt8 = 1 << UInt8(bit)
        let kept =
          keeping.through == nil
          ? versions.filter { $0.sectors & mask != 0 }.randomElement(using: &random)
          : versions.last { $0.sectors & mask != 0 && keeping.keeps($0.time, &random) }
        guard let kept, keeping.through != nil || keeping.keeps(kept.time, &random) else {
          continue
        }
        Self.place(kept.bytes, bit, into: &bytes, at: start, &random)
      }
    }
    if size < bytes.count { bytes.removeLast(bytes.count - size) }
    return bytes
  }

  /// Writes one sector of a block to its offset, sometimes torn.
  private static func place(
    _ block: [UInt8], _ sector: Int, into bytes: inout [UInt8], at start: Int,
    _ random: inout SeededGenerator
  ) {
    let from = sector * sectorSize
    var range = 0..<min(sectorSize, bytes.count - start)
    let draw = random.next()
    if draw & 3 == 0 {
      let torn = min(Int((draw >> 8) & 0x1FF), range.upperBound)
      range = draw & 0x10 == 0 ? 0..<torn : torn..<range.upperBound
    }
    for index in range {
      bytes[start + index] = from + index < block.count ? block[from + index] : 0
    }
  }
}

extension [UInt8] {
  /// Fast also in unoptimised code.
  fileprivate mutating func appendZeros(_ count: Int) {
    guard count > 0 else { return }
    append(
      contentsOf: [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
        UnsafeMutableRawBufferPointer(buffer).initializeMemory(as: UInt8.self, repeating: 0)
        used = count
      })
  }
}
