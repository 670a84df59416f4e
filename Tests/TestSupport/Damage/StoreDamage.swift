// Damages the files of a store: selects structures and changes each. The generator decides
// everything, so that a seed reproduces the damage.

internal import TreeRing

/// Files of a store and the damage done to them.
package struct StoreDamage: Sendable {
  /// The files by path in the store's folder.
  package private(set) var files: [String: [UInt8]]
  /// The changes, in words.
  package internal(set) var steps: [String] = []
  /// Whether checksums were repaired afterwards, so that contents may be forged.
  package private(set) var isForged = false
  private var random: SeededGenerator

  package init(_ files: [String: [UInt8]], seed: UInt64) {
    self.files = files
    random = SeededGenerator(seed: seed)
  }

  /// Damages one to three structures, and repairs checksums in half of all cases.
  package mutating func run() {
    for _ in 0..<[1, 1, 1, 1, 2, 3][below(6)] {
      if below(8) == 0 { damageNames() } else { damagePart() }
    }
    guard below(2) == 0 else { return }
    isForged = true
    let depth: ChecksumRepair.Depth = below(3) == 0 ? .checksums : .links
    steps.append("repair \(depth)")
    for name in files.keys.sorted() {
      guard var bytes = files[name] else { continue }
      if name == "pages" {
        ChecksumRepair.repairPages(&bytes)
      } else if name.contains(".lz4") {
        ChecksumRepair.repairSegment(&bytes, depth)
      }
      files[name] = bytes
    }
    // The segment to which the metas refer is one of the last.
    guard var pages = files["pages"] else { return }
    for name in files.keys.filter({ $0.hasSuffix(".lz4") }).sorted() {
      ChecksumRepair.repairPositions(in: &pages, of: files[name] ?? [])
    }
    files["pages"] = pages
  }

  mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

  mutating func some<C: RandomAccessCollection>(_ items: C) -> C.Element?
  where C.Index == Int {
    items.isEmpty ? nil : items[items.startIndex + below(items.count)]
  }

  // MARK: Structures

  private mutating func damagePart() {
    guard let name = some(files.keys.filter { $0 != "LOCK" || files.count == 1 }.sorted()),
      let bytes = files[name]
    else { return }
    let parts = StorePart.parts(of: name, bytes).filter { $0.kind != .emptySlot }
    // Each kind of structure is equally likely, regardless of its count.
    guard let kind = some(Set(parts.map(\.kind)).sorted { $0.rawValue < $1.rawValue }),
      let part = some(parts.filter { $0.kind == kind }), !part.range.isEmpty
    else { return }
    let others = parts.filter { $0.kind == kind && $0 != part }
    switch below(17) {
    case 0, 1: flip(part)
    case 2..<8: setField(part)
    case 8: swap(part, some(others) ?? part)
    case 9: replace(part, by: some(others) ?? part)
    case 10: insert(part, copyOf: some(others) ?? part)
    case 11: remove(part)
    case 12: fill(part, with: "zeros")
    case 13: fill(part, with: "noise")
    case 14: cut(part)
    case 15: extend(name)
    default: nudge(part)
    }
  }

  /// Replaces the files by others, whose contents are forged.
  mutating func replaceFiles(by other: [String: [UInt8]]) {
    files = other
    isForged = true
  }

  private mutating func note(_ text: String, _ part: StorePart) {
    steps.append("\(text) in \(part.kind) of \(part.file) at \(part.range)")
  }

  private mutating func change(_ name: String, _ body: (inout [UInt8]) -> Void) {
    var bytes = files.removeValue(forKey: name) ?? []
    body(&bytes)
    files[name] = bytes
  }

  private mutating func flip(_ part: StorePart) {
    for _ in 0..<1 + below(3) {
      let (place, bit) = (part.range.lowerBound + below(part.range.count), below(8))
      change(part.file) { $0[place] ^= 1 << UInt8(bit) }
      note("bit \(bit) of byte \(place)", part)
    }
  }

  static let extremes: [UInt64] = [
    0, 1, 2, 63, 64, 127, 128, 255, 256, 4095, 4096, 65_535, 65_536, 1 << 20, 1 << 30,
    (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, (1 << 47) - 1, 1 << 47, 1 << 48,
    (1 << 63) - 1, 1 << 63, .max - 1, .max,
  ]

  private mutating func setField(_ part: StorePart) {
    var (place, width) = (part.range.lowerBound, 1)
    if let field = some(part.fields), below(4) > 0 {
      (place, width) = field
    } else {
      width = min([1, 1, 2, 4, 8][below(5)], part.range.count)
      place += below(part.range.count - width + 1)
    }
    let value = Self.extremes[below(Self.extremes.count)]
    change(part.file) { ChecksumRepair.put(value, width, at: place, in: &$0) }
    note("\(width) bytes at \(place) are \(value)", part)
  }

  private mutating func nudge(_ part: StorePart) {
    guard let (place, width) = some(part.fields) else { return flip(part) }
    let step = UInt64(bitPattern: [-8, -2, -1, 1, 2, 8, 24, 64][below(8)])
    change(part.file) {
      let old = ChecksumRepair.number(width, at: place, in: $0)
      ChecksumRepair.put(old &+ step, width, at: place, in: &$0)
    }
    note("\(width) bytes at \(place) change by \(Int64(bitPattern: step))", part)
  }

  private mutating func swap(_ part: StorePart, _ other: StorePart) {
    let count = min(part.range.count, other.range.count)
    let (a, b) = (part.range.lowerBound, other.range.lowerBound)
    change(part.file) { bytes in
      for index in 0..<count { bytes.swapAt(a + index, b + index) }
    }
    note("swapped with that at \(b)", part)
  }

  private mutating func replace(_ part: StorePart, by other: StorePart) {
    let count = min(part.range.count, other.range.count)
    change(part.file) { bytes in
      let copy = Array(bytes[other.range.lowerBound..<other.range.lowerBound + count])
      bytes.replaceSubrange(part.range.lowerBound..<part.range.lowerBound + count, with: copy)
    }
    note("replaced by that at \(other.range)", part)
  }

  private mutating func insert(_ part: StorePart, copyOf other: StorePart) {
    change(part.file) { $0.insert(contentsOf: Array($0[other.range]), at: part.range.lowerBound) }
    note("inserted that at \(other.range)", part)
  }

  private mutating func remove(_ part: StorePart) {
    change(part.file) { $0.removeSubrange(part.range) }
    note("removed", part)
  }

  private mutating func fill(_ part: StorePart, with what: String) {
    let start = part.range.lowerBound + below(part.range.count)
    let end = below(4) == 0 ? files[part.file]?.count ?? start : part.range.upperBound
    var generator = random
    change(part.file) { bytes in
      for index in start..<max(start, end) {
        bytes[index] = what == "zeros" ? 0 : UInt8(truncatingIfNeeded: generator.next())
      }
    }
    random = generator
    note("\(what) in \(start)..<\(end)", part)
  }

  private mutating func cut(_ part: StorePart) {
    let place = [part.range.lowerBound, part.range.upperBound - 1, part.range.upperBound][below(3)]
    let end = below(2) == 0 ? place : part.range.lowerBound + below(part.range.count)
    change(part.file) { $0.removeLast($0.count - end) }
    note("cut at \(end)", part)
  }

  private mutating func extend(_ name: String) {
    let (count, kind) = ([1, 56, 500, 4096, 70_000][below(5)], below(3))
    var generator = random
    change(name) { bytes in
      let start = max(0, bytes.count - count)
      bytes += (0..<count).map { index in
        switch kind {
        case 0: 0
        case 1: UInt8(truncatingIfNeeded: generator.next())
        default: start + index < bytes.count ? bytes[start + index] : 0
        }
      }
    }
    random = generator
    steps.append("\(name) has \(count) bytes more, \(["zeros", "noise", "its last"][kind])")
  }

  // MARK: Names

  private mutating func damageNames() {
    guard let name = some(files.keys.sorted()), let bytes = files[name] else { return }
    let segments = files.keys.filter { $0.hasSuffix(".lz4") }.sorted()
    switch below(6) {
    case 0, 1:
      files[name] = nil
      steps.append("\(name) is removed")
    case 2:
      guard let other = some(segments), let segment = some(segments) else { return }
      (files[other], files[segment]) = (files[segment], files[other])
      steps.append("\(other) and \(segment) are swapped")
    case 3, 4:
      guard let segment = some(segments) else { return }
      let bytes = files[segment]
      let keeps = below(2) == 0
      if !keeps { files[segment] = nil }
      let new = otherName(of: segment)
      files[new] = bytes
      steps.append("\(segment) is \(keeps ? "also " : "")\(new)")
    default:
      let other = ["pages", "LOCK", "SWITCH", "log/x", "log/00000000000000000001.0.lz4.tmp"][
        below(5)]
      files[other] = bytes
      steps.append("\(other) is a copy of \(name)")
    }
  }

  /// Another name for a segment.
  private mutating func otherName(of segment: String) -> String {
    let parts = segment.split(separator: "/").last?.split(separator: ".").map(String.init) ?? []
    guard parts.count >= 2, let first = UInt64(parts[0]), let generation = UInt32(parts[1]) else {
      return segment + ".copy"
    }
    let firsts = [first &+ 1, first &- 1, 0, 1, 1 << 47, .max, 10_000_000_000_000_000_000]
    let generations = [generation &+ 1, generation &- 1, 0, 7, .max]
    let digits = String(below(2) == 0 ? first : firsts[below(firsts.count)])
    let suffix = [".lz4", ".lz4", ".lz4", ".lz4.ignored", ".lz4.tmp"][below(5)]
    return "log/" + String(repeating: "0", count: max(0, 20 - digits.utf8.count)) + digits
      + ".\(generations[below(generations.count)])\(suffix)"
  }
}
